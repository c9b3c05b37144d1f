"""The host's pages: create a competition, invite teams, look at flags and at what was spent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.scores.metrics import LogLoss
from tacit.server.errors import status_of
from tacit.server.pages.forms import HostForm, text_of
from tacit.server.pages.view import go_to, render
from tacit.server.pages.visitor import engine_of, host_of
from tacit.server.rules import Rules
from tacit.server.terms import CompetitionTerms

__all__ = ["add_host_pages"]

_RECOMMENDED = Rules(metric=LogLoss()).to_json()
_DEFAULTS = {
    "metric": "log_loss",
    "classes": "2",
    "floor": "0.01",
    "class_floor": "",
    "policy": "laplace",
    "epsilon": f"{_RECOMMENDED['policy']['epsilon']:g}",
    "decimals": "3",
    "step": "0.01",
    "threshold": "0.02",
    "refreshes": "10",
    "per_team": f"{_RECOMMENDED['per_team']}",
    "per_day": f"{_RECOMMENDED['per_day']}",
    "public_fraction": f"{_RECOMMENDED['public_fraction']:g}",
    "final_epsilon": f"{_RECOMMENDED['final']['epsilon']:g}",
    "most_teams": "20",
    "public": "yes",
    "slug": "",
    "name": "",
    "description": "",
    "opens": "",
    "closes": "",
}
_OF_METRIC = {"log_loss": ("classes", "floor"), "auc": ("classes", "class_floor"), "f1": ("classes", "class_floor")}
_OF_POLICY = {
    "rounded": ("decimals",),
    "ladder": ("step",),
    "laplace": ("epsilon",),
    "thresholdout": ("epsilon", "threshold", "refreshes"),
}
_WHOLE = {"classes", "class_floor", "decimals", "refreshes", "per_team", "per_day", "most_teams"}


def add_host_pages(routes: APIRouter) -> None:
    """Add the pages of the host."""

    @routes.get("/host")
    def overview(request: Request) -> Response:
        host_of(request)
        engine = engine_of(request)
        return render(request, "host.html", competitions=engine.competitions(), now=engine.settings.clock())

    @routes.get("/host/new")
    def new_form(request: Request) -> Response:
        host_of(request)
        return render(request, "new.html", given=_DEFAULTS, error=None)

    @routes.post("/host/new")
    def create(request: Request, form: HostForm) -> Response:
        given = {name: text_of(form, name) for name in _DEFAULTS}
        try:
            terms = _terms(given)
            files = {name: form.get(name, b"") for name in ("features", "labels")}
            if not all(files.values()):
                raise InvalidInput("features and labels must both be given as CSV files; choose them again")
            engine_of(request).create_competition(terms, **files)
        except TacitError as refusal:
            return render(request, "new.html", status=status_of(refusal), given=given, error=str(refusal))
        return go_to(f"/c/{terms.slug}/host")

    @routes.get("/c/{slug}/host")
    def manage(request: Request, slug: str) -> Response:
        host_of(request)
        return _manage_page(request, slug)

    @routes.post("/c/{slug}/invites")
    def invite(request: Request, slug: str, form: HostForm) -> Response:
        del form
        return _manage_page(request, slug, invite=engine_of(request).invite(slug))

    @routes.post("/c/{slug}/final")
    def finish(request: Request, slug: str, form: HostForm) -> Response:
        del form
        engine_of(request).finish(slug)
        return go_to(f"/c/{slug}")


def _rules_document(given: dict[str, str]) -> dict[str, Any]:
    """Return the rules of a filled form, as :meth:`Rules.from_json` reads them."""
    of_metric = _OF_METRIC.get(given["metric"], () if given["metric"] in ("mae", "rmse") else ("classes",))
    of_policy = _OF_POLICY.get(given["policy"], ())
    final = {"name": "laplace", "epsilon": _number(given, "final_epsilon")} if given["final_epsilon"] else None
    return {
        "metric": {"name": given["metric"]} | {name: _number(given, name) for name in of_metric if given[name]},
        "policy": {"name": given["policy"]} | {name: _number(given, name) for name in of_policy},
        "per_team": _number(given, "per_team"),
        "per_day": _number(given, "per_day") if given["per_day"] else None,
        "public_fraction": _number(given, "public_fraction"),
        "final": final,
    }


def _terms(given: dict[str, str]) -> CompetitionTerms:
    return CompetitionTerms(
        slug=given["slug"],
        name=given["name"],
        description=given["description"],
        rules=Rules.from_json(_rules_document(given)),
        opens=_moment(given, "opens"),
        closes=_moment(given, "closes"),
        most_teams=int(_number(given, "most_teams")),
        public=given["public"] == "yes",
    )


def _number(given: dict[str, str], name: str) -> float | int:
    try:
        return int(given[name]) if name in _WHOLE else float(given[name])
    except ValueError:
        kind = "an integer" if name in _WHOLE else "a number"
        raise InvalidInput(f"{name} must be {kind}, got {given[name][:40]!r}") from None


def _moment(given: dict[str, str], name: str) -> datetime | None:
    if not given[name]:
        return None
    try:
        return datetime.fromisoformat(given[name]).replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(f"{name} must be a date and time as 2026-12-31T23:59, got {given[name][:40]!r}") from None


def _manage_page(request: Request, slug: str, *, invite: str | None = None) -> Response:
    engine = engine_of(request)
    competition = engine.competition(slug)
    return render(
        request,
        "manage.html",
        competition=competition,
        teams=engine.teams(slug),
        flags=engine.flags(slug)[:200],
        spend=engine.spend(slug),
        invite=invite,
        split=engine.board(slug).rules.is_split,
        waits=competition.closes is not None and not competition.is_closed(engine.settings.clock()),
    )
