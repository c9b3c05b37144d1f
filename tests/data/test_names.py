import pytest

from tacit.data.names import check_names, check_present
from tacit.privacy.errors import InvalidInput


def test_different_names_pass():
    check_names(["a", "b", "A b"], source="t")


@pytest.mark.parametrize("second", ["a", str(b"a", "ascii")])
def test_equal_names_are_refused(second):
    with pytest.raises(InvalidInput, match=r"^t has two columns named 'a'; rename one of them$"):
        check_names(["a", "b", second], source="t")


def test_names_equal_but_for_case_are_refused():
    with pytest.raises(InvalidInput, match=r"^t has columns 'Label' and 'LABEL', the same but for case; rename one$"):
        check_names(["Label", "x", "LABEL"], source="t")


@pytest.mark.parametrize("name", ["surviveed", "Survived", " survived", "survive"])
def test_nearest_name_is_suggested(name):
    with pytest.raises(InvalidInput, match=r"did you mean 'survived'\? the columns are class, survived$"):
        check_present(name, ["class", "survived"], argument="label")


def test_far_name_lists_the_columns_only():
    with pytest.raises(InvalidInput, match=r"^label names no column 'zzz'; the columns are class, survived$"):
        check_present("zzz", ["class", "survived"], argument="label")


def test_long_lists_are_cut():
    with pytest.raises(InvalidInput, match=r"c0, .*c11 and 88 more$"):
        check_present("zzz", [f"c{i}" for i in range(100)], argument="label")


@pytest.mark.parametrize("name", ["paid", '"paid'])
def test_a_name_that_was_split_at_its_comma_is_found(name):
    said = r"did you mean 'paid, total'\? a comma inside a name is written \\, on the command line; the columns are age"
    with pytest.raises(InvalidInput, match=said):
        check_present(name, ["age", "paid, total"], argument="features")
