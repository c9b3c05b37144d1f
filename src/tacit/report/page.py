"""One self-contained page from one audit result: draws, never computes."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.audit import AuditResult
from tacit.audit.compare import compare
from tacit.report.chart import draw_curve, draw_heat, draw_rates

__all__ = ["render_page"]


def render_page(result: AuditResult, *, earlier: AuditResult | None = None) -> str:
    """Return the report as HTML that needs no network.

    Parameters
    ----------
    result
        What was found.
    earlier
        Another run, shown beside it.

    Examples
    --------
    >>> page = render_page(AuditResult(findings=(), version="0.1.0", date="2026-01-01", seed=0))
    >>> page.startswith("<!doctype html>"), "http" in page.replace("http://www.w3.org", "")
    (True, False)
    """
    environment = Environment(loader=PackageLoader("tacit.report"), autoescape=True, undefined=StrictUndefined)
    environment.filters["percent"] = lambda share: f"{share:.1%}"
    surfaces = tuple(dict.fromkeys(finding.surface for finding in (*result.findings, *result.curve)))
    return environment.get_template("page.html").render(
        result=result,
        earlier=earlier,
        pairs=() if earlier is None else compare(earlier, result),
        surfaces=surfaces,
        rates=draw_rates(result.findings),
        heat=draw_heat(result.curve) if result.curve else None,
        curves={
            name: draw_curve([finding for finding in result.curve if finding.surface == name])
            for name in surfaces
            if any(finding.surface == name for finding in result.curve)
        },
    )
