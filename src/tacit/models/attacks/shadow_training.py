"""Train shadow models on random halves, in parallel, and store their confidences, so that a second run need not."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tacit.models.attacks.confidence import FLOOR, measure_confidence
from tacit.models.attacks.shadow import LEAST_MODELS, ShadowConfidences
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import write_atomically
from tacit.privacy.rounding import check_count

__all__ = ["train_shadows"]

_VERSION = 1  # of the files; part of their name
_OWNER_ONLY = 0o600  # a mask of members is what an attack is after

Mask = NDArray[np.bool_]
Confidence = NDArray[np.float64]
Rows = NDArray[Any] | pd.DataFrame


class _ShadowResult(NamedTuple):
    """What one shadow model leaves behind."""

    member: Mask
    confidence: Confidence


def train_shadows(
    estimator: Any,  # noqa: ANN401
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    rng: np.random.Generator,
    models: int = 64,
    halves: Mask | None = None,
    jobs: int = 1,
    directory: Path | None = None,
    floor: float = FLOOR,
    progress: Callable[[int, int], None] | None = None,
) -> ShadowConfidences:
    """Train shadow models, each on a random half of the rows, and ask each about all rows.

    A fair coin decides for each row whether the first model of a pair is trained on it; the second is trained on the
    others. So each row is in exactly half of the models, and each model's rows are independent coins.

    With a ``directory`` each model's mask and confidences are a file there (NumPy arrays without pickle, readable by
    the owner alone), named by a hash of the rows, the labels, the estimator with its parameters, and ``floor``. What
    is there is used again, whatever ``rng`` made it, and an interrupted run goes on where it was. The models
    themselves are not kept.

    Parameters
    ----------
    estimator
        An unfitted scikit-learn classifier with ``predict_proba``, trained as the target was. Each clone gets its own
        ``random_state`` from ``rng`` where it takes one.
    X, y
        All rows whose membership is asked, members or not, as in
        :class:`tacit.models.attacks.targets.MembershipTargets`.
    models
        How many, an even number >= 4.
    halves
        The rows of the first model of each pair, of shape (models / 2, rows). Default: a fair coin for each row.
    jobs
        How many to train at once, as joblib counts them; -1 is one per core.
    floor
        Least probability, as in :func:`tacit.models.attacks.confidence.confidence_from_probabilities`.

    References
    ----------
    Shokri et al. (2017), shadow models; Carlini et al. (2022), each on half of the rows.
    """
    rows, labels = _check_rows(estimator, X, y)
    half = LEAST_MODELS * 2
    if check_count(models, name="models", least=half) % 2:
        raise InvalidInput(f"must be an even number >= {half}, as they come in pairs, got {models}", field="models")
    if jobs == 0:
        raise InvalidInput("must not be 0: 1 trains one model at a time, -1 one per core", field="jobs")
    coins = rng.random((models // 2, len(rows))) < 0.5 if halves is None else halves
    if coins.shape != (models // 2, len(rows)):
        raise InvalidInput(f"must have the shape {(models // 2, len(rows))}, got {coins.shape}", field="halves")
    seeds = rng.integers(2**31, size=models)
    folder = None if directory is None else _ResultsFolder.open(directory, estimator, rows, labels, floor)
    kept = {} if folder is None else folder.read(models, points=len(rows))
    masks = _complete(coins, kept)
    todo = [index for index in range(models) if index not in kept]
    tell = progress or (lambda *_: None)
    tell(len(kept), models)
    work = (joblib.delayed(_fit_one)(i, _seeded(estimator, int(seeds[i])), rows, labels, masks[i], floor) for i in todo)
    for index, confidence in joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
        kept[index] = _ShadowResult(masks[index], confidence)
        if folder is not None:
            folder.write(index, kept[index])
        tell(len(kept), models)
    return ShadowConfidences(confidence=np.stack([kept[i].confidence for i in range(models)]), member=np.stack(masks))


def _complete(coins: NDArray[np.bool_], kept: dict[int, _ShadowResult]) -> list[Mask]:
    """Return all masks: those kept, their pairs' complements, and new coins for the rest."""
    masks: list[Mask] = []
    for pair, coin in enumerate(coins):
        first, second = 2 * pair, 2 * pair + 1
        if first in kept:
            coin = kept[first].member
        elif second in kept:
            coin = ~kept[second].member
        masks += [coin, ~coin]
    return masks


