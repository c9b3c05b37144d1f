"""Pages, messages and docstrings: one term per concept, American spelling, no sentence that sounds translated."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

COUNTED = "bits?|bytes|characters|columns?|labels?|neurons?|numbers?|outputs?|points?|rows?|scores?|seconds|sets"
THINGS = "bag|batch|cell|class|column|day|file|kink|label|line|neuron|person|point|query|record|row|seed|step|team"
STEMS = (
    "anonym author binar capital categor character custom discret factor final formal general initial linear maxim"
    " memor minim normal optim organ parametr penal priorit quant random real recogn regular serial special stabil"
    " standard summar symmetr token util vector visual"
)
WORDS = {
    # what the field calls it
    "promis(?:e[sd]?|ing)": "guarantee",
    "noised": "noisy",
    "unnoised": "exact",
    "commonest": "the majority class, or most frequent",
    "rivals?": "baseline attacker",
    "told right": "guessed correctly",
    "g(?:ives?|ave|iven|iving) (?:it |them |this |that )?away": "reveal, leak",
    "betray(?:s|ed|ing)?": "reveal, leak",
    "guarded scores?": "protected score",
    "whole numbers?": "integer",
    "bearings": "feedback",
    "custodian": "data owner",
    "leaves? the (?:building|house)": "is released",
    "of no use": "no utility",
    "points gained": "advantage over baseline, in percentage points",
    "within chance": "not statistically significant",
    "held against": "compared with",
    "sets? against": "compared with",
    "epsilon proved": "empirical lower bound on epsilon",
    "put in by a fair coin": "included with probability 1/2",
    "as sure as right": "calibrated",
    "soften(?:s|ed|ing)?": "temperature-scale",
    "forgets? (?:half|classes)": "stop predicting classes",
    "lookout": "a check that only alerts",
    "surest": "most confident",
    # sentences that sound translated
    **{f"{word} who": "a noun: anyone who" for word in ("for", "from", "to", "by", "of", "against", "with")},
    "this once": "only once",
    "as it comes": "by default",
    "unasked": "by default",
    "must (?:not )?stand": "requires, or must not be given with",
    "stands? with": "requires",
    "lays? down": "set, configure",
    "without more words": "by default",
    "to speak of": "the size",
    "compared are": "subject, verb, object",
    "only so (?:is|can|does)": "subject, verb, object",
    **{f"{one}(?: (?:{COUNTED}))? an? (?:{THINGS})": "per" for one in ("one", "two", "three", "ten", "k")},
    f"a (?:{COUNTED}) an? (?:{THINGS})": "per",
    "once an? (?:competition|epoch)": "per",
    # American spelling
    **{f"{stem}is(?:e[sd]?|ers?|ing|ations?|able)": "-ize" for stem in STEMS.split()},
    **{f"{word}our(?:s|ed|ing|able)?": "-or" for word in ("col", "neighb", "behavi", "fav", "hon")},
    **{f"{word}ll(?:ed|ing)": "one l" for word in ("label", "unlabel", "model", "cancel")},
    "analys(?:e|ed|ing)": "analyze",
    "centre(?:s|d)?": "center",
    "licences?": "license",
    "grey": "gray",
    "learnt": "learned",
    "fulfil": "fulfill",
    "artefacts?": "artifact",
    "judgement": "judgment",
    "whilst": "while",
}
ALLOWED = {
    ("src/tacit/data/bundled_sets.py", "grey"): "the names of the classes in OpenML's satellite set",
}
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md", "papers/README.md"]


def searchable(pattern):
    """The letters that a pattern begins with, found quickly in a text, and the pattern between word boundaries."""
    letters = re.match(r"[a-z]+", pattern)[0]
    start = letters[:-1] if pattern[len(letters) :].startswith("?") else letters
    return start, re.compile(rf"(?<![^\W_]){pattern}(?![^\W_])".replace(" ", r"\s+"))


RULES = [(*searchable(pattern), remedy) for pattern, remedy in WORDS.items()]


def faults(name, text):
    """Every use of a word that the glossary replaces, with its line and what to write."""
    lower = text.lower()
    for start, pattern, remedy in RULES:
        for found in pattern.finditer(lower) if start in lower else ():
            if (name, found[0]) not in ALLOWED:
                yield f"{name}:{lower.count(chr(10), 0, found.start()) + 1}: {found[0]!r}; write {remedy}"


def files():
    for folder, ending in (("docs", "*.md"), ("src/tacit", "*.py"), ("src/tacit", "*.html"), ("examples", "*.py")):
        yield from (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / folder).rglob(ending)))
    yield from PAGES


def test_no_page_message_or_docstring_uses_a_replaced_word():
    found = [fault for name in files() for fault in faults(name, (ROOT / name).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_every_exception_is_still_needed():
    for name, word in ALLOWED:
        assert re.search(rf"\b{word}\b", (ROOT / name).read_text(encoding="utf-8")), f"{name} no longer has {word!r}"


@pytest.mark.parametrize(
    "sentence",
    [
        "It keeps its promise.",
        "the totals are noised for epsilon",
        "It hides nothing from who knows the seed.",
        "the token is printed this once",
        "one label a row",
        "Labels are whole\nnumbers.",
        "--seed must not stand with --ledger",
        "Compared are the noisy means.",
        "the randomised labels of neighbouring rows",
        "No better than to name the commonest label.",
    ],
)
def test_a_replaced_word_is_found(sentence):
    assert len(list(faults("page.md", f"A first line.\n{sentence}"))) >= 1


@pytest.mark.parametrize(
    "sentence",
    [
        "one label per row, and a row may have a score",
        "the denoised labels of anyone who knows the seed",
        "an integer; what a row reveals; to whom it is released",
        "the analysis otherwise emphasizes promiscuous uses",
    ],
)
def test_plain_words_are_not_faults(sentence):
    assert list(faults("page.md", sentence)) == []
