"""What a host, a team and anyone may do, on both databases."""

import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select, update

from tacit.privacy import Guarantee, Unit
from tacit.privacy.errors import InvalidInput, LedgerError, TacitError
from tacit.privacy.ledger import Ledger
from tacit.scores.inspections import SubmissionFinding
from tacit.scores.metrics import CustomMetric, LogLoss, Rmse
from tacit.scores.policies import Exact, Ladder, Laplace, Rounded, Thresholdout
from tacit.server import CompetitionPlan, CompetitionTerms, Rules, ScoringEngine
from tacit.server import engine as engine_module
from tacit.server.accounts import LedgerAccounts
from tacit.server.copies import clear_copies
from tacit.server.demo import offer_titanic
from tacit.server.errors import BudgetSpent, Conflict, Forbidden, NotFound, Unavailable
from tacit.server.inspection import _store
from tacit.server.key import VARIABLE, ServerKey
from tacit.server.records import AnonymousCaller, Host
from tacit.server.schema import SUBMISSION, TEAM
from tacit.server.tokens import hash_token
from tests.server.rules import ledger_of, rules_of

ROWS = 40
TRUTH = np.array([1.0 if row % 4 == 1 else 0.0 for row in range(ROWS)])


def guess(seed):
    return np.random.default_rng(seed).integers(0, 2, ROWS).astype(float)


def open_rules(policy, **parts):
    """Rules for five submissions on any day that score all rows."""
    return rules_of(
        policy=policy, **{"submissions": 5, "per_day": None, "public_fraction": 1.0, "final": None, **parts}
    )


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestTokens:
    def test_each_token_says_who_holds_it(self, engine, make, join):
        make(engine)
        joined = join(engine)
        assert engine.identify(engine.new_admin_token()) == Host()
        assert engine.identify(joined.token) == joined.team
        assert engine.identify("tacit_team_guessed") == AnonymousCaller()
        assert engine.identify(None) == AnonymousCaller()

    def test_teams_are_known_without_asking_the_database(self, engine, make, join, monkeypatch):
        make(engine)
        joined = join(engine)
        engine.close()
        again = ScoringEngine.open(engine.settings)
        monkeypatch.setattr(engine._database.__class__, "reading", lambda _: pytest.fail("the database was asked"))
        assert engine.knows(joined.token)
        assert again.knows(joined.token)
        assert again.identify(joined.token) == joined.team
        monkeypatch.undo()
        again.close()

    def test_a_new_admin_token_voids_the_old_one(self, engine):
        old = engine.new_admin_token()
        new = engine.new_admin_token()
        assert engine.identify(old) == AnonymousCaller()
        assert engine.identify(new) == Host()

    def test_tokens_are_not_in_the_database(self, sqlite_engine, make, join, sqlite_settings):
        make(sqlite_engine)
        token, admin, code = join(sqlite_engine).token, sqlite_engine.new_admin_token(), sqlite_engine.invite("coins")
        sqlite_engine.close()
        kept = b"".join(path.read_bytes() for path in sqlite_settings.folder.iterdir())
        assert b"Team 1" in kept, "control: what is stored is found"
        for secret in (token, admin, code):
            assert secret.encode() not in kept


class TestStartingTogether:
    """Two servers of one folder that begin at the same moment."""

    def test_the_ledger_is_made_once(self, sqlite_settings, monkeypatch):
        ScoringEngine.open(sqlite_settings).close()
        answers, key = iter([False, True]), ServerKey.find(sqlite_settings.key_location)
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "exists", staticmethod(lambda _: next(answers)))
            patched.setattr(Ledger, "create", lambda *_, **__: (_ for _ in ()).throw(InvalidInput("exists already")))
            LedgerAccounts(sqlite_settings.ledger_location, key=key)
            answers = iter([False, False])
            with pytest.raises(InvalidInput, match="exists already"):
                LedgerAccounts(sqlite_settings.ledger_location, key=key)

    def test_the_demo_is_made_once(self, sqlite_settings, monkeypatch):
        first, second = ScoringEngine.open(sqlite_settings), ScoringEngine.open(sqlite_settings)
        seen = iter([()])  # before the first made it
        offer_titanic(first)
        monkeypatch.setattr(second, "competitions", lambda: next(seen, first.competitions()))
        offer_titanic(second)
        assert [competition.slug for competition in second.competitions()] == ["titanic"]
        first.close()
        second.close()

    def test_the_admin_token_that_was_shown_stays_good(self, engine, settings):
        second = ScoringEngine.open(settings)
        token = engine.first_admin_token()
        assert second.first_admin_token() is None
        assert second.identify(token) == engine.identify(token) == Host()
        second.close()

    def test_a_key_that_was_made_meanwhile_is_there(self, sqlite_settings, monkeypatch):
        ScoringEngine.open(sqlite_settings).close()
        answers = iter([False, True])
        monkeypatch.setattr(ServerKey, "exists", staticmethod(lambda _: next(answers)))
        ScoringEngine.open(sqlite_settings).close()


