"""The pages on which the host and organizers run a competition: teams, texts, dates, state, and its end."""

from __future__ import annotations

from typing import get_args

from fastapi import APIRouter, Request, Response

from tacit.privacy.settings import read_value
from tacit.server.api import export_answer
from tacit.server.hosting import CompetitionChange, CompetitionState
from tacit.server.pages.forms import ManagerForm, OwnerForm, check_sure, moment_of, text_of
from tacit.server.pages.view import go_to, render
from tacit.server.pages.visitor import engine_of, runner_of
from tacit.server.records import Host, Role, Standing

__all__ = ["add_manage_pages"]


def add_manage_pages(routes: APIRouter) -> None:
    """Add the page of a competition's host, and what its forms do."""

    @routes.get("/c/{slug}/host")
    def manage(request: Request, slug: str) -> Response:
        runner_of(request, slug, "viewer")
        return _page(request, slug)

    @routes.get("/c/{slug}/export.{form}")
    def export(request: Request, slug: str, form: str, predictions: bool = False) -> Response:
        runner_of(request, slug, "viewer")
        return export_answer(engine_of(request), slug, archive=form == "zip", predictions=predictions)

    for add in (_add_teams, _add_texts, _add_owners):
        add(routes)


def _add_teams(routes: APIRouter) -> None:
    @routes.post("/c/{slug}/invites")
    def invite(request: Request, slug: str, form: ManagerForm) -> Response:
        del form
        code = engine_of(request).invite(slug, by=runner_of(request, slug, "manager"))
        return _page(request, slug, secret=("New invite, for one team", code))

    @routes.post("/c/{slug}/revoke")
    def revoke(request: Request, slug: str, form: ManagerForm) -> Response:
        check_sure(form)
        engine_of(request).desk.revoke_invites(slug, by=runner_of(request, slug, "manager"))
        return go_to(f"/c/{slug}/host#actions")

    @routes.post("/c/{slug}/standing")
    def set_standing(request: Request, slug: str, form: ManagerForm) -> Response:
        engine = engine_of(request)
        wanted = read_value(Standing, text_of(form, "standing"), field="standing")
        team, by = engine.team(slug, text_of(form, "team")), runner_of(request, slug, "manager")
        engine.desk.set_standing(team, wanted, reason=text_of(form, "reason"), by=by)
        return go_to(f"/c/{slug}/host#teams")

    @routes.post("/c/{slug}/token")
    def reissue(request: Request, slug: str, form: ManagerForm) -> Response:
        check_sure(form)
        engine = engine_of(request)
        team, by = engine.team(slug, text_of(form, "team")), runner_of(request, slug, "manager")
        secret = engine.desk.reissue_token(team, by=by)
        return _page(request, slug, secret=(f"New token of {team.name}; the earlier one is void", secret))


def _add_texts(routes: APIRouter) -> None:
    @routes.post("/c/{slug}/edit")
    def edit(request: Request, slug: str, form: ManagerForm) -> Response:
        given = {name: text_of(form, name) for name in ("name", "description", "opens", "closes", "zone")}
        dates = {name: moment_of(given, name) for name in ("opens", "closes")}
        change = CompetitionChange(name=given["name"] or None, description=given["description"], **dates)
        engine_of(request).desk.change_competition(slug, change, by=runner_of(request, slug, "manager"))
        return go_to(f"/c/{slug}/host#actions")

    @routes.post("/c/{slug}/files")
    def attach(request: Request, slug: str, form: ManagerForm) -> Response:
        by = runner_of(request, slug, "manager")
        engine_of(request).desk.attach(slug, text_of(form, "name"), form.get("file", b""), by=by)
        return go_to(f"/c/{slug}/host#files")

    @routes.post("/c/{slug}/files/remove")
    def detach(request: Request, slug: str, form: ManagerForm) -> Response:
        by = runner_of(request, slug, "manager")
        engine_of(request).desk.detach(slug, text_of(form, "name"), by=by)
        return go_to(f"/c/{slug}/host#files")


def _add_owners(routes: APIRouter) -> None:
    @routes.post("/c/{slug}/state")
    def set_state(request: Request, slug: str, form: OwnerForm) -> Response:
        wanted = read_value(CompetitionState, text_of(form, "state"), field="state")
        closes = moment_of({"closes": text_of(form, "closes")}, "closes") if wanted == "open" else None
        reason, by = text_of(form, "reason"), runner_of(request, slug, "owner")
        engine_of(request).desk.set_state(slug, wanted, closes=closes, reason=reason, by=by)
        return go_to(f"/c/{slug}/host#state")

    @routes.post("/c/{slug}/organizers")
    def add_organizer(request: Request, slug: str, form: OwnerForm) -> Response:
        name, role = text_of(form, "name"), read_value(Role, text_of(form, "role"), field="role")
        by = runner_of(request, slug, "owner")
        made, token = engine_of(request).desk.add_organizer(slug, name=name, role=role, by=by)
        return _page(request, slug, secret=(f"Token of {made.title}", token))

    @routes.post("/c/{slug}/organizers/remove")
    def remove_organizer(request: Request, slug: str, form: OwnerForm) -> Response:
        by = runner_of(request, slug, "owner")
        engine_of(request).desk.remove_organizer(slug, text_of(form, "name"), by=by)
        return go_to(f"/c/{slug}/host#organizers")

    @routes.post("/c/{slug}/final")
    def finish(request: Request, slug: str, form: OwnerForm) -> Response:
        check_sure(form)
        engine_of(request).finish(slug, by=runner_of(request, slug, "owner"))
        return go_to(f"/c/{slug}")

    @routes.post("/c/{slug}/delete")
    def delete(request: Request, slug: str, form: OwnerForm) -> Response:
        by = runner_of(request, slug, "owner")
        engine_of(request).desk.delete_competition(slug, confirm=text_of(form, "confirm"), by=by)
        return go_to("/host" if isinstance(by, Host) else "/")


def _page(request: Request, slug: str, *, secret: tuple[str, str] | None = None) -> Response:
    """Return the page; ``secret`` is the name and the text of what it shows only once."""
    engine = engine_of(request)
    competition = engine.competition(slug)
    return render(
        request,
        "manage.html",
        competition=competition,
        teams=engine.teams(slug),
        organizers=engine.organizers(slug),
        attachments=engine.attachments(slug),
        roles=get_args(Role),
        flags=engine.flags(slug, most=200),
        spend=engine.spend(slug),
        secret=secret,
        actions=engine.actions(slug)[:200],
        split=engine.board(slug).rules.is_split,
        closed=competition.is_closed(engine.settings.clock()),
    )
