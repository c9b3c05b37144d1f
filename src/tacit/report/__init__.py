"""From an audit's result to one page."""

from tacit.report.page import PAGE, render_page

__all__ = ["PAGE", "render_page"]
