"""Tables 1 to 5 and 8 to 11: CIFAR, from the points of benchmarks/results/labels_images.json."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from papers.page.items import MEASURED, MISSING, PART, Item, count, grid, read, spread, spread_of, verdict
from papers.page.retraining_printed import IMAGES, LP_2ST, Printed

__all__ = ["COMMAND", "FILE", "NAMES", "collect", "command", "image_items", "make_item", "way_of"]

FILE = "labels_images.json"
TRIED = "labels_images_tried.json"
COMMAND = "python -m papers.label_retraining.images --data DIR --out DIR --set {set} --tables {number}"
NAMES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "ag_news": "AG News"}
COLUMNS = {
    "baseline": "baseline",
    "full": "full retraining",
    "consensus": "consensus",
    "confidence": "confidence",
    "predicted": "predicted labels right",
    "given": "given labels right",
    "consensus_right": "right where they agree",
    "consensus_rows": "rows where they agree",
}
PROTOCOLS = {
    "published": "as published",
    "flat": "as published, prior flattened",
    "no_validation": "no clean label looked at",
    "one_stage": "one stage of randomized response",
    "forward_first": "first stage corrected",
    "human": "as published",
    "minilm": "MiniLM and a linear model",
    "tfidf": "TF-IDF and a linear model",
}
SHOWS = {
    "1": "Test accuracy on CIFAR-10 from labels randomized in two stages, and after retraining. ResNet-18.",
    "2": "Test accuracy on CIFAR-100 from labels randomized in two stages, and after retraining. ResNet-18.",
    "3": "How many given and predicted labels of the training rows are correct, on all rows and where the two agree.",
    "4": "Table 2 with ResNet-34, which overfits more.",
    "5": "Forward correction before retraining. ResNet-34 on CIFAR-100.",
    "8": "Retraining on the half of the rows predicted with most confidence, CIFAR-10.",
    "9": "Retraining on the half of the rows predicted with most confidence, CIFAR-100.",
    "10": "Table 4 without a validation set: trained for a fixed time.",
    "11": "Labels with people's mistakes, no privacy: CIFAR-100N. ResNet-18.",
}
NOTE = (
    "As published: training ends where 5,000 clean validation labels, not covered by the guarantee, are predicted "
    "best. No clean label looked at: training ends after a fixed number of images. In both, the prior of the second "
    "stage is the first stage's estimate of true labels, by the inverse of the transition matrix: no temperature is "
    "tuned. Prior flattened: its square root, scaled."
)
ASIDE = "Other lengths and rates of training were tried. The rows of the table were chosen among them by test accuracy."
SEEN = {"cifar10": 21_000 * 32, "cifar100": 28_000 * 32}  # images in one training of the paper, Appendix G
RATES = {"cifar10": 0.1, "cifar100": 0.005, "11": 0.01}  # by set, and of Table 11
EPOCH = 45_000  # images that are trained on
WITHOUT_END = 100 * EPOCH  # seen in a training of Table 10, Appendix I

Runs = Mapping[float, Sequence[Mapping[str, Any]]]
"""The points of one protocol by epsilon, one for each seed."""
Way = tuple[int, int, float]
"""Images seen in a training, images in a batch, largest rate."""


def image_items() -> Iterator[Item]:
    """Yield the tables in the order of the paper."""
    for number, shows in SHOWS.items():
        tables = [(table, _runs_of(table)) for table in IMAGES if table.number == number]
        item = make_item(
            tables,
            shows=shows,
            note=" ".join((NOTE, *_shorter(tables))) if number == "1" else " ".join(_shorter(tables)),
            device="GPU",
            commands=[command for table, runs in tables for command in _commands(table, runs)],
            file=FILE,
        )
        item = _with_tried(item, tables[0][0]) if number in ("1", "2") else item
        yield _cut_short(item, tables[0][1]) if number == "10" else item


def _cut_short(item: Item, runs: Mapping[str, Runs]) -> Item:
    """Return Table 10 as measured in part where trainings end before they can overfit as the paper's do."""
    most = max((p["settings"]["images"] for one in runs.values() for points in one.values() for p in points), default=0)
    if item.status != MEASURED or most >= WITHOUT_END:
        return item
    because = (
        f"a training of ours lasts {most / EPOCH:.0f} epochs and the paper's {WITHOUT_END / EPOCH:.0f}, whose "
        "overfitting is what the table is about: ours overfit less."
    )
    return replace(item, status=PART, because=because)


