"""The host's pages: create a competition, invite teams, look at flags and at what was spent."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.settings import Choice, choices_of, read_value, settings_of, to_words
from tacit.server.errors import status_of
from tacit.server.hosting import CompetitionChange
from tacit.server.pages.forms import HostForm, text_of
from tacit.server.pages.view import go_to, render
from tacit.server.pages.visitor import engine_of, host_of
from tacit.server.records import Standing
from tacit.server.rules import CompetitionPlan, Rules
from tacit.server.terms import CompetitionTerms

__all__ = ["add_host_pages"]

_RECOMMENDED = Rules(plan=CompetitionPlan())
_DEFAULTS = {
    "metric": "log_loss",
    "classes": "",
    "floor": "0.01",
    "class_floor": "",
    "policy": _RECOMMENDED.policy.name,
    "epsilon": "20",
    "decimals": "3",
    "step": "0.01",
    "threshold": "0.02",
    "refreshes": "10",
    "submissions": to_words(_RECOMMENDED.plan.submissions),
    "per_day": to_words(_RECOMMENDED.per_day),
    "public_fraction": to_words(_RECOMMENDED.public_fraction),
    "final_epsilon": to_words(_RECOMMENDED.final_epsilon),
    "teams": to_words(_RECOMMENDED.teams),
    "together": to_words(_RECOMMENDED.together),
    "rarest": to_words(_RECOMMENDED.rarest),
    "live": _RECOMMENDED.live,
    "public": "yes",
    "slug": "",
    "name": "",
    "description": "",
    "opens": "",
    "closes": "",
}
_KINDS = {one.name: one.kind for one in settings_of(CompetitionPlan)}
_OF_RULES = ("per_day", "public_fraction", "teams", "together")
_OF_TOGETHER = ("rarest", "live")


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

    @routes.post("/c/{slug}/standing")
    def set_standing(request: Request, slug: str, form: HostForm) -> Response:
        engine = engine_of(request)
        wanted = read_value(Standing, text_of(form, "standing"), field="standing")
        engine.set_standing(engine.team(slug, text_of(form, "team")), wanted, reason=text_of(form, "reason"))
        return go_to(f"/c/{slug}/host#invites")

    @routes.post("/c/{slug}/token")
    def reissue(request: Request, slug: str, form: HostForm) -> Response:
        engine = engine_of(request)
        return _manage_page(request, slug, token=engine.reissue_token(engine.team(slug, text_of(form, "team"))))

    @routes.post("/c/{slug}/revoke")
    def revoke(request: Request, slug: str, form: HostForm) -> Response:
        del form
        engine_of(request).revoke_invites(slug)
        return go_to(f"/c/{slug}/host#actions")

    @routes.post("/c/{slug}/edit")
    def edit(request: Request, slug: str, form: HostForm) -> Response:
        given = {name: text_of(form, name) for name in ("name", "description", "opens", "closes")}
        dates = {name: _moment(given, name) for name in ("opens", "closes")}
        change = CompetitionChange(name=given["name"] or None, description=given["description"], **dates)
        engine_of(request).change_competition(slug, change)
        return go_to(f"/c/{slug}/host#actions")

    @routes.post("/c/{slug}/final")
    def finish(request: Request, slug: str, form: HostForm) -> Response:
        del form
        engine_of(request).finish(slug)
        return go_to(f"/c/{slug}")


def _rules(given: dict[str, str]) -> Rules:
    """Return the rules of a filled form; an empty field is none, or the default of a metric or policy."""
    written: dict[str, Any] = {name: value or None for name, value in given.items()}
    plan = CompetitionPlan.from_json(
        {
            "metric": _choice(given, "metric"),
            "policy": _choice(given, "policy"),
            "epsilon": written["epsilon"] if _takes_epsilon(_chosen(given, "policy")) else None,
            **{name: written[name] for name in ("classes", "submissions")},
        }
    )
    live = plan.bound_policy.guarantee()
    final: dict[str, Any] = {"final": "laplace", "final_epsilon": written["final_epsilon"]}
    if not written["final_epsilon"]:  # one more score like the live ones
        final = {"final": plan.policy, "final_epsilon": live.epsilon if isinstance(live, Guarantee) else None}
    shared: dict[str, Any] = {name: given[name] or _DEFAULTS[name] for name in _OF_TOGETHER}
    return Rules(plan=plan, **final, **shared, **{name: written[name] for name in _OF_RULES})


def _choice(given: dict[str, str], field: str) -> dict[str, str]:
    """Return a metric or policy with those of its parameters that are filled in."""
    chosen = _chosen(given, field)
    names = [] if chosen is None else [one.name for one in settings_of(chosen) if one.name != field]
    return {"name": given[field], **{name: given[name] for name in names if given.get(name)}}


def _chosen(given: dict[str, str], field: str) -> type[Choice] | None:
    return next((one for one in choices_of(_KINDS[field]) if one.name == given[field]), None)


def _takes_epsilon(policy: type[Choice] | None) -> bool:
    return policy is not None and "epsilon" in {one.name for one in fields(policy)}


def _terms(given: dict[str, str]) -> CompetitionTerms:
    return CompetitionTerms(
        slug=given["slug"],
        name=given["name"],
        description=given["description"],
        rules=_rules(given),
        opens=_moment(given, "opens"),
        closes=_moment(given, "closes"),
        public=given["public"] == "yes",
    )


def _moment(given: dict[str, str], name: str) -> datetime | None:
    if not given[name]:
        return None
    try:
        return datetime.fromisoformat(given[name]).replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(f"{name} must be a date and time as 2026-12-31T23:59, got {given[name][:40]!r}") from None


def _manage_page(request: Request, slug: str, *, invite: str | None = None, token: str | None = None) -> Response:
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
        token=token,
        actions=engine.actions(slug)[:200],
        split=engine.board(slug).rules.is_split,
        waits=competition.closes is not None and not competition.is_closed(engine.settings.clock()),
    )
