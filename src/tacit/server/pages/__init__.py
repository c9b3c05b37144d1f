"""The server's HTML pages: they work without scripts, without an outside network, and by keyboard alone."""

from tacit.server.pages.routes import add_pages

__all__ = ["add_pages"]
