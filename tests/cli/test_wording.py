"""Refusals of the library in the words of the command line."""

import pytest

from tacit.cli.app import load_area
from tacit.cli.wording import in_options

ONE_ROW = "x is kept for persons of 2 rows, but the guarantee is for 1; restate the guarantee for one row with "


@pytest.mark.parametrize(
    ("area", "command", "sentence", "said"),
    [
        ("labels", "learn", "hold_out must be in [0, 1)", "--hold-out must be in [0, 1)"),
        ("labels", "protect", "keep names no column 'a'", "--keep names no column 'a'"),
        ("labels", "protect", "share must be in (0, 1)", "--prior-share must be in (0, 1)"),
        ("labels", "learn", "denoise=Backward() needs stages=1; use Forward()", None),
        ("labels", "protect", f"{ONE_ROW}for_group(rows=2)", f"{ONE_ROW}--rows-per-person 2"),
        ("features", "protect", "restate it with for_unit(Unit.LABEL), or register it", "register it"),
        (
            "labels",
            "protect",
            "declare which rows are missing public, or",
            "declare that public by --missing public, or",
        ),
        ("features", "attack", "release must be of features", "IN must be of features"),
    ],
)
def test_arguments_become_options(area, command, sentence, said):
    wanted = said or "--denoise backward needs --stages 1; use --denoise forward"
    assert in_options(sentence, load_area(area).commands[command]).startswith(wanted)


@pytest.mark.parametrize(
    "sentence",
    [
        "labels must be of one type",
        "column 'keep' is string",
        "visits.csv has two columns named 'keep'",
        "--metric must have classes=3, as many as the labels",
        "give it as in laplace:epsilon=2",
        "no file has a column 'keep=3'",
        "Somebody() is unknown",
    ],
)
def test_other_words_stay(sentence):
    assert in_options(sentence, load_area("labels").commands["protect"]) == sentence


@pytest.mark.parametrize("area", ["audit", "init", "serve"])
def test_commands_without_a_group_have_options_too(area):
    assert in_options("seed must be whole", load_area(area)) == (
        "--seed must be whole" if area == "audit" else "seed must be whole"
    )
