"""The experiments of the feature-release paper, run again: error against features and against epsilon, 20 seeds.

Arms: the printed algorithm, and the private form as rows with randomized labels and as class totals; features chosen by
distance, by t-statistic, or all; each at the same epsilon and delta. Noise is on the training rows. The error on clean
test rows is the headline; that on noised test rows stands beside it where rows are released. The paper's figures have
no numbers in its text, so they can only be compared with its words.

    TACIT_DATA=folder python -m papers.private_fisher.figures    # all points, 20 seeds; resumes
    python -m papers.private_fisher.figures --quick              # a few points, to try the code
    python -m papers.private_fisher.figures --table              # writes the page's tables, draws the figures

The independence rule reads of noised rows only their class counts, sums and squares. Under Gaussian noise their law
given the clean rows is known (:class:`Moments`), and so is that of the scores of noised test rows: they are drawn
in place of the rows, which is exact for the printed algorithm's noise and, at thousands of grid steps, for the private
form's to any digit shown. Selection, class sizes, labels and totals are drawn by the library. Nothing here leaves.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import describe_machine
from papers.private_fisher.scores import by_distance, by_t_statistic
from tacit import data as sets
from tacit.features.learners.fisher import FisherClassifier
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.budget import BudgetSplit, split_budget
from tacit.features.mechanisms.moments import ClassMoments
from tacit.features.mechanisms.noisy_rows import NoisyRows
from tacit.features.mechanisms.noisy_totals import NoisyTotals
from tacit.features.mechanisms.scores import SCORES as PRIVATE_SCORES
from tacit.features.mechanisms.selection import NoisyClassRows, PrivateSelection
from tacit.privacy.files import write_atomically
from tacit.privacy.noise import randomize_codes, response_matrix

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"
PAGE = Path(__file__).parents[2] / "docs" / "features_figures.md"
MARKS = "<!-- tables: written by the script -->\n", "<!-- end of tables -->\n"
DELTA = 1e-5
SEEDS = 20
SAVE_EVERY = 20.0  # seconds
KEPT = (5, 10, 25, 50, 100, 150)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 10.0)
LARGE = (30.0, 100.0, 1000.0)  # of the printed algorithm alone: where its noise is small, whatever its units were
FIXED_KEPT, FIXED_EPSILON = 25, 6.0
SCORES = {"distance": by_distance, "t": by_t_statistic}

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """Training and test rows in a public box, and what does not depend on the noise, computed once.

    ``train`` and ``snapped`` have a line a feature: a few features of all rows are then read in one piece.
    """

    train: Matrix
    codes: Codes
    test: Matrix
    truth: Codes
    box: FeatureRanges
    snapped: Matrix
    clean: Moments
    moments: ClassMoments
    scores: dict[str, Matrix]
    norms: dict[tuple[str, int], float]

    @classmethod
    def of(cls, train: Matrix, codes: Codes, test: Matrix, truth: Codes, *, box: FeatureRanges) -> Case:
        """Return the case of these rows."""
        steps = box.snap(train)
        moments = ClassMoments.of(steps, codes, classes=int(codes.max()) + 1)
        scores = {name: score(train, codes) for name, score in SCORES.items()}
        return cls(
            train=np.ascontiguousarray(train.T),
            codes=codes,
            test=test,
            truth=truth,
            box=box,
            snapped=np.ascontiguousarray(box.values(steps).T),
            clean=Moments.of(train.T, codes, classes=len(moments.counts)),
            moments=moments,
            scores=scores,
            norms={},
        )

    @property
    def classes(self) -> int:
        """Return how many classes there are."""
        return len(self.moments.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a figure; ``kept`` is 0 where all features are."""

    data: str
    arm: str
    score: str
    kept: int
    epsilon: float

    @property
    def name(self) -> str:
        """Return what the point is known by in the results."""
        return f"{self.data}|{self.arm}|{self.score}|{self.kept}|{self.epsilon:g}"


def sparse_means(features: int = 1000) -> Matrix:
    """Fan and Fan's: 0 with chance 0.98, else double exponential of density e^(-2|x|); one draw for all seeds."""
    rng = np.random.default_rng(2008)
    return np.where(rng.random(features) < 0.02, rng.laplace(scale=0.5, size=features), 0.0)