class TestJoining:
    def test_an_invite_is_good_once(self, engine, make):
        make(engine)
        code = engine.invite("coins")
        engine.register(code, name="First")
        with pytest.raises(Conflict, match="used already"):
            engine.register(code, name="Second")

    def test_names_are_different(self, engine, make):
        make(engine)
        engine.register(engine.invite("coins"), name="First")
        with pytest.raises(Conflict, match="another team has this name"):
            engine.register(engine.invite("coins"), name="First")

    def test_no_more_teams_than_the_ledger_was_asked_for(self, engine, make, join):
        make(engine, teams=2)
        join(engine)
        join(engine)
        with pytest.raises(Forbidden, match="all 2 places are taken"):
            join(engine)
        assert engine.spend("coins").left == 0

    @pytest.mark.parametrize("name", ["", "two\nlines", "x" * 81, "\x00"])
    def test_names_are_one_line(self, engine, make, name):
        make(engine)
        with pytest.raises(InvalidInput, match="team name"):
            engine.register(engine.invite("coins"), name=name)

    def test_two_processes_do_not_give_the_last_place_twice(self, settings, make, monkeypatch):
        first, second = ScoringEngine.open(settings), ScoringEngine.open(settings)
        make(first, rules=open_rules(Exact(), teams=1))
        entered, charge = threading.Event(), engine_module.reserve

        def reserve_slowly(*args, **named):
            entered.set()
            time.sleep(0.5)  # the other process is at the competition's lock by then
            return charge(*args, **named)

        monkeypatch.setattr(engine_module, "reserve", reserve_slowly)
        codes = [first.invite("coins"), first.invite("coins")]
        slow = threading.Thread(target=first.register, args=(codes[0],), kwargs={"name": "First"})
        slow.start()
        entered.wait()
        with pytest.raises(Forbidden, match="all 1 places are taken"):
            second.register(codes[1], name="Second")
        slow.join()
        assert [team.name for team in first.teams("coins")] == ["First"]
        first.close()
        second.close()

    def test_the_whole_budget_is_charged_before_the_team_exists(self, engine, make, join):
        make(engine)
        assert engine.spend("coins").spent == 0
        join(engine)
        assert engine.spend("coins").spent == 2.5

    def test_a_charge_whose_answers_may_have_left_cannot_be_voided(self, engine, make, join, settings):
        make(engine)
        join(engine)
        ledger = ledger_of(settings)
        (entry,) = ledger.statement("coins").entries
        with pytest.raises(LedgerError, match="was delivered, so it stays spent"):
            ledger.void(entry.id, reason="the host wants it back")
        assert ledger.statement("coins").spent == 2.5

    def test_a_team_charged_by_an_earlier_server_is_not_charged_again(self, engine, make, settings):
        """Charges had no keys once: a server was killed before the team was stored, and a newer one goes on."""
        make(engine)
        codes = [engine.invite("coins") for _ in range(2)]
        ledger = ledger_of(settings)
        purpose = f"coins: 5 scores of the team with invite {hash_token(codes[0]).hex()[:16]}"
        ledger.charge("coins", Guarantee(unit=Unit.LABEL, epsilon=2.5), purpose=purpose)
        for code in codes:
            engine.register(code, name=f"Team {codes.index(code)}")
        assert len(ledger.statement("coins").entries) == 2, "one for each team"

    def test_a_kill_after_the_charge_does_not_charge_again(self, engine, make, monkeypatch, settings):
        make(engine)
        code = engine.invite("coins")
        with monkeypatch.context() as patched:
            patched.setattr(ServerKey, "seal", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                engine.register(code, name="First")
        assert engine.teams("coins") == ()
        assert engine.spend("coins").spent == 2.5
        engine.register(code, name="First")
        assert engine.spend("coins").spent == 2.5
        assert len(ledger_of(settings).statement("coins").entries) == 1


class TestSubmitting:
    def test_a_score_is_released_and_recorded(self, engine, make, join):
        make(engine, rules=open_rules(Rounded(decimals=2)))
        team = join(engine).team
        score = engine.submit(team, guess(0)).result()
        assert score.text == f"{(guess(0) == TRUTH).mean():.2f}"
        assert engine.own_scores(team) == (score,)
        assert engine.history("coins") == (score,)
        assert engine.remaining(team).total == 4

    def test_the_same_id_gets_the_same_answer(self, engine, make, join):
        make(engine)
        team = join(engine).team
        first = engine.submit(team, guess(0), id="a").result()
        assert engine.submit(team, guess(0), id="a").result() == first
        assert engine.remaining(team).total == 4
        with pytest.raises(Conflict, match="used for other predictions"):
            engine.submit(team, guess(1), id="a").result()

    def test_the_same_id_twice_in_one_group(self, engine, make, join):
        make(engine)
        team = join(engine).team
        with engine._lock:  # the writer waits, so that all of them meet in one group
            answers = [engine.submit(team, guess(0), id="a") for _ in range(4)]
        assert len({answer.result() for answer in answers}) == 1
        assert engine.remaining(team).total == 4

    def test_the_same_predictions_get_the_same_noise_and_cost_the_labels_nothing(self, engine, make, join):
        make(engine)
        first, second = join(engine).team, join(engine).team
        told = {engine.submit(team, guess(0)).result().released for team in (first, first, second)}
        assert len(told) == 1
        with engine._database.reading() as connection:
            drawn = connection.execute(select(TEAM.c.drawn).order_by(TEAM.c.id)).scalars().all()
        assert drawn == [1, 0]
        others = {engine.submit(second, guess(seed)).result().released for seed in range(1, 5)}
        assert len(others | told) > 1, "control: other predictions get other noise"

    def test_teams_with_a_ladder_do_not_share_answers(self, engine, make, join):
        make(engine, rules=open_rules(Ladder(step=0.01)))
        better, worse = join(engine).team, join(engine).team
        engine.submit(better, TRUTH).result()
        engine.submit(better, 1 - TRUTH).result()  # the Ladder shows the best again
        assert engine.submit(worse, 1 - TRUTH).result().released == pytest.approx(0.0)

    def test_the_budget_of_a_team(self, engine, make, join):
        make(engine, rules=open_rules(Exact()))
        team = join(engine).team
        for seed in range(5):
            engine.submit(team, guess(seed)).result()
        with pytest.raises(BudgetSpent, match="all 5 submissions of this team are used"):
            engine.submit(team, guess(9)).result()
        assert len(engine.own_scores(team)) == 5

    def test_the_budget_of_a_day(self, engine, make, join, clock):
        make(engine, rules=open_rules(Exact(), submissions=5, per_day=2))
        team = join(engine).team
        for seed in range(2):
            engine.submit(team, guess(seed)).result()
        with pytest.raises(BudgetSpent, match="today 2 of 2"):
            engine.submit(team, guess(2)).result()
        assert engine.remaining(team).now == 0
        clock.turn(days=1)
        assert engine.remaining(team).now == 2
        engine.submit(team, guess(2)).result()

    def test_a_clock_that_goes_back_does_not_begin_a_day_anew(self, engine, make, join, clock):
        make(engine, rules=open_rules(Exact(), submissions=10, per_day=2))
        team = join(engine).team
        for day in range(2):
            clock.turn(days=day)
            for seed in range(2):
                engine.submit(team, guess(10 * day + seed)).result()
        for days in (-1, 1):
            clock.turn(days=days)
            assert engine.remaining(team).today == 0
            with pytest.raises(BudgetSpent, match="today 2 of 2"):
                engine.submit(team, guess(99)).result()
        clock.turn(days=1)
        assert engine.remaining(team).today == 2

    def test_many_at_once_never_exceed_the_budget(self, engine, make, join):
        make(engine, rules=open_rules(Laplace(epsilon=0.1), submissions=7, per_day=None))
        teams = [join(engine).team for _ in range(3)]
        outcomes = []

        def hammer(worker):
            for turn in range(6):
                for team in teams:
                    try:
                        outcomes.append(engine.submit(team, guess(100 * worker + turn)).result())
                    except BudgetSpent as refusal:
                        outcomes.append(refusal)

        threads = [threading.Thread(target=hammer, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcomes) == 4 * 6 * 3
        for team in teams:
            assert [score.number for score in engine.own_scores(team)] == list(range(1, 8))
        assert sum(not isinstance(outcome, BudgetSpent) for outcome in outcomes) == 21

    def test_a_score_beyond_the_reservation_is_never_shown(self, engine, make, join):
        make(engine)
        team = join(engine).team
        with engine._database.writing() as connection:
            connection.execute(update(TEAM).values(reserved=1))
        engine.submit(team, guess(0)).result()
        with pytest.raises(BudgetSpent, match="charged to the ledger"):
            engine.submit(team, guess(1)).result()
        assert len(engine.own_scores(team)) == 1

    @pytest.mark.parametrize("predictions", [[0.0] * 39, [0.5] * 40, [float("nan")] * 40, [[0.0, 1.0]] * 40])
    def test_wrong_predictions_cost_nothing(self, engine, make, join, predictions):
        make(engine)
        team = join(engine).team
        with pytest.raises(InvalidInput, match="predictions must"):
            engine.submit(team, predictions)
        assert engine.remaining(team).total == 5

    def test_a_failing_database_shows_nothing(self, sqlite_engine, make, join, monkeypatch):
        make(sqlite_engine)
        team = join(sqlite_engine).team
        with monkeypatch.context() as patched:
            patched.setattr("tacit.server.submission._SubmissionGroup._write", lambda _: 1 / 0)
            with pytest.raises(Unavailable, match="nothing was shown"):
                sqlite_engine.submit(team, guess(0)).result()
        assert sqlite_engine.own_scores(team) == ()
        assert sqlite_engine.submit(team, guess(0)).result().number == 1

    def test_a_client_that_goes_away_does_not_stop_the_writer(self, sqlite_engine, make, join):
        make(sqlite_engine)
        team = join(sqlite_engine).team
        with sqlite_engine._lock:
            answer = sqlite_engine.submit(team, guess(0))
            assert not answer.cancel()
        assert answer.result().number == 1
        assert sqlite_engine.submit(team, guess(1)).result().number == 2

    def test_after_closing_nothing_is_taken(self, sqlite_settings, make, join):
        engine = ScoringEngine.open(sqlite_settings)
        make(engine)
        team = join(engine).team
        engine.close()
        with pytest.raises(Unavailable, match="shutting down"):
            engine.submit(team, guess(0))


class TestDates:
    def test_submissions_are_taken_between_the_dates(self, engine, make, join, clock):
        make(engine, opens=clock.now + timedelta(days=1), closes=clock.now + timedelta(days=2))
        team = join(engine).team
        with pytest.raises(Forbidden, match="opens at"):
            engine.submit(team, guess(0)).result()
        clock.turn(days=1)
        engine.submit(team, guess(0)).result()
        clock.turn(days=1)
        with pytest.raises(Forbidden, match="closed at"):
            engine.submit(team, guess(1)).result()
        with pytest.raises(Forbidden, match="closed"):
            join(engine)

    def test_dates_are_in_order_and_have_a_zone(self, clock):
        rules = open_rules(Exact())
        with pytest.raises(InvalidInput, match="closes must be later"):
            CompetitionTerms(slug="x", name="X", rules=rules, opens=clock.now, closes=clock.now)
        with pytest.raises(InvalidInput, match="time zone"):
            CompetitionTerms(slug="x", name="X", rules=rules, opens=clock.now.replace(tzinfo=None))


class TestState:
    def test_processes_may_start_for_the_first_time_at_once(self, settings, monkeypatch):
        seal, opened = ServerKey.seal, []

        def seal_slowly(key, plain, *, place):
            time.sleep(0.2)  # the others have looked for the row by then
            return seal(key, plain, place=place)

        monkeypatch.setattr(ServerKey, "seal", seal_slowly)
        starts = [threading.Thread(target=lambda: opened.append(ScoringEngine.open(settings))) for _ in range(4)]
        for start in starts:
            start.start()
        for start in starts:
            start.join()
        for engine in opened:
            engine.close()
        assert len(opened) == 4

    def test_the_ladder_remembers_over_a_restart(self, settings, make, join):
        engine = ScoringEngine.open(settings)
        make(engine, rules=open_rules(Ladder(step=0.01)))
        team = join(engine).team
        best = engine.submit(team, TRUTH).result()
        engine.close()
        engine = ScoringEngine.open(settings)
        assert engine.submit(team, 1 - TRUTH).result().released == best.released
        engine.close()

    def test_thresholdout_reserves_its_refreshes_and_stops(self, engine, make, join):
        policy = Thresholdout(epsilon=5.0, threshold=0.01, refreshes=2)
        make(engine, rules=open_rules(policy, submissions=50, per_day=None))
        team = join(engine).team
        assert engine.spend("coins").spent == 10.0
        answers = [engine.submit(team, TRUTH if seed % 2 else 1 - TRUTH) for seed in range(50)]
        refusals = [answer.exception() for answer in answers]
        assert isinstance(refusals[-1], BudgetSpent)
        assert "refreshes are spent" in str(refusals[-1])
        with engine._database.reading() as connection:
            assert connection.execute(select(TEAM.c.drawn)).scalar() <= 2

    def test_another_key_is_refused(self, settings, tmp_path):
        ScoringEngine.open(settings).close()
        ServerKey.find(tmp_path / "other.key")
        with pytest.raises(TacitError, match="does not open with this key"):
            ScoringEngine.open(replace(settings, key_file=tmp_path / "other.key"))

    def test_a_key_that_is_gone_is_not_made_anew(self, settings):
        ScoringEngine.open(settings).close()
        settings.key_location.unlink()
        before = contents(settings.folder)
        with pytest.raises(InvalidInput, match=re.escape(f"key file {settings.key_location} is missing")):
            ScoringEngine.open(settings)
        assert contents(settings.folder) == before

    def test_a_wrong_folder_beside_a_database_in_use_is_not_made(self, settings, tmp_path):
        ScoringEngine.open(settings).close()
        wrong = replace(settings, folder=tmp_path / "wrong", database=settings.database_location)
        with pytest.raises(InvalidInput, match=r"wrong/labels\.key is missing"):
            ScoringEngine.open(wrong)
        assert not wrong.folder.exists()

    def test_a_key_that_moved_to_the_environment_is_no_longer_a_file(self, settings, monkeypatch):
        ScoringEngine.open(settings).close()
        monkeypatch.setenv(VARIABLE, settings.key_location.read_text().strip())
        settings.key_location.unlink()
        ScoringEngine.open(settings).close()
        assert not settings.key_location.exists()


class TestStandings:
    def test_the_best_comes_first_and_equals_share_a_rank(self, engine, make, join):
        make(engine, rules=open_rules(Exact()))
        teams = [join(engine).team for _ in range(3)]
        for team, wrong in zip(teams, (10, 5, 5), strict=True):
            predictions = TRUTH.copy()
            predictions[:wrong] = 1 - predictions[:wrong]
            engine.submit(team, 1 - TRUTH).result()
            engine.submit(team, predictions).result()
        places = engine.leaderboard("coins")
        assert [place.rank for place in places] == [1, 1, 3]
        assert [place.team for place in places] == [teams[1].name, teams[2].name, teams[0].name]
        assert {place.submissions for place in places} == {2}

    def test_lower_is_better_for_losses(self, engine, make, join):
        make(engine, rules=rules_of(metric=LogLoss(floor=0.01), policy=Exact(), public_fraction=1.0))
        good, bad = join(engine).team, join(engine).team
        engine.submit(bad, np.full(ROWS, 0.5)).result()
        engine.submit(good, np.where(TRUTH == 1, 0.9, 0.1)).result()
        assert [place.team for place in engine.leaderboard("coins")] == [good.name, bad.name]

    def test_unknown_competitions(self, engine):
        for call in (
            engine.competition,
            engine.leaderboard,
            engine.flags,
            engine.spend,
            engine.invite,
            engine.features,
        ):
            with pytest.raises(NotFound, match="there is no competition 'nope'"):
                call("nope")


class TestFinal:
    rules = open_rules(Laplace(epsilon=0.5), public_fraction=0.5, final=Laplace(epsilon=0.25))

    def test_it_is_released_once_and_charges_the_private_part(self, engine, make, join, settings):
        make(engine, rules=self.rules)
        teams = [join(engine).team for _ in range(3)]
        for seed, team in enumerate(teams[:2]):
            engine.submit(team, guess(seed)).result()
        assert engine.final("coins") == ()
        ranking = engine.finish("coins")
        assert {place.team for place in ranking} == {team.name for team in teams[:2]}
        assert engine.finish("coins") == ranking == engine.final("coins")
        told = ledger_of(settings).statement("coins")
        assert {part.name: part.spent for part in told.parts} == {"public": 7.5, "private": 0.5}
        with pytest.raises(Forbidden, match="finished"):
            engine.submit(teams[0], guess(5)).result()

    def test_a_kill_after_its_charge_does_not_charge_again(self, engine, make, join, settings, monkeypatch):
        make(engine, rules=self.rules)
        engine.submit(join(engine).team, guess(0)).result()
        with monkeypatch.context() as patched:
            patched.setattr("tacit.server.finals._final_answer", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                engine.finish("coins")
        assert engine.final("coins") == ()
        engine.finish("coins")
        assert len(ledger_of(settings).statement("coins").entries) == 2

    def test_a_team_that_came_after_a_kill_pays_for_its_own_score_alone(
        self, engine, make, join, settings, monkeypatch
    ):
        """The killed try's scores were seen by nobody: charged again, they could use up what the last team needs."""
        rules = open_rules(Laplace(epsilon=0.01), public_fraction=0.5, final=Laplace(epsilon=5.0))
        make(engine, rules=replace(rules, teams=3))
        for seed in range(3):
            engine.submit(join(engine).team, guess(seed)).result()
            if seed < 2:
                with monkeypatch.context() as patched:
                    patched.setattr("tacit.server.finals._final_answer", lambda *_: 1 / 0)
                    with pytest.raises(ZeroDivisionError):
                        engine.finish("coins")
        assert len(engine.finish("coins")) == 3
        told = ledger_of(settings).statement("coins")
        assert {part.name: part.spent for part in told.parts}["private"] == 15.0
        assert [entry.purpose.partition("scores ")[2] for entry in told.entries][1::2] == ["1 to 1", "2 to 2", "3 to 3"]

    @pytest.mark.parametrize("alone", [0, 1])
    def test_scores_charged_by_an_earlier_server_are_not_charged_again(
        self, engine, make, join, settings, clock, alone
    ):
        """A killed try charged the scores that it was about to draw: all at once, or each team's alone."""
        make(engine, rules=self.rules)
        ledger, made = ledger_of(settings), f"coins, made {clock.now.isoformat()}"
        for purpose in (f"{made}: the final ranking, scores 1 to 2", f"{made}0: the final ranking, scores 1 to 3"):
            ledger.charge("coins", Guarantee(unit=Unit.LABEL, epsilon=0.5), purpose=purpose, parts=["private"])
        for team in range(alone):
            purpose = f"{made}: the final score of team {team}"
            ledger.charge("coins", Guarantee(unit=Unit.LABEL, epsilon=0.25), purpose=purpose, parts=["private"])
        for seed in range(5):
            engine.submit(join(engine).team, guess(seed)).result()
        engine.finish("coins")
        *_, last = ledger.statement("coins").entries
        assert last.purpose == f"{made}: the final ranking, scores {3 + alone} to 5"
        assert last.guarantee.epsilon == 0.25 * (3 - alone)

    def test_another_server_of_the_ledger_pays_for_its_own(self, sqlite_settings, make, join, clock, tmp_path):
        """The same labels under the same short name: the first ranking's charge is not the second's."""
        first = replace(sqlite_settings, ledger=str(tmp_path / "shared.db"))
        second = replace(first, folder=tmp_path / "second")
        for settings in (first, second):
            engine = ScoringEngine.open(settings)
            make(engine, rules=self.rules, again=True)
            engine.submit(join(engine).team, guess(0)).result()
            engine.finish("coins")
            engine.close()
            clock.turn(days=1)
        told = ledger_of(second).statement("coins")
        assert {part.name: part.spent for part in told.parts} == {"public": 2.5 + 2.5 + 0.25, "private": 0.25 + 2.75}

    def test_not_before_it_closes(self, engine, make, clock):
        make(engine, rules=self.rules, closes=clock.now + timedelta(days=1))
        with pytest.raises(Forbidden, match="open until"):
            engine.finish("coins")
        clock.turn(days=2)
        assert engine.finish("coins") == ()

    def test_without_a_split_the_leaderboard_is_final(self, engine, make, join):
        make(engine)
        engine.submit(join(engine).team, guess(0)).result()
        spent = engine.spend("coins").spent
        assert engine.finish("coins")[0].text == engine.leaderboard("coins")[0].text
        assert engine.spend("coins").spent == spent

    def test_it_scores_the_private_rows(self, engine, make, join):
        make(engine, rules=open_rules(Exact(), public_fraction=0.5))
        team = join(engine).team
        public = engine.board("coins").labels.public_rows
        predictions = np.where(public, TRUTH, 1 - TRUTH)
        assert engine.submit(team, predictions).result().released == 1.0
        assert engine.finish("coins")[0].released == 0.0

    def test_it_scores_the_last_submission_and_not_the_luckiest(self, engine, make, join):
        make(engine, rules=open_rules(Exact(), public_fraction=0.5))
        team = join(engine).team
        public = engine.board("coins").labels.public_rows
        lucky = np.where(public, TRUTH, 1 - TRUTH)
        assert engine.submit(team, lucky).result().released == 1.0
        assert engine.submit(team, 1 - lucky).result().released == 0.0
        assert engine.finish("coins")[0].released == 1.0


class TestLedger:
    def test_known_labels_need_a_word(self, engine, make, join):
        make(engine)
        join(engine)
        with pytest.raises(Conflict, match="known to the ledger as 'coins'"):
            make(engine, slug="again")
        assert len(engine.competitions()) == 1
        make(engine, slug="again", again=True)
        join(engine, "again")
        assert engine.spend("again").data_set == "coins"
        assert engine.spend("again").spent == 5.0
        assert engine.spend("again").budget == 100.0

    def test_another_split_of_known_labels_charges_them_all(self, engine, make, join, settings):
        rules = open_rules(Laplace(epsilon=0.5), public_fraction=0.5, teams=2)
        make(engine, rules=rules)
        join(engine)
        make(engine, slug="again", again=True, rules=rules)
        engine.submit(join(engine, "again").team, guess(0)).result()
        engine.finish("again")
        told = ledger_of(settings).statement("coins")
        assert {part.name: part.spent for part in told.parts} == {"public": 5.5, "private": 3.0}
        assert told.budget.epsilon == 5.0 + 6.0

    def test_a_kill_before_a_competition_is_stored_leaves_its_labels_usable(self, engine, make, join, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr("tacit.server.engine.insert_competition", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                make(engine)
        make(engine, teams=1)
        join(engine)
        assert engine.spend("coins").left == 0

    def test_a_delta_makes_many_scores_cheaper(self, engine, make, join):
        rules = open_rules(Laplace(epsilon=0.01), submissions=100, per_day=None, teams=5)
        make(engine, rules=rules, delta=1e-6)
        told = [join(engine) and engine.spend("coins").used for _ in range(5)]
        assert told == sorted(told)
        assert 0.99 < told[-1] <= 1
        assert engine.spend("coins").budget < 5.0 * 0.8, "pure sums would cost 5"

    def test_policies_without_a_guarantee_charge_nothing(self, engine, make, join):
        make(engine, rules=open_rules(Exact()))
        join(engine)
        spend = engine.spend("coins")
        assert spend.data_set is None
        assert "no guarantee" in str(spend.guarantee)


class TestCopies:
    def test_a_copy_charges_its_original_nothing(self, engine, make, join):
        make(engine, rules=open_rules(Laplace(epsilon=0.5), public_fraction=0.5))
        before = engine.spend("coins")
        with engine.copy_for_replay("coins") as copy:
            joined = join(copy)
            copy.submit(joined.team, guess(0)).result()
            folder = copy.settings.folder
            assert not list(folder.glob("*.key"))
            assert not copy.competition("coins").public
            assert (copy.board("coins").labels.public_rows == engine.board("coins").labels.public_rows).all()
            assert copy.spend("coins").spent == 2.5
        assert not folder.exists()
        assert engine.spend("coins") == before
        assert engine.teams("coins") == ()

    def test_what_a_killed_server_left_is_removed_and_a_living_copy_is_not(self, sqlite_settings, make):
        left = sqlite_settings.folder / "copies" / "killed"
        left.mkdir(parents=True)
        (left / "alive.db").write_bytes(b"")
        (left / "server.db").write_bytes(b"encrypted labels")
        engine = ScoringEngine.open(sqlite_settings)
        assert not left.exists()
        make(engine)
        with engine.copy_for_replay("coins") as copy:
            ScoringEngine.open(sqlite_settings).close()  # another process of the same server starts
            assert copy.settings.folder.parent == left.parent
            assert (copy.settings.folder / "server.db").exists()
        assert not list(left.parent.iterdir())
        engine.close()

    def test_a_copy_whose_process_was_killed_is_removed(self, tmp_path):
        code = (
            "import os, sys; from pathlib import Path; from tacit.server.copies import copy_folder\n"
            "with copy_folder(Path(sys.argv[1])) as made: print(made, flush=True); os._exit(9)"
        )
        told = subprocess.run([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True, check=False)
        assert told.returncode == 9
        made = Path(told.stdout.strip())
        assert made.is_dir()
        clear_copies(tmp_path)
        assert not made.exists()


class TestFlags:
    def test_a_crafted_submission_is_flagged_and_counts(self, engine, make, join):
        make(engine, rules=rules_of(metric=LogLoss(floor=0.01), policy=Exact(), public_fraction=1.0))
        team = join(engine).team
        engine.submit(team, np.full(ROWS, 0.5)).result()
        engine.wait_for_inspection()
        assert {flag.check for flag in engine.flags("coins")}
        assert engine.flags("coins")[0].team == team.name
        assert len(engine.leaderboard("coins")) == 1

    def test_what_was_not_looked_at_is_looked_at_after_a_restart(self, settings, make, join, monkeypatch):
        monkeypatch.setattr("tacit.server.inspection.SubmissionInspector.wake", lambda _: None)
        engine = ScoringEngine.open(settings)
        make(engine, rules=rules_of(metric=LogLoss(floor=0.01), policy=Exact(), public_fraction=1.0))
        team = join(engine).team
        engine._inspector.close()
        engine.submit(team, np.full(ROWS, 0.5)).result()
        engine.close()
        monkeypatch.undo()
        engine = ScoringEngine.open(settings)
        engine.wait_for_inspection()
        assert engine.flags("coins")
        with engine._database.reading() as connection:
            left = select(func.count()).where(SUBMISSION.c.inspected.is_(False))
            assert connection.execute(left).scalar() == 0
        engine.close()

    def test_two_processes_that_look_at_one_submission_flag_it_once(self, engine, make, join):
        make(engine, rules=rules_of(metric=LogLoss(floor=0.01), policy=Exact(), public_fraction=1.0))
        team = join(engine).team
        engine.submit(team, np.full(ROWS, 0.5)).result()
        engine.wait_for_inspection()
        flags = engine.flags("coins")
        again = SubmissionFinding(check="constant", reason="as the other process found it", measured=1.0, limit=0.9)
        with engine._database.writing() as connection:
            _store(connection, {"team": team.id, "number": 1}, None, (again,))
        assert engine.flags("coins") == flags

    def test_a_failing_check_is_itself_a_flag(self, sqlite_engine, make, join, monkeypatch):
        monkeypatch.setattr("tacit.server.inspection.inspect_submission", lambda *_, **__: 1 / 0)
        make(sqlite_engine)
        sqlite_engine.submit(join(sqlite_engine).team, guess(0)).result()
        sqlite_engine.wait_for_inspection()
        assert [flag.check for flag in sqlite_engine.flags("coins")] == ["failed"]


class TestFiles:
    def test_labels_in_any_order(self, engine, make, join):
        labels = "id,label\n" + "".join(f"{row},{int(TRUTH[row])}\n" for row in reversed(range(ROWS)))
        make(engine, labels=labels.encode(), rules=open_rules(Exact()))
        assert engine.submit(join(engine).team, TRUTH).result().released == 1.0

    @pytest.mark.parametrize(
        ("labels", "said"),
        [
            (b"id,label\n0,zq-secret\n", "one row for each of the 40"),
            (b"label\n" + b"zq-secret\n" * 39 + b"\n", "one row for each of the 40"),
            (b"label\n" + b"".join(b"zq-secret%d\n" % row for row in range(40)), "of the classes that are listed"),
            (b"id,label\n" + b"7,zq-secret\n" * 40, "appears twice"),
            (b"id,a,b\n" + b"7,zq-secret,1\n" * 40, "the column 'label', or one column besides id"),
            (b"\xff\xfe", "UTF-8"),
            (b'label\n"zq-secret\n', "quotation marks"),
        ],
    )
    def test_wrong_labels_are_refused_without_telling_one(self, sqlite_engine, make, labels, said):
        plan = CompetitionPlan(metric="accuracy", classes=("zq-positive", "zq-negative"))
        with pytest.raises(InvalidInput, match=said) as refused:
            make(sqlite_engine, labels=labels, rules=Rules(plan=plan))
        assert "zq-secret" not in str(refused.value)
        assert sqlite_engine.competitions() == ()

    def test_numbers_for_a_regression(self, engine, make, join):
        labels = "label\n" + "".join(f"{row / ROWS}\n" for row in range(ROWS))
        make(engine, labels=labels.encode(), rules=rules_of(metric=Rmse(), policy=Exact(), public_fraction=1.0))
        assert engine.submit(join(engine).team, np.arange(ROWS) / ROWS).result().released == 0.0

    def test_an_own_metric_comes_from_the_operator(self, sqlite_settings, make, join):
        own = CustomMetric(
            function=lambda labels, predictions: float(np.mean(labels == predictions)),
            metric="mine",
            lower=0.0,
            upper=1.0,
            lower_is_better=False,
        )
        engine = ScoringEngine.open(replace(sqlite_settings, custom_metrics=(own,)))
        make(engine, rules=rules_of(metric=own, policy=Exact(), public_fraction=1.0))
        assert engine.submit(join(engine).team, TRUTH).result().released == 1.0
        engine.close()
