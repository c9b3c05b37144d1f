"""Which feature sets to release: a private greedy choice with a budget of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.losses import SemilinearLoss
from tacit.bags.mechanisms.engine import check_labels, open_rows
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import TotalsNoise, TotalsQuery
from tacit.bags.partition import KeyColumn, as_features
from tacit.bags.partition.bags import number_keys
from tacit.data import read_rows
from tacit.data.names import check_present
from tacit.data.view import TableView
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace, ExpCoin, is_seeded
from tacit.privacy.rounding import check_count, check_epsilon, exact

if TYPE_CHECKING:
    import ibis

__all__ = ["ChosenSets", "choice_noise", "choose_sets", "permute_and_flip", "score_sets"]

_FINE = 1024  # parts of a step in which predictions are kept, so that scores are integers
_PUBLIC = "the features of all rows are public"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSets:
    """Feature sets that were chosen under noise, best first, and what the choice cost."""

    sets: tuple[tuple[KeyColumn, ...], ...]
    guarantee: Guarantee
    seeded: bool

    def __str__(self) -> str:
        warning = "; seeded, so the noise hides nothing from anyone who knows the seed" if self.seeded else ""
        return f"{', '.join('(' + ', '.join(map(str, one)) + ')' for one in self.sets)}: {self.guarantee}{warning}"


def choose_sets(
    table: object,
    *,
    candidates: Sequence[str | KeyColumn | Sequence[str | KeyColumn]],
    sets: int,
    label: str,
    loss: SemilinearLoss,
    epsilon: float,
    noise: TotalsNoise | None = None,
    rng: np.random.Generator,
) -> ChosenSets:
    """Return the feature sets whose totals add most to those chosen before.

    A prediction m(x) starts at the middle of the declared range. Each round scores every candidate set S by
    q(S) = sum over its bags b of |sum_{i in b} (T(y_i) - m(x_i))|_1, less what noise alone would add; chooses one
    by permute-and-flip; and, but for the last round, measures its sums under discrete Laplace noise to update m. Of
    2k - 1 steps each gets epsilon/(2k - 1). One label moves every q by at most the L1 sensitivity of T: m
    and the bags are given, and one of the sums moves.

    Unit: one row's label. Features are public. The rows and the candidates' columns are read into memory.

    Parameters
    ----------
    table
        What ``open_table`` takes.
    candidates
        Feature sets to choose from, such as all pairs of columns; a :class:`KeyColumn` cuts a column at edges.
    sets
        How many to choose.
    label, loss
        The private column, and the loss whose T(y) is added up; it must have a declared range.
    epsilon
        The choice's own slice of the budget.
    noise
        The noise that the chosen sets' totals will be released with: sets with more bags are then worth less,
        because more noise comes with them. None scores without that, and prefers fine sets.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release.

    References
    ----------
    McKenna and Sheldon (2020), "Permute-and-flip"; Mallat and Zhang (1993), matching pursuit, for the greedy rounds.
    Proof: docs/proofs/bags.md.
    """
    options = tuple(as_features(one) for one in candidates)
    k = check_count(sets, name="sets")
    if k > len(options):
        raise InvalidInput(f"must be at most {len(options)}, the number of candidates, got {k}", field="sets")
    measure = GridStatistic(loss=loss, grid=public_grid(loss))
    slice_, meter = choice_noise(measure, epsilon=epsilon, sets=k)
    guarantee = Guarantee(unit=Unit.LABEL, epsilon=epsilon, assumptions=(_PUBLIC,))
    with open_rows(table) as rows:
        check_labels(rows, label=label, measure=measure)
        read = _read(rows, options, label)  # one query: the rows of a database come in any order
        codes = [_bags_of(read, features) for features in options]
        values = measure.of_column(read[label])
        penalties = _penalties(codes, measure, noise, sets=k)
    chosen = _pursue(values, codes, penalties, measure, meter=meter, slice_=slice_, sets=k, rng=rng)
    return ChosenSets(sets=tuple(options[i] for i in chosen), guarantee=guarantee, seeded=is_seeded(rng))


def choice_noise(measure: GridStatistic, *, epsilon: float, sets: int) -> tuple[Fraction, DiscreteLaplace]:
    """Return each step's share of epsilon and the noise of its measurement; raise if that cannot be drawn."""
    each = exact(check_epsilon(epsilon)) / (2 * sets - 1)
    return each, DiscreteLaplace(scale=sum(measure.label_moves[0]) * _FINE / each)


