"""Paper 002: release of features by distance-based selection. Of its text only the appendix is at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.page.items import MEASURED, Item, Paper, count, grid, read, spread_of, verdict
from papers.page.statements import STATEMENTS
from papers.private_fisher.figures import EPSILONS, FIXED_EPSILON, FIXED_KEPT, KEPT, LARGE, sparse_means

__all__ = ["paper"]

FILE, WIDTH = "features_figures.json", "models_dpsgd_width.json"
COMMAND = "TACIT_DATA=folder python -m papers.private_fisher.figures"
PAGE = "[the paper's experiments, run again](features_figures.md)"
NAMES = {"cifar10": "CIFAR-10", "mnist": "MNIST"}
ARMS = {"published": "as printed", "rows": "private rows", "totals": "private totals"}
SCORES = ("distance", "t")
NARROW, WIDER, DEEPER = "26k", "52k, wider", "54k, deeper"
GAP = 0.2  # A.7: at tiny epsilon distance errs less than t by more than this

Found = Mapping[tuple[str, float | None, float], Mapping[str, Any]]


def paper() -> Paper:
    """Return the paper with what was measured."""
    return Paper(
        short="Feature release",
        title="Appendix of a paper on differentially private feature release by distance-based feature selection",
        about="Figures of the main text, if there are any, are not at hand. Algorithm 1 is not private as printed; "
        "the arms marked private are, end to end.",
        items=(figure_1(), figure_2(), *curves("cifar10", "3"), *curves("mnist", "4")),
        statements=STATEMENTS["Feature release"],
    )


def figure_1() -> Item:
    """DP-SGD on MNIST with 26k and 52k parameters."""
    document = read(WIDTH)
    settings = document["settings"]
    found: Found = {(row["shape"], row["epsilon"], row["rate"]): row for row in document["rows"]}
    at = sorted({key[1:] for key in found}, key=lambda pair: (pair[0] or np.inf, pair[1]))
    less = {
        shape: [found[shape, *one]["accuracy"] - found[NARROW, *one]["accuracy"] for one in at]
        for shape in (WIDER, DEEPER)
    }
    below = {shape: [value < 0 for (e, _), value in zip(at, less[shape], strict=True) if e] for shape in less}
    rows = [
        (
            f"{e:g}" if e else "none",
            f"{rate:g}",
            *(_percent(document, shape, e, rate) for shape in (NARROW, WIDER, DEEPER)),
            *(f"{100 * less[shape][place]:+.1f}" for shape in less),
        )
        for place, (e, rate) in enumerate(at)
    ]
    head = ("epsilon", "rate", f"{NARROW} parameters", WIDER, DEEPER, "wider less 26k", "deeper less 26k")
    return Item(
        name="Figure 1",
        shows="A CNN of 52k parameters does worse than one of 26k under DP-SGD on MNIST.",
        status=MEASURED,
        seen=verdict(below[WIDER]),
        body=(
            "Printed: 5% lower; neither epsilon nor settings are given.",
            "",
            *grid(head, rows),
            "",
            f"Test accuracy in percent, {settings['rows']:,} images, delta {settings['delta']:g}, "
            f"{settings['neighbors']}. With privacy the wider network is below 26k at {sum(below[WIDER])} of "
            f"{len(below[WIDER])} settings, the deeper at {sum(below[DEEPER])}. Each at its own best rate, wider less "
            f"26k is {_best_less(found, WIDER)}, and deeper less 26k is {_best_less(found, DEEPER)}.",
        ),
        seeds=count(row["seeds"] for row in document["rows"]),
        cost="GPU seconds: not known, since many points ran at once and each was timed alone.",
        commands=("python papers/private_fisher/dpsgd_width.py --mnist FILE --device cuda",),
        files=(WIDTH, "models_dpsgd_width.svg"),
        discussed="[wider and deeper networks](models_protect.md#wider-and-deeper-networks)",
    )


def _percent(document: Mapping[str, Any], *at: str | float | None) -> str:
    """Return the accuracy over the seeds."""
    points = document["points"]
    return spread_of([100 * one["accuracy"] for one in points if (one["shape"], one["epsilon"], one["rate"]) == at])


def _best_less(found: Found, shape: str) -> str:
    """Return the difference to 26k at the best rate of each, for every epsilon."""
    words = []
    for epsilon in sorted({e for _, e, _ in found if e}):
        best = [
            max(row["accuracy"] for (one, e, _), row in found.items() if (one, e) == (name, epsilon))
            for name in (shape, NARROW)
        ]
        words.append(f"{100 * (best[0] - best[1]):+.1f} at epsilon {epsilon:g}")
    return ", ".join(words)


def figure_2() -> Item:
    """Means of the toy experiment."""
    means = sparse_means()
    nonzero = int(np.count_nonzero(means))
    return Item(
        name="Figure 2",
        shows="Distances of the class means of the toy set: most are zero.",
        status=MEASURED,
        seen=verdict([2 * nonzero < len(means)]),
        body=(
            f"No values are printed. {nonzero} of {len(means):,} means differ from 0 by construction, the largest by "
            f"{np.abs(means).max():.2f}; the set's size and law are not in the text and are those of Fan and Fan "
            "(2008).",
        ),
        seeds="one draw of the means",
        commands=(COMMAND,),
        files=("features_figures_means.svg",),
        discussed=PAGE,
    )


def curves(data: str, figure: str) -> tuple[Item, Item]:
    """Error against features kept, and against epsilon."""
    return _curve(
        data,
        f"Figure {figure}(a)",
        f"Test error of Fisher's classifier on {NAMES[data]} as features are added, epsilon {FIXED_EPSILON:g}.",
        grid_of(data, "features kept", [(f"{m}", m, FIXED_EPSILON) for m in KEPT]),
        *_lower(data),
    ), _curve(
        data,
        f"Figure {figure}(b)",
        f"Test error of Fisher's classifier on {NAMES[data]} against epsilon, {FIXED_KEPT} features.",
        grid_of(data, "epsilon", [(f"{e:g}", FIXED_KEPT, e) for e in EPSILONS]),
        *(_apart(data) if data == "cifar10" else _susceptible(data)),
    )


def _curve(data: str, name: str, shows: str, table: Sequence[str], words: str, held: Sequence[bool]) -> Item:
    return Item(
        name=name,
        shows=shows,
        status=MEASURED,
        seen=verdict(held),
        body=(*table, "", words),
        seeds=str(read(FILE)["seeds"]),
        commands=(f"{COMMAND} --only {data}",),
        files=(FILE, "features_figures.svg"),
        discussed=PAGE,
    )


def _lower(data: str) -> tuple[str, list[bool]]:
    gaps = [_gap(data, m, FIXED_EPSILON) for m in KEPT]
    held = [gap > 0 for gap in gaps]
    words = (
        "The paper: the curve of distance is lower and smoother. With the algorithm as printed it is lower at "
        f"{sum(held)} of {len(KEPT)} numbers of features, by at most {max(gaps):.3f}; the curve of t is lower "
        f"elsewhere, by at most {-min(gaps):.3f}. Smoothness is not evaluated."
    )
    return words, held


def _apart(data: str) -> tuple[str, list[bool]]:
    gaps = {e: _gap(data, FIXED_KEPT, e) for e in EPSILONS}
    tiny = [gap for e, gap in gaps.items() if e <= 1]
    words = (
        f"The paper: at tiny epsilon distance errs less than t by more than {GAP}. As printed, t less distance is "
        f"between {min(tiny):+.3f} and {max(tiny):+.3f} for epsilon up to 1, and at most {max(gaps.values()):+.3f} "
        "anywhere."
    )
    return words, [max(tiny) > GAP]


def _susceptible(data: str) -> tuple[str, list[bool]]:
    small, large = 10.0, max(LARGE)
    at = {score: [_mean(data, "published", score, FIXED_KEPT, e) for e in (small, large)] for score in SCORES}
    words = (
        f"The paper: t is susceptible to noise, even epsilon {small:g} raises its error. Ours: {at['t'][0]:.3f} by t "
        f"and {at['distance'][0]:.3f} by distance at epsilon {small:g}; {at['t'][1]:.3f} and {at['distance'][1]:.3f} "
        f"at {large:,.0f}."
    )
    return words, [at["t"][0] > at["t"][1]]


def grid_of(data: str, along: str, columns: Sequence[tuple[str, int, float]]) -> list[str]:
    """Return the errors of all arms: a line an arm and score."""
    rows = [
        (f"{words}, {score}", *(spread_of(_values(data, arm, score, m, e), digits=3) for _, m, e in columns))
        for arm, words in ARMS.items()
        for score in SCORES
    ]
    return grid((f"{along}:", *(name for name, _, _ in columns)), rows)


def _values(data: str, arm: str, score: str, kept: int, epsilon: float) -> list[float]:
    return list(read(FILE)["points"][f"{data}|{arm}|{score}|{kept}|{epsilon:g}"]["clean"])


def _mean(data: str, arm: str, score: str, kept: int, epsilon: float) -> float:
    return float(np.mean(_values(data, arm, score, kept, epsilon)))


def _gap(data: str, kept: int, epsilon: float) -> float:
    """Return how much less the choice by distance errs than that by t, with the algorithm as printed."""
    return _mean(data, "published", "t", kept, epsilon) - _mean(data, "published", "distance", kept, epsilon)