def _with_tried(item: Item, table: Printed) -> Item:
    """Return the item with what other lengths and rates of training gave, where any was tried."""
    start = f"{table.set}|resnet{table.depth}|{table.protocols[0]}|"
    found: dict[tuple[float, int, int, float], list[Mapping[str, Any]]] = {}
    for key, point in read(TRIED).get("points", {}).items():
        if key.startswith(start):
            epsilon, _, images, batch, rate = key.removeprefix(start).split("|")
            found.setdefault((float(epsilon), int(images), int(batch), float(rate)), []).append(point)
    if not found:
        return item
    rows = [
        [f"{epsilon:g}", f"{images:,}", str(batch), f"{rate:g}", *(_mean(points, column) for column in table.columns),
         str(len(points))]
        for (epsilon, images, batch, rate), points in sorted(found.items())
    ]  # fmt: skip
    head = ("epsilon", "images", "batch", "rate", *(COLUMNS[column] for column in table.columns), "seeds")
    return replace(
        item,
        body=(*item.body, "", ASIDE, "", *grid(head, rows)),
        files=(*item.files, TRIED),
    )


def _mean(points: Sequence[Mapping[str, Any]], column: str) -> str:
    return spread_of([100 * point[column] for point in points if column in point])


def _shorter(tables: Sequence[tuple[Printed, Mapping[str, Runs]]]) -> Iterator[str]:
    """Yield how long our networks are trained, by protocol where that differs, and how long the paper's are."""
    for table, runs in tables:
        found: dict[str, list[str]] = {}
        for protocol, one in runs.items():
            ways = _ways(one)
            shown = [
                f"{images:,} images in batches of {batch} at rate {rate:g}{_at(epsilons, ways)}"
                for (images, batch, rate), epsilons in ways.items()
            ]
            found.setdefault(", ".join(shown), []).append(PROTOCOLS[protocol])
        if found:
            alike = len(found) == 1
            ours = "; ".join(seen if alike else f"{seen} ({', '.join(names)})" for seen, names in found.items())
            images = WITHOUT_END if table.number == "10" else SEEN[table.set]
            rate = RATES.get(table.number, RATES[table.set])
            yield f"A training on {NAMES[table.set]} sees {ours}; the paper's {images:,} in batches of 32 at {rate:g}."


def _commands(table: Printed, runs: Mapping[str, Runs]) -> list[str]:
    """Return what ran the points beside a table; the plain command where there are none."""
    own, found = COMMAND.format(set=table.set, number=table.number), list[str]()
    for name, one in runs.items():
        protocol = "" if name == table.protocols[0] else f" --protocol {name}"
        ways = _ways(one)
        for how, epsilons in ways.items():
            chosen = f" --epsilons {','.join(f'{epsilon:g}' for epsilon in epsilons)}" if len(ways) > 1 else ""
            found.append(command(own + protocol + chosen, how))
    return found or [own]


def _ways(runs: Runs) -> dict[Way, list[float]]:
    """Return the ways in which a protocol's networks are trained, each with its epsilons."""
    found: dict[Way, list[float]] = {}
    for epsilon, points in runs.items():
        for how in dict.fromkeys(map(way_of, points)):
            found.setdefault(how, []).append(epsilon)
    return found


def _at(epsilons: Sequence[float], ways: Mapping[Way, Sequence[float]]) -> str:
    return f" at epsilon {' and '.join(f'{epsilon:g}' for epsilon in epsilons)}" if len(ways) > 1 else ""


def way_of(point: Mapping[str, Any]) -> Way:
    """Return how a point's networks are trained."""
    settings = point["settings"]
    return settings["images"], settings["batch"], settings["rate"]


def command(start: str, how: Way) -> str:
    """Return a command with the settings of a training."""
    images, batch, rate = how
    return f"{start} --images {images} --batch {batch} --rate {rate:g}"


def make_item(
    tables: Sequence[tuple[Printed, Mapping[str, Runs]]],
    *,
    shows: str,
    note: str,
    device: str,
    commands: Sequence[str],
    file: str,
) -> Item:
    """Return a table of the paper, whose halves may be printed apart, with our points."""
    body: list[str] = []
    for table, runs in tables:
        body += [f"{NAMES[table.set]}:", ""] if len(tables) > 1 else []
        body += [*ladder(table, runs), ""]
        body += [*said, ""] if (said := claims(table, runs)) else []
    every = [points for _, runs in tables for one in runs.values() for points in one.values()]
    seconds = math.fsum(point["seconds"] for points in every for point in points)
    gaps = [gap for table, runs in tables for gap in missing_from(table, runs)]
    needs = ": it needs a GPU." if device == "GPU" else "."
    how_many = sum(map(len, every))
    return Item(
        name=f"Table {tables[0][0].number}",
        shows=shows,
        status=MEASURED if not gaps else PART if every else MISSING,
        seen=verdict(held for table, runs in tables for held in holds(table, runs)),
        because=f"there is no run of {' and '.join(gaps)}{needs}" if gaps else "",
        body=(*body, note) if note else tuple(body[:-1]),
        seeds=count(len(points) for points in every),
        cost=f"{device} seconds: {seconds:.0f} for {how_many} point{'s' * (how_many > 1)}." if every else "",
        commands=tuple(commands),
        files=(file,) if every else (),
        discussed="[how accurate models are](labels_accuracy.md)" if every else "",
    )


