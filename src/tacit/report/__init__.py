"""From an audit's result to one page."""

from tacit.report.page import render_page

__all__ = ["render_page"]
