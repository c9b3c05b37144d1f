"""One label, one charge and one finding pass each file once."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "walk.py"))
HandOver, entrances = SCRIPT["HandOver"], SCRIPT["entrances"]


@pytest.fixture(scope="module")
def walks():
    return SCRIPT["walks"]()


def revisited(walk):
    """The files that several files call, or that call themselves by way of others."""
    callers = entrances(walk)
    return {file for file, ways in callers.items() if len(ways) > 1 or file in _above(file, callers)}


def _above(file, callers):
    seen, level = set(), callers[file]
    while level - seen:
        seen |= level
        level = {caller for one in level for caller in callers.get(one, ())}
    return seen


def test_no_file_is_visited_twice(walks):
    assert not {title: found for title, walk in walks.items() if (found := revisited(walk))}


def test_the_walks_are_whole(walks):
    """The label is followed from DuckDB to the released file, and the charge to its account."""
    paid, released, charge, finding = (list(entrances(walk)) for walk in walks.values())
    assert {"data/view.py", "privacy/ledger/fingerprint.py"} <= set(paid)
    assert {"data/view.py", "privacy/noise/response.py", "privacy/releases/members.py"} <= set(released)
    assert {"privacy/payment.py", "privacy/ledger/account.py", "privacy/ledger/requests.py"} <= set(charge)
    assert {"audit/measure.py", "scores/attacks/attack.py", "audit/advice.py"} <= set(finding)


def test_a_second_visit_is_found():
    def walk(*steps):
        return [HandOver(file, "f", caller, 1) for caller, file in steps]

    assert revisited(walk(("a", "b"), ("b", "c"), ("b", "d"), ("b", "c"))) == set()
    assert revisited(walk(("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"))) == {"c"}
    assert revisited(walk(("a", "b"), ("b", "c"), ("c", "a"))) == {"a", "b", "c"}


def test_the_page_shows_the_walks(walks):
    page = SCRIPT["PAGE"].read_text(encoding="utf-8")
    assert SCRIPT["section"](walks) in page, "run python scripts/walk.py"
