"""Descriptions in Markdown: raw HTML is shown as text, links lead to the web or to mail, and nothing is loaded."""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt
from markupsafe import Markup

__all__ = ["from_markdown"]

_WEB = ("https://", "http://", "mailto:", "/", "#")


def _reader() -> MarkdownIt:
    """Return a reader without raw HTML and images, both of which a description could misuse."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_inline", "html_block"])
    made.validateLink = lambda url: url.strip().lower().startswith(_WEB)  # type: ignore[method-assign]
    return made


_READER = _reader()


@lru_cache(maxsize=256)
def from_markdown(text: str) -> Markup:
    """Return a description as HTML; its headings begin below those of the page."""
    tokens = _READER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrSet("rel", "nofollow noopener noreferrer")
    return Markup(_READER.renderer.render(tokens, _READER.options, {}))  # made by the reader above
