"""Lists and pairs on a command line: what is joined is split into the same words."""

from itertools import product

from tacit.privacy.words import join_pair, join_words, split_pair, split_words

WORDS = ["".join(signs) for size in (1, 2, 3) for signs in product("a\\, =", repeat=size)]


def test_any_words_come_back():
    for word in WORDS:
        for other in ("b", ",", "\\"):
            assert split_words(join_words([word, other])) == [word, other]


def test_any_name_and_its_words_come_back():
    for name in WORDS:
        found, words = split_pair(join_pair(name, join_words(["b=c", name])))
        assert (found, split_words(words)) == (name, ["b=c", name])
