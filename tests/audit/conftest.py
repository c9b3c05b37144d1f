from dataclasses import replace

import pytest

from tacit.audit import AuditPlan, AuditResult, Finding, PlannedRelease, run_audit
from tacit.audit.plan import planned_release
from tacit.audit.source import bundled_source
from tacit.audit.utility import share_utility
from tacit.leak import OddsChange, leak_from_guesses


@pytest.fixture(scope="session")
def iris():
    return bundled_source("iris")


@pytest.fixture(scope="session")
def step_of():
    """Plan a release of a table by the keys of a ``tacit.toml``."""

    def make(source, surface, **keys):
        return PlannedRelease(source=source, plan=planned_release(surface, source, keys))

    return make


@pytest.fixture(scope="session")
def plan(iris, step_of):
    """Two releases and two points of each curve: seconds."""
    labels = step_of(iris, "labels", epsilon=1.0)
    scores = step_of(iris, "scores", epsilon=None, policy="exact", submissions=20)
    return AuditPlan(steps=(labels, scores), epsilons=(0.5, 2.0))


@pytest.fixture(scope="session")
def result(plan):
    return run_audit(plan, seed=0)


def _change(guesses, truth):
    """How guesses of 1 change the odds of the label 1."""
    flags = [guess for guess, label in zip(guesses, truth, strict=True) if label == 1]
    others = [guess for guess, label in zip(guesses, truth, strict=True) if label != 1]
    if not flags or not others:
        return ()
    counts = {"found": sum(flags), "rows": len(flags), "mistaken": sum(others), "others": len(others)}
    return (OddsChange.from_counts("1", **counts, share=len(flags) / len(truth), level=0.95),)


@pytest.fixture(scope="session")
def finding():
    """Make a finding from a guarantee, guesses and the truth."""

    def make(guarantee, guesses, truth, **parts):
        made = Finding(
            surface="labels", data="made up", column="ill", subject="ill", rows=len(truth), setting="a release",
            guarantee=guarantee, told="It tells", remedy="stop",
            utility=share_utility("accuracy", [True], [True], truth=[0]),
            leak=replace(leak_from_guesses(guesses, truth, baseline=0.5), changes=_change(guesses, truth)), seconds=0.0,
        )  # fmt: skip
        return replace(made, **parts)

    return make


@pytest.fixture(scope="session")
def run_of():
    """Make a run from findings."""

    def make(*findings, **parts):
        return AuditResult(findings=findings, version="0", date="2026-01-01", seed=None, **parts)

    return make
