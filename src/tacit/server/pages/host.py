"""The host's pages: all competitions, what was done on the server, and a new competition."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.settings import Choice, choices_of, settings_of, to_words
from tacit.server.errors import status_of
from tacit.server.pages.forms import HostForm, moment_of, text_of
from tacit.server.pages.view import go_to, render
from tacit.server.pages.visitor import engine_of, host_of
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
    "zone": "UTC",
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
        return render(
            request,
            "host.html",
            competitions=engine.competitions(),
            actions=engine.actions()[:50],
            now=engine.settings.clock(),
        )

    @routes.get("/host/new")
    def new_form(request: Request) -> Response:
        host_of(request)
        return render(request, "new.html", given=_DEFAULTS, error=None)

    @routes.post("/host/new")
    def create(request: Request, form: HostForm) -> Response:
        given = {name: text_of(form, name) for name in _DEFAULTS}
        try:
            terms = _terms(given)
            features, labels = (form.get(name, b"") for name in ("features", "labels"))
            if not features or not labels:
                raise InvalidInput("features and labels must both be given as CSV files; choose them again")
            engine_of(request).create_competition(terms, features=features, labels=labels)
        except TacitError as refusal:
            return render(request, "new.html", status=status_of(refusal), given=given, error=str(refusal))
        return go_to(f"/c/{terms.slug}/host")


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
        opens=moment_of(given, "opens"),
        closes=moment_of(given, "closes"),
        public=given["public"] == "yes",
    )