@lru_cache(maxsize=1)
def synthetic(seed: int, rows: int = 5000) -> Case:
    """Two Gaussian classes of unit variance in 1,000 dimensions, one at the sparse means and one at 0."""
    rng, means = np.random.default_rng(seed), sparse_means()

    def draw(count: int) -> tuple[Matrix, Codes]:
        codes = rng.integers(0, 2, count)
        return rng.normal(size=(count, len(means))) + np.outer(codes, means), codes

    return Case.of(*draw(rows), *draw(10_000), box=FeatureRanges(lower=(-4.0,) * len(means), upper=(4.0,) * len(means)))


@lru_cache(maxsize=1)
def images(name: str) -> Case:
    """All images, averaged over 2 x 2 (MNIST) or 4 x 4 (CIFAR-10) pixels: simple features in [0, 1]."""
    rows = []
    for train in (True, False):
        found = getattr(sets, name)(train=train)
        side = found.images.shape[1]
        block = 2 if side == 28 else 4
        blocks = found.images.reshape(len(found), side // block, block, side // block, block, -1)
        rows += [blocks.mean(axis=(2, 4)).reshape(len(found), -1) / 255.0, found.labels]
    features = rows[0].shape[1]
    return Case.of(*rows, box=FeatureRanges(lower=(0.0,) * features, upper=(1.0,) * features))


def case_of(data: str, seed: int) -> Case:
    """Return the rows: fresh ones for each seed of the synthetic set; of images, a seed is one of the noise alone."""
    return synthetic(seed) if data == "synthetic" else images(data)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Class counts and sums of rows, and their squares within classes."""

    counts: Matrix
    sums: Matrix
    within: Matrix

    @classmethod
    def of(cls, rows: Matrix, codes: Codes, *, classes: int) -> Moments:
        """Return those of clean rows, which have a line a feature."""
        member = np.zeros((len(codes), classes))
        member[np.arange(len(codes)), codes] = 1.0
        counts, sums = member.sum(axis=0), (rows @ member).T
        within = np.einsum("ij,ij->i", rows, rows) - (sums**2 / counts[:, None]).sum(axis=0)
        return cls(counts=counts, sums=sums, within=np.maximum(within, 0.0))

    def take(self, places: NDArray[np.intp]) -> Moments:
        """Return those of some features."""
        return Moments(counts=self.counts, sums=self.sums[:, places], within=self.within[places])

    def with_noise(self, noise: float, *, rng: np.random.Generator) -> Moments:
        """Draw those of the rows under Gaussian noise, without drawing the noise.

        Sums move by N(0, n_k s^2). Of the residuals e of the noise, g = e.u along the clean residuals' direction u is
        N(0, s^2), and the rest is s^2 chi^2 with one degree of freedom less; all are independent. So the squares
        within classes are W + 2 sqrt(W) g + g^2 + rest.
        """
        p, residuals = len(self.within), self.counts.sum() - len(self.counts)
        sums = self.sums + noise * np.sqrt(self.counts)[:, None] * rng.normal(size=self.sums.shape)
        along = noise * rng.normal(size=p)
        rest = noise**2 * rng.chisquare(residuals - 1, size=p)
        within = self.within + 2 * np.sqrt(self.within) * along + along**2 + rest
        return Moments(counts=self.counts, sums=sums, within=within)

    @property
    def squares(self) -> Matrix:
        """Sums of squares over all rows."""
        return np.asarray(self.within + (self.sums**2 / self.counts[:, None]).sum(axis=0))


def run_published(case: Case, point: Point, rng: np.random.Generator) -> tuple[float, float]:
    """The printed algorithm: no guarantee, true labels; the classifier knows the noise."""
    score = case.scores["distance" if point.score == "all" else point.score]
    places = np.argsort(-score, kind="stable")[: point.kept] if point.kept else np.arange(len(score))
    key = (point.score, point.kept)
    if key not in case.norms:
        case.norms[key] = largest_norm(case.train[places])
    noise = printed_noise(case.norms[key], epsilon=point.epsilon)
    return _errors(case, places, case.clean.take(places), noise=noise, rng=rng)


def largest_norm(cut: Matrix) -> float:
    """Return line 6: the largest L1 norm of rows that have a line a feature."""
    return float(np.abs(cut).sum(axis=0).max())


def printed_noise(norm: float, *, epsilon: float) -> float:
    """Return line 7's standard deviation."""
    return math.sqrt(2 * norm * math.log(1 / DELTA) / epsilon)


def run_rows(case: Case, point: Point, rng: np.random.Generator) -> tuple[float, float]:
    """Private rows: chosen, noised, with labels by randomized response; the parts' epsilons add up to the whole."""
    places, split = _choose(case, point, releases_labels=True, rng=rng)
    release = NoisyRows(epsilon=split.release, delta=DELTA, label_epsilon=split.labels)
    noise = release.describe(case.box.take(places))[0]
    labels = randomize_codes(case.codes, epsilon=split.labels, classes=case.classes, rng=rng)
    rows = case.snapped[places] if point.kept else case.snapped
    moments = Moments.of(rows, labels, classes=case.classes)
    transition = response_matrix(epsilon=split.labels, classes=case.classes)
    return _errors(case, places, moments, noise=noise, transition=transition, rng=rng)


def run_totals(case: Case, point: Point, rng: np.random.Generator) -> tuple[float, None]:
    """Private class totals: all that the independence rule needs."""
    places, split = _choose(case, point, releases_labels=False, rng=rng)
    release, box = NoisyTotals(epsilon=split.release, delta=DELTA), case.box.take(places)
    model = FisherClassifier().fit_totals(
        release.add_noise(case.moments.take(places), rng=rng),
        box=box,
        classes=range(case.classes),
        squares_noise=release.describe(box)["squares"],
    )
    test = case.test[:, places] if point.kept else case.test
    return 1 - float(model.score(test, case.truth)), None


ARMS: dict[str, Callable[[Case, Point, np.random.Generator], tuple[float, float | None]]] = {
    "published": run_published,
    "rows": run_rows,
    "totals": run_totals,
}


def _choose(
    case: Case, point: Point, *, releases_labels: bool, rng: np.random.Generator
) -> tuple[NDArray[np.intp], BudgetSplit]:
    features = len(case.train)
    keep = point.kept or features
    split = _split(point.epsilon, features, keep, len(case.codes), case.classes, releases_labels)
    if keep == features:
        return np.arange(features), split
    sizes = NoisyClassRows(epsilon=split.class_rows).draw(case.moments.counts, rng=rng)
    selection = PrivateSelection(epsilon=split.selection, keep=keep, score=PRIVATE_SCORES[point.score])
    return selection.select(case.moments, class_rows=sizes, rng=rng), split


@lru_cache(maxsize=512)
def _split(epsilon: float, features: int, keep: int, rows: int, classes: int, releases_labels: bool) -> BudgetSplit:
    return split_budget(
        epsilon, delta=DELTA, features=features, keep=keep, rows=rows, classes=classes, releases_labels=releases_labels
    )


def _errors(
    case: Case,
    places: NDArray[np.intp],
    clean: Moments,
    *,
    noise: float,
    rng: np.random.Generator,
    transition: Matrix | None = None,
) -> tuple[float, float]:
    """Return the errors on clean and on noised test rows."""
    moments = clean.with_noise(noise, rng=rng)
    test = case.test if len(places) == case.test.shape[1] else case.test[:, places]
    errors = []
    for noisy_test in (False, True):
        model = FisherClassifier(noise=noise, transition=transition, noisy_test=noisy_test)
        model.fit_moments(
            counts=moments.counts, sums=moments.sums, squares=moments.squares, classes=range(case.classes)
        )
        scores = test @ model.coef_.T + model.intercept_
        if noisy_test:  # the noise on p features moves the K scores by a Gaussian of covariance s^2 C C'
            root = np.linalg.qr(model.coef_.T, mode="r")
            scores += noise * rng.normal(size=(len(scores), len(root))) @ root
        errors.append(float((scores.argmax(axis=1) != case.truth).mean()))
    return errors[0], errors[1]


def points_of(data: str, *, quick: bool) -> Iterator[Point]:
    """Return the points of one set: features at a fixed epsilon, epsilon at fixed features, and all features."""
    panels = [(m, FIXED_EPSILON) for m in KEPT] + [(FIXED_KEPT, e) for e in EPSILONS]
    wanted = [(arm, m, e) for m, e in dict.fromkeys(panels[:2] if quick else panels) for arm in ARMS]
    wanted += [] if quick else [("published", FIXED_KEPT, e) for e in LARGE]
    for arm, m, e in wanted:
        for score in SCORES:
            yield Point(data=data, arm=arm, score=score, kept=m, epsilon=e)
    for e in (FIXED_EPSILON,) if quick else EPSILONS:
        yield from (Point(data=data, arm=arm, score="all", kept=0, epsilon=e) for arm in ARMS)


Results = dict[str, dict[str, list[float]]]


def run_all(results: Results, *, data: str, seeds: int, quick: bool, save: Callable[[], None]) -> float:
    """Fill in what is missing, seed by seed; return the seconds it took."""
    points = list(points_of(data, quick=quick))
    missing = [
        (seed, point)
        for seed in range(seeds)
        for point in points
        if len(results.get(point.name, {}).get("clean", [])) <= seed
    ]
    started = saved = time.perf_counter()
    for seed, point in track(missing, console=Console(stderr=True), description=data):
        clean, noised = ARMS[point.arm](case_of(data, seed), point, np.random.default_rng([seed, 7]))
        found = results.setdefault(point.name, {"clean": []})
        found["clean"].append(round(clean, 4))  # 10,000 test rows: exact
        if noised is not None:
            found.setdefault("noised", []).append(round(noised, 4))
        if time.perf_counter() - saved > SAVE_EVERY:
            save()
            saved = time.perf_counter()
    save()
    return time.perf_counter() - started


def summarize(results: Results) -> list[dict[str, Any]]:
    """Return mean and deviation over the seeds of each point."""
    rows = []
    for name, found in results.items():
        data, arm, score, kept, epsilon = name.split("|")
        row = {"data": data, "arm": arm, "score": score, "kept": int(kept), "epsilon": float(epsilon)}
        for test, values in found.items():
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            row |= {test: float(np.mean(values)), f"{test}_deviation": deviation}
        rows.append(row)
    return rows


STYLES = {"published": "--", "rows": "-", "totals": ":"}
COLORS = {"distance": "tab:blue", "t": "tab:orange", "all": "tab:gray"}
TITLES = {"synthetic": "synthetic", "mnist": "MNIST", "cifar10": "CIFAR-10"}


def draw(rows: list[dict[str, Any]], path: Path, *, test: str) -> None:
    """Draw two panels a data set: error against features, and against epsilon."""
    names = [name for name in TITLES if any(row["data"] == name for row in rows)]
    figure, axes = plt.subplots(len(names), 2, figsize=(11, 3.6 * len(names)), squeeze=False, layout="constrained")
    for (left, right), name in zip(axes, names, strict=True):
        own = [row for row in rows if row["data"] == name and test in row]
        _curves(left, [row for row in own if row["epsilon"] == FIXED_EPSILON], "kept", test)
        _curves(right, [row for row in own if row["kept"] in (FIXED_KEPT, 0) and row["epsilon"] <= 10], "epsilon", test)
        left.set(title=f"{TITLES[name]}, epsilon {FIXED_EPSILON:g}", xlabel="features kept")
        right.set(title=f"{TITLES[name]}, {FIXED_KEPT} features", xlabel="epsilon")
        left.set_ylabel(f"error on {test} test rows")
    axes[0][0].legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _curves(axis: Any, rows: list[dict[str, Any]], along: str, test: str) -> None:
    for arm, style in STYLES.items():
        for score, color in COLORS.items():
            line = sorted(
                (row[along], row[test], row[f"{test}_deviation"])
                for row in rows
                if (row["arm"], row["score"]) == (arm, score)
            )
            if line and score == "all" and along == "kept":
                axis.axhline(line[0][1], ls=style, color=color, lw=1, label=f"{arm}, all features")
            elif line:
                axis.errorbar(*zip(*line, strict=True), ls=style, color=color, label=f"{arm}, {score}")


def draw_means(path: Path) -> None:
    """Draw Figure 2: the means of the synthetic set, and what 5,000 rows show of them."""
    case, means = synthetic(0), sparse_means()
    order = np.argsort(-np.abs(means), kind="stable")
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    axis.plot(
        case.scores["distance"][order], ".", ms=2, color="tab:orange", label="distance of class means, 5,000 rows"
    )
    axis.plot(np.abs(means)[order], color="tab:blue", label="true distance")
    axis.set(xlabel="feature, in the order of its true distance", ylabel="distance", xscale="symlog")
    axis.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def tables(results: Results) -> str:
    """Return the two tables of the page: against features, and against epsilon."""
    found = {(r["data"], r["arm"], r["score"], r["kept"], r["epsilon"]): r for r in summarize(results)}
    by_kept = [(str(m), m, FIXED_EPSILON) for m in KEPT] + [("all", 0, FIXED_EPSILON)]
    by_epsilon = [(f"{e:g}", FIXED_KEPT, e) for e in (*EPSILONS, *LARGE)]
    parts = [
        f"Error against features kept, epsilon {FIXED_EPSILON:g}:\n\n" + _table(found, by_kept),
        f"Error against epsilon, {FIXED_KEPT} features:\n\n" + _table(found, by_epsilon),
    ]
    return "\n".join(parts)


def _table(found: dict[Any, dict[str, Any]], columns: list[tuple[str, int, float]]) -> str:
    head = "| set, arm, score | " + " | ".join(name for name, _, _ in columns) + " |\n"
    lines = [head, "| --- |" + " --- |" * len(columns) + "\n"]
    for data in TITLES:
        for arm in ARMS:
            for score in SCORES:
                cells = [found.get((data, arm, score if m else "all", m, e)) for _, m, e in columns]
                if any(cells):
                    shown = " | ".join(_cell(cell) for cell in cells)
                    lines.append(f"| {TITLES[data]}, {arm}, {score} | {shown} |\n")
    return "".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    beside = f" ({row['noised']:.3f})" if "noised" in row else ""
    return f"{row['clean']:.3f}{beside}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, save on the way, draw."""
    parser = argparse.ArgumentParser(prog="python -m papers.private_fisher.figures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few points of the synthetic set, to try the code")
    parser.add_argument("--only", choices=list(TITLES), help="one set")
    parser.add_argument("--table", action="store_true", help="write tables and figures from what is there; run nothing")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the results")
    options = parser.parse_args(arguments)
    path = options.out / ("features_figures_quick.json" if options.quick else "features_figures.json")
    seeds = 2 if options.quick else SEEDS
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results: Results = document.get("points", {})
    if options.table:
        _put_tables(PAGE, tables(results))
        _draw_all(results, path)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    seconds = document.get("seconds", {})
    for data in (options.only,) if options.only else ("synthetic",) if options.quick else TITLES:
        spent = run_all(
            results, data=data, seeds=seeds, quick=options.quick, save=lambda: _save(path, results, seconds, seeds)
        )
        seconds[data] = round(seconds.get(data, 0.0) + spent, 1)
        _save(path, results, seconds, seeds)
    _draw_all(results, path)
    print(f"{len(results)} points in {path}")
    return 0


def _put_tables(page: Path, text: str) -> None:
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    with write_atomically(page, force=True) as file:
        file.write(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}".encode())


def _draw_all(results: Results, path: Path) -> None:
    mpl.use("Agg")
    rows = summarize(results)
    draw(rows, path.with_suffix(".svg"), test="clean")
    draw(rows, path.with_name(f"{path.stem}_noised.svg"), test="noised")
    draw_means(path.with_name(f"{path.stem}_means.svg"))


def _save(path: Path, results: Results, seconds: dict[str, float], seeds: int) -> None:
    header = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "seeds": seeds,
        "delta": DELTA,
        "seconds": seconds,
    }
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in results.items())
    head = json.dumps(header, indent=1).removesuffix("\n}")
    with write_atomically(path, force=True) as file:
        file.write(f'{head},\n "points": {{\n{lines}\n }}\n}}\n'.encode())


if __name__ == "__main__":
    sys.exit(main())