def _runs_of(table: Printed) -> dict[str, Runs]:
    """Return the points that belong beside a table, by protocol and epsilon, seeds in order."""
    start = f"{table.set}|resnet{table.depth}|"
    points = read(FILE).get("points", {})
    return collect({key.removeprefix(start): points[key] for key in points if key.startswith(start)}, table)


def collect(points: Mapping[str, Mapping[str, Any]], table: Printed) -> dict[str, Runs]:
    """Return points named protocol|epsilon|seed by protocol and epsilon, where they belong beside the table."""
    found: dict[str, dict[float, list[Mapping[str, Any]]]] = {name: {} for name in table.protocols}
    for key in sorted(points):
        protocol, epsilon, _ = key.split("|")
        if protocol in found and float(epsilon) in table.rows:
            found[protocol].setdefault(float(epsilon), []).append(points[key])
    return {name: one for name, one in found.items() if one}


def missing_from(table: Printed, runs: Mapping[str, Runs]) -> list[str]:
    """Return what has no point by the paper's own protocol; nothing where all is there."""
    own = runs.get(table.protocols[0], {})
    missing = [
        epsilon
        for epsilon in table.rows
        if not all(any(column in point for point in own.get(epsilon, ())) for column in table.columns)
    ]
    if not missing:
        return []
    at = "" if math.inf in missing else " at epsilon " + ", ".join(f"{epsilon:g}" for epsilon in missing)
    network = f"ResNet-{table.depth} on " if table.depth else ""
    name = "CIFAR-100N" if "human" in table.protocols else NAMES[table.set]
    how = " as published" if runs else ""
    return [f"{network}{name}{how}{at}"]


def ladder(table: Printed, runs: Mapping[str, Runs]) -> list[str]:
    """Return the table as printed, with our lines under each printed one."""
    rows = []
    for epsilon, printed in table.rows.items():
        at = "none" if math.isinf(epsilon) else f"{epsilon:g}"
        shown = [spread(mean, deviation, digits=0 if deviation is None else 2) for mean, deviation in printed]
        rows.append([at, "**published**", *shown, "3"])
        if table.number in ("1", "2"):
            stronger = f"{LP_2ST[table.set][epsilon]:.2f}"
            rows.append([at, "published, LP-2ST of Ghazi et al. (2021)", stronger, *[""] * len(shown)])
        for protocol, one in runs.items():
            if points := one.get(epsilon, ()):
                cells = [_ours(points, column, value) for column, value in zip(table.columns, printed, strict=True)]
                rows.append([at, f"ours, {PROTOCOLS[protocol]}", *cells, str(len(points))])
    return grid(("epsilon", "", *(COLUMNS[column] for column in table.columns), "seeds"), rows)


def _ours(points: Sequence[Mapping[str, Any]], column: str, printed: tuple[float, float | None]) -> str:
    text = _mean(points, column)
    values = [100 * point[column] for point in points if column in point]
    compared = column in ("baseline", "full", "consensus", "confidence")
    return f"**{text}**" if values and compared and float(np.mean(values)) >= printed[0] else text


def claims(table: Printed, runs: Mapping[str, Runs]) -> list[str]:
    """Return what the paper says of the table, and at how many epsilons it is seen in ours."""
    lines = []
    for pair in _pairs(table):
        seen = {protocol: _held(one, pair) for protocol, one in runs.items()}
        shares = [f"{PROTOCOLS[name]}, {sum(held)} of {len(held)}" for name, held in seen.items() if held]
        if shares:
            lines.append(f"- {COLUMNS[pair[0]]} above {COLUMNS[pair[1]]}: {'; '.join(shares)}.")
    return ["The paper's statements, and at how many epsilons our results show them:", "", *lines] if lines else []


def holds(table: Printed, runs: Mapping[str, Runs]) -> list[bool]:
    """Return for each protocol and epsilon whether ours shows what the paper says of the table."""
    return [held for one in runs.values() for pair in _pairs(table) for held in _held(one, pair)]


def _pairs(table: Printed) -> tuple[tuple[str, str], ...]:
    """Return the columns of which the paper says that the first is above the second."""
    if table.columns[0] == "predicted":
        return (("consensus_right", "predicted"), ("consensus_right", "given"))
    if "confidence" in table.columns:
        return (("consensus", "confidence"),)
    return (("consensus", "full"), ("full", "baseline"))


def _held(runs: Runs, pair: tuple[str, str]) -> list[bool]:
    """Return for each epsilon whether the mean of the first column is above that of the second."""
    found = [[[point[column] for point in points if column in point] for column in pair] for points in runs.values()]
    return [float(np.mean(above)) > float(np.mean(below)) for above, below in found if above and below]
