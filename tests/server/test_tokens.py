"""Tokens: long, random, hashed; and the mark of our own forms."""

from tacit.server.tokens import form_mark, form_mark_fits, hash_token, new_token


def test_tokens_differ_and_have_256_bits():
    tokens = {new_token("team") for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token.removeprefix("tacit_team_")) == 43 for token in tokens)


def test_any_text_has_a_hash():
    for text in ("", "x" * 10_000, "\ud800", "é"):
        assert len(hash_token(text)) == 32


def test_a_mark_fits_its_visitor_and_its_server_alone():
    mark = form_mark(b"one", visitor="cookie")
    assert form_mark_fits(mark, secret=b"one", visitor="cookie")
    assert not form_mark_fits(mark, secret=b"one", visitor="other")
    assert not form_mark_fits(mark, secret=b"two", visitor="cookie")
    assert not form_mark_fits("", secret=b"one", visitor="cookie")
    assert not form_mark_fits(form_mark(b"one", visitor=""), secret=b"one", visitor="")
    assert not form_mark_fits("\ud800é", secret=b"one", visitor="cookie")
