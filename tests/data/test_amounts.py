"""Cuts make classes of a label that is an amount, on the surfaces that need classes."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tacit import features, models
from tacit.data.amounts import cut_column, is_amount
from tacit.privacy import InvalidInput

ENCODED = {"delta": 1e-5, "ranges": {"age": (0, 100)}}


def plan_of(surface, **keys):
    return surface.Plan(**{"label": "cost", "epsilon": 8, **ENCODED, **keys})


@pytest.fixture
def visits():
    age = np.random.default_rng(0).integers(20, 90, 300)
    return pa.table({"age": age, "cost": age * 10.5 + np.arange(300) / 1000})


@pytest.mark.parametrize(
    "numbers", [[1, 100, 499, None], [1.0, 100.0, 499.9, None], [Decimal("1.5"), Decimal(100), Decimal(499), None]]
)
def test_a_cut_is_the_first_number_of_its_class(numbers):
    cut = cut_column(pa.array([*numbers, 500]), plan_of(features, cuts=[100, 500]))
    assert cut.to_pylist() == ["below 100", "100 to 500", "100 to 500", None, "500 or more"]


@pytest.mark.parametrize(
    ("column", "amount"),
    [
        (range(20), False),
        (range(21), True),
        (np.linspace(0, 1, 21), True),
        ([f"{k}" for k in range(50)], False),
        ([True, False], False),
    ],
)
def test_amounts_are_numbers_of_many_values(column, amount):
    assert is_amount(pa.array(column)) == amount


@pytest.mark.parametrize("surface", [features, models])
def test_classes_of_an_amount_from_protect_to_attack(visits, surface):
    release = surface.protect(visits.slice(0, 200), plan_of(surface, cuts="400,700"), rng=np.random.default_rng(0))
    assert release.classes == ("below 400", "400 to 700", "700 or more")
    assert "it is public that every row has a label of the class list" in release.guarantee.assumptions
    model = surface.learn(release, test=visits.slice(200))
    assert set(model.predict(visits)) <= set(release.classes)
    assert model.report_.accuracy > 0.5
    assert surface.attack(release, truth=visits.slice(0, 200), data=visits.slice(200)).rate >= 0


@pytest.mark.parametrize("surface", [features, models])
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, r"cuts must be given for the label 'cost', numbers of more than 20 values"),
        ({"cuts": [5, 1]}, "cuts must be finite numbers in ascending order"),
        ({"cuts": range(10_000)}, "cuts must be finite numbers in ascending order, fewer than 10,000"),
        ({"cuts": [5], "classes": ["a", "b"]}, "cuts must not be given with classes"),
        ({"cuts": [5], "label": "name"}, "cuts must cut a column of numbers, 'name' is string"),
    ],
)
def test_refusals(visits, surface, keys, said):
    named = visits.append_column("name", pa.array(["a"] * 300))
    with pytest.raises(InvalidInput, match=said):
        surface.protect(named, plan_of(surface, features=["age"], **keys))


def test_a_class_of_one_row_by_cuts_may_be_missing_in_a_half():
    """Pairs of neighboring amounts need not share a class, so a shadow model may see none of a rare one."""
    rng = np.random.default_rng(0)
    members, others = (pa.table({"x": rng.normal(size=60), "cost": np.arange(60.0)}) for _ in range(2))
    plan = models.Plan(label="cost", mechanism="plain", epsilon=None, ranges={"x": (-3, 3)}, cuts=(30, 59))
    release = models.protect(members, plan, rng=rng)
    leak = models.attack(release, truth=members, data=others, method="rmia:models=4,coins=pairs", rng=rng)
    assert leak.epsilon_lower_bound is not None