def _fit_one(
    index: int,
    estimator: Any,  # noqa: ANN401
    X: Rows,
    y: NDArray[Any],
    member: Mask,
    floor: float,
) -> tuple[int, Confidence]:
    missing = np.setdiff1d(y, y[member])
    if len(missing) and not getattr(estimator, "knows_classes", False):
        raise InvalidInput(
            f"must have many rows of every class, got a half without class {missing[0].item()!r}: drop rare classes",
            field="y",
        )
    return index, measure_confidence(estimator.fit(X[member], y[member]), X, y, floor=floor)


def _seeded(estimator: Any, seed: int) -> Any:  # noqa: ANN401
    """Return an unfitted copy whose every ``random_state``, of its parts too, is this one."""
    copy = clone(estimator)
    names = [name for name in copy.get_params() if name.rpartition("__")[2] == "random_state"]
    return copy.set_params(**dict.fromkeys(names, seed))


def _check_rows(
    estimator: Any,  # noqa: ANN401
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
) -> tuple[Rows, NDArray[Any]]:
    if not (hasattr(estimator, "get_params") and hasattr(estimator, "predict_proba")):
        raise InvalidInput(
            f"must be a scikit-learn classifier with predict_proba, got {type(estimator).__name__}: for "
            "other models make ShadowConfidences(confidence=..., member=...) yourself",
            field="estimator",
        )
    rows, labels = X if isinstance(X, pd.DataFrame) else np.asarray(X), np.asarray(y)
    if rows.ndim < 2 or labels.shape != (len(rows),) or not len(rows):
        raise InvalidInput(f"X must have rows and y a label for each, got shapes {rows.shape} and {labels.shape}")
    return rows, labels


class _ResultsFolder(NamedTuple):
    """Where the results of one estimator on one set of rows are kept."""

    path: Path
    key: str

    @classmethod
    def open(
        cls,
        directory: Path,
        estimator: Any,  # noqa: ANN401
        X: Rows,
        y: NDArray[Any],
        floor: float,
    ) -> _ResultsFolder:
        path = Path(directory)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"directory {path} cannot be created: {error.strerror}; choose another") from None
        # hashed by content and never unpickled: only names and arrays are read back
        key = joblib.hash((_VERSION, type(estimator).__qualname__, _seeded(estimator, 0), X, y, floor), "sha1")
        return cls(path, str(key))

    def file(self, index: int) -> Path:
        return self.path / f"shadow-{self.key}-{index:04d}.npz"

    def read(self, models: int, *, points: int) -> dict[int, _ShadowResult]:
        paths = {index: self.file(index) for index in range(models)}
        return {index: _read(path, points=points) for index, path in paths.items() if path.exists()}

    def write(self, index: int, kept: _ShadowResult) -> None:
        with write_atomically(self.file(index), force=True, mode=_OWNER_ONLY) as file:
            np.savez(file, member=kept.member, confidence=kept.confidence)


def _read(path: Path, *, points: int) -> _ShadowResult:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            kept = _ShadowResult(arrays["member"], arrays["confidence"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise InvalidInput(f"{path} is not a shadow model's file, or is damaged: delete it") from None
    fits = kept.member.shape == kept.confidence.shape == (points,)
    if not fits or kept.member.dtype != np.bool_ or not np.isfinite(kept.confidence).all():
        raise InvalidInput(f"{path} does not have the confidences of {points} points: delete it")
    return kept
