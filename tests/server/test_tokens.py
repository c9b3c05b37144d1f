"""Tokens: long, random, hashed; and the CSRF tokens of our own forms."""

from tacit.server.tokens import csrf_token, csrf_token_fits, hash_token, new_token


def test_tokens_differ_and_have_256_bits():
    tokens = {new_token("team") for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token.removeprefix("tacit_team_")) == 43 for token in tokens)


def test_any_text_has_a_hash():
    for text in ("", "x" * 10_000, "\ud800", "é"):
        assert len(hash_token(text)) == 32


def test_a_csrf_token_fits_its_visitor_and_its_server_alone():
    token = csrf_token(b"one", visitor="cookie")
    assert csrf_token_fits(token, secret=b"one", visitor="cookie")
    assert not csrf_token_fits(token, secret=b"one", visitor="other")
    assert not csrf_token_fits(token, secret=b"two", visitor="cookie")
    assert not csrf_token_fits("", secret=b"one", visitor="cookie")
    assert not csrf_token_fits(csrf_token(b"one", visitor=""), secret=b"one", visitor="")
    assert not csrf_token_fits("\ud800é", secret=b"one", visitor="cookie")
