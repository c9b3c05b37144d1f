"""A plan is one value, whichever door it came through."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pytest

from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import Plan
from tacit.privacy.settings import Choice, about, read_choice, settings_of, to_words
from tacit.privacy.unit import Unit


@dataclass(frozen=True, kw_only=True)
class Even(Choice):
    name: ClassVar[str] = "even"


@dataclass(frozen=True, kw_only=True)
class Random(Choice):
    name: ClassVar[str] = "random"
    size: int = field(metadata=about("Rows.", rule="an integer >= 1", holds=lambda size: size >= 1))
    share: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Toy(Plan):
    surface: ClassVar[str] = "toy"
    mechanism: Even | Random = Even()
    by: tuple[tuple[str, ...], ...] = ()
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    values: tuple[float, ...] | None = None
    missing: Literal["refuse", "public"] = "refuse"
    consistent: bool = True


FULL = Toy(
    label="ill",
    epsilon=0.1,
    delta=1e-7,
    features=("age", "a, b"),
    classes=("no", " yes"),
    unit=Unit.RECORD,
    person="who",
    rows_per_person=3,
    mechanism=Random(size=10, share=0.25),
    by=(("city", "age"), ("sex",)),
    edges={"age": (18.0, 40.0)},
    ranges={"age": (0.0, 100.5)},
    values=(0.0, 0.5, 1.0),
    missing="public",
    consistent=False,
)


def parse(options):
    """What a command line makes of options: words, lists of words for repeatable ones, and flags."""
    known = {one.option: one for one in settings_of(Toy)}
    given, rest = {}, list(options)
    while rest:
        word = rest.pop(0)
        if word.startswith("--no-"):
            given[word.removeprefix("--no-")] = False
        elif known[word].kind is bool:
            given[known[word].name] = True
        elif known[word].repeatable:
            given.setdefault(known[word].name, []).append(rest.pop(0))
        else:
            given[known[word].name] = rest.pop(0)
    return Toy(**given)


@pytest.mark.parametrize("plan", [FULL, Toy(label="y", epsilon=None), Toy(label="y", epsilon=1 / 3)])
def test_every_door_gives_the_same_plan(plan):
    assert parse(plan.to_options()) == plan
    assert Toy.from_json(plan.to_json()) == plan


def test_defaults_are_not_written():
    assert Toy(label="y", epsilon=2).to_options() == ["--label", "y", "--epsilon", "2"]


def test_ranges_of_numbers_are_written_by_their_ends_and_step():
    assert Toy(label="y", epsilon=1, values="0:1:0.5").values == (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"epsilon": "much"}, "epsilon must be a finite number > 0, or none, got 'much'"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number > 0, or none, got nan"),
        ({"delta": 1}, r"delta must be in \[0, 1\), got 1"),
        ({"epsilon": None, "delta": 0.1}, "delta must be 0 with epsilon none"),
        ({"classes": "one"}, "classes must be a list of at least two different classes"),
        ({"features": "ill"}, "features must not name the private column 'ill'"),
        ({"features": "a,a"}, "features must name different columns"),
        ({"rows_per_person": 0.5}, "rows_per_person must be an integer >= 1, got 0.5"),
        ({"rows_per_person": True}, "rows_per_person must be an integer >= 1"),
        ({"unit": "house"}, "unit must be one of label, record, bag, got 'house'"),
        ({"mechanism": "odd"}, "mechanism must be one of even, random, got 'odd'"),
        ({"mechanism": "random:length=3"}, "mechanism random takes size, share, got 'length'"),
        ({"mechanism": "random:size=0"}, "mechanism random: size must be an integer >= 1, got '0'"),
        ({"missing": "drop"}, "missing must be one of refuse, public, got 'drop'"),
        ({"consistent": "perhaps"}, "consistent must be true or false"),
        ({"values": "1:2:0"}, "values must be comma-separated numbers"),
        ({"edges": ["age"]}, "edges must be COLUMN=NUMBER"),
        ({"edges": ["age=1", "age=2"]}, "edges must be given once for each column"),
        ({"ranges": ["age=1"]}, "ranges must be 2 numbers"),
    ],
)
def test_a_refusal_carries_its_field(given, sentence):
    with pytest.raises(InvalidInput, match=sentence) as refused:
        Toy(**{"label": "ill", "epsilon": 1, **given})
    assert refused.value.field == sentence.split()[0]


def test_a_choice_without_its_parameter_is_refused():
    with pytest.raises(InvalidInput, match="random must be given its size"):
        read_choice(Even | Random, "random")


def test_unknown_and_missing_keys_are_refused():
    with pytest.raises(InvalidInput, match="epsilom is no field of a plan"):
        Toy.from_json({"label": "y", "epsilom": 1})
    with pytest.raises(InvalidInput, match="epsilon must be given"):
        Toy.from_json({"label": "y"})


def test_the_order_of_classes_is_another_request():
    """For scores and totals of two classes it says what a number means; labels and features sort them."""
    one, other = (Toy(label="y", epsilon=1, classes=classes) for classes in ("a,b", "b,a"))
    assert one.request() == Toy(label="y", epsilon=1, classes=("a", "b")).request()
    assert one.request() != other.request()
    assert one.request() != Toy(label="y", epsilon=2, classes="a,b").request()


def test_choices_are_written_as_they_are_read():
    assert to_words(Random(size=3)) == "random:size=3"
    assert read_choice(Even | Random, {"name": "random", "size": 3}) == Random(size=3)