def score_sets(residuals: NDArray[np.int64], codes: Sequence[NDArray[np.int64]], penalties: Sequence[int]) -> list[int]:
    """Return q of each candidate: the sum over its bags of the absolute sums of residuals, less its penalty."""
    return [
        int(sum(np.abs(_sums(residuals[:, k], code)).sum() for k in range(residuals.shape[1]))) - penalty
        for code, penalty in zip(codes, penalties, strict=True)
    ]


def permute_and_flip(scores: Sequence[int], *, rate: Fraction, rng: np.random.Generator) -> int:
    """Return the number of a score that is near the greatest: exactly (2 rate D)-DP for integers of sensitivity D.

    In a random order each candidate is taken with probability e^(-rate (max - score)), until one is.

    References
    ----------
    McKenna and Sheldon (2020), Algorithm 1 and Theorem 1; its expected score is never below the exponential
    mechanism's.

    Examples
    --------
    >>> permute_and_flip([0, 100, 3], rate=Fraction(1), rng=np.random.default_rng(0))
    1
    """
    best = max(scores)
    for i in rng.permutation(len(scores)):
        gap = best - scores[i]
        if gap == 0 or bool(ExpCoin(rate=rate * gap).flip(1, rng=rng)[0]):
            return int(i)
    raise AssertionError("the best score is always taken")  # pragma: no cover


def _pursue(
    values: NDArray[np.float64],
    codes: Sequence[NDArray[np.int64]],
    penalties: Sequence[int],
    measure: GridStatistic,
    *,
    meter: DiscreteLaplace,
    slice_: Fraction,
    sets: int,
    rng: np.random.Generator,
) -> list[int]:
    D = sum(measure.label_moves[0]) * _FINE
    lower, upper = measure.loss.bounds
    start = np.rint((lower + upper) / 2 / measure.step * _FINE).astype(np.int64)
    residuals = np.rint(values).astype(np.int64) * _FINE - start
    chosen: list[int] = []
    while True:
        left = [i for i in range(len(codes)) if i not in chosen]
        scores = score_sets(residuals, [codes[i] for i in left], [penalties[i] for i in left])
        chosen.append(left[permute_and_flip(scores, rate=slice_ / (2 * D), rng=rng)])
        if len(chosen) == sets:
            return chosen
        residuals = residuals - _noisy_means(residuals, codes[chosen[-1]], meter, rng)


def _noisy_means(
    residuals: NDArray[np.int64], code: NDArray[np.int64], meter: DiscreteLaplace, rng: np.random.Generator
) -> NDArray[np.int64]:
    """What the bags of a set add to the prediction of their rows: their noisy means, shrunk by their noise."""
    counts = np.bincount(code)
    update = np.empty_like(residuals)
    for k in range(residuals.shape[1]):
        sums = _sums(residuals[:, k], code) + meter.draw(len(counts), rng=rng)
        signal = np.maximum(sums.astype(np.float64) ** 2 - meter.variance, 0.0)
        kept = signal / np.maximum(sums.astype(np.float64) ** 2, 1.0)
        update[:, k] = np.rint(kept * sums / counts).astype(np.int64)[code]
    return update


def _sums(values: NDArray[np.int64], code: NDArray[np.int64]) -> NDArray[np.int64]:
    result = np.zeros(int(code.max()) + 1, dtype=np.int64)
    np.add.at(result, code, values)
    return result


def _read(rows: TableView | ibis.Table, options: Sequence[tuple[KeyColumn, ...]], label: str) -> pa.Table:
    names = list(dict.fromkeys(feature.name for features in options for feature in features))
    for name in names:
        check_present(name, rows.columns, argument="candidates")
    if label in names:
        raise InvalidInput(
            f"must not name the label column {label!r}: its values would be released as keys", field="candidates"
        )
    return read_rows(rows, columns=[*names, label])


def _bags_of(rows: pa.Table, features: tuple[KeyColumn, ...]) -> NDArray[np.int64]:
    """For each row the number of its bag."""
    return number_keys(pa.table({feature.name: feature.codes(rows[feature.name]) for feature in features}))


def _penalties(
    codes: Sequence[NDArray[np.int64]], measure: GridStatistic, noise: TotalsNoise | None, *, sets: int
) -> list[int]:
    if noise is None:
        return [0] * len(codes)
    query = TotalsQuery(moves=measure.label_moves, share=Fraction(1, sets))
    sampler = noise.calibrate([query] * sets, unit=Unit.LABEL).samplers[0]
    each = sampler.variance**0.5 * measure.loss.targets * _FINE  # about the mean of |noise|, summed over targets
    return [round(each * (int(code.max()) + 1)) for code in codes]
