"""The commands that redo one step of an audit: divide the rows, protect, learn, attack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import join

from tacit.audit.plan import PlannedRelease
from tacit.privacy.trial import Part
from tacit.privacy.words import join_words

__all__ = ["ATTACK", "BOUND", "LEARN", "PICKLE", "PROTECT", "SURE", "commands_of"]

PROTECT, LEARN, ATTACK, BOUND = range(4)
"""The draws of a step, each with a seed of its own."""

PICKLE = ".joblib"
"""The ending of a model file that runs code when it is opened: only who made it opens it."""

SURE = 0.9999
"""Confidence of a second attack: randomized response spends its epsilon to the last bit, and at 95% up to one true
guarantee in twenty may look violated."""


def commands_of(step: PlannedRelease, *, seed: int | None) -> tuple[str, ...]:
    """Return what gives the measured release and its numbers from a shell; nothing for a table without a name.

    Parameters
    ----------
    seed
        The audit's: then the commands give its numbers again. Default: they draw new random numbers.
    """
    if step.source.file is None:
        return ()
    return tuple(join(["tacit", *words]) for words in _commands(step, seed))


def _commands(step: PlannedRelease, seed: int | None) -> Iterator[list[str]]:
    trial, surface, folder = step.plan.trial(), step.surface, step.folder
    release = f"{folder}/release{step.plan.suffix}"
    trust = ["--trust"] if step.plan.suffix == PICKLE else []
    yield _split(step, seed)
    seeded = _seed(step, seed, PROTECT)
    yield [surface, "protect", f"{folder}/protected.parquet", *step.plan.to_options(), *seeded, "--out", release]
    if trial.learn is not None:
        yield [surface, "learn", release, *trust, *_options(trial.learn, folder), *_seed(step, seed, LEARN)]
    attack = [surface, "attack", release, *trust, *_options(trial.attack, folder)]
    yield [*attack, *_method(trial.method), *_seed(step, seed, ATTACK)]
    if trial.bound is not None:
        yield [*attack, *_method(trial.bound), "--level", str(SURE), *_seed(step, seed, BOUND)]


def _split(step: PlannedRelease, seed: int | None) -> list[str]:
    source, rows = step.source, step.rows(seed)
    named = str(source.file)
    words = ["split", f"./{named}" if named.startswith("-") and named != "-" else named, "--label", source.label]
    others = [name for name in source.table.column_names if name != source.label]
    words += ["--features", join_words(rows.columns)] if set(rows.columns) < set(others) else []
    words += ["--rows", str(source.rows)] if source.drawn else []
    return [*words, "--withhold", step.plan.trial().withheld, "--seed", str(seed or 0), "--out", step.folder]


def _options(parts: Mapping[str, Part], folder: str) -> list[str]:
    return [word for name, part in parts.items() for word in (f"--{name}", f"{folder}/{part}.parquet")]


def _method(method: str | None) -> list[str]:
    return [] if method is None else ["--method", method]


def _seed(step: PlannedRelease, seed: int | None, draw: int) -> list[str]:
    return [] if seed is None else ["--seed", str(step.seed(seed, draw=draw))]
