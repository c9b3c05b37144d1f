"""Bayes' rule over all answers: against the exact posterior where it can be enumerated, and against noise."""

from itertools import product

import numpy as np
import pytest

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import (
    CandidatePredictions,
    OracleError,
    ScoreReading,
    climb_labels,
    guess_labels,
    label_posterior,
)
from tacit.scores.attacks.posterior import _interval_moments, _laplace_moments

HARD = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])


def enumerate_posterior(readings, prior, losses):
    rows, labels = prior.shape
    total = np.zeros_like(prior)
    for guess in product(range(labels), repeat=rows):
        weight = float(np.prod(prior[np.arange(rows), guess]))
        for reading in readings:
            count = losses[reading.choice, guess].sum()
            away = max(reading.low - count, count - reading.high, 0.0)
            weight *= np.exp(-away / reading.scale) if reading.scale else float(away <= 1e-9)
        total[np.arange(rows), guess] += weight
    return total / total.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_close_to_the_exact_posterior(scale):
    rng = np.random.default_rng(0)
    away = []
    for _ in range(20):
        truth = rng.integers(0, 2, 10)
        prior = np.full((10, 2), 0.5) + rng.uniform(-0.3, 0.3, (10, 1)) * [1, -1]
        readings = []
        for _ in range(6):
            choice = rng.integers(0, 3, 10)
            answer = HARD[choice, truth].sum() + rng.laplace(0, scale)
            readings.append(ScoreReading(choice, answer, answer, scale))
        found = label_posterior(readings, prior, losses=HARD)
        away.append(np.abs(found - enumerate_posterior(readings, prior, HARD)).mean())
    assert np.mean(away) < 0.06


@pytest.mark.parametrize("ends", [(3.0, 5.0), (4.0, 4.0), (6.0, np.inf), (-np.inf, 1.0)])
@pytest.mark.parametrize("scale", [0.0, 0.7])
def test_moments_are_those_of_the_density(ends, scale):
    low, high = (float(np.clip(end, -1e3, 1e3)) for end in ends)
    mean, variance = 3.5, 4.0
    x = np.linspace(-60, 60, 2_000_001)
    away = np.maximum(np.maximum(low - x, x - high), 0)
    weight = np.exp(-((x - mean) ** 2) / (2 * variance))
    weight *= np.exp(-away / scale) if scale else away <= 1e-3 / 2
    expected = (x * weight).sum() / weight.sum()
    moments = _laplace_moments if scale else _interval_moments
    got, spread = moments(*(np.array([value]) for value in (mean, variance, low, high, scale)))
    assert got[0] == pytest.approx(expected, abs=2e-3)
    assert spread[0] == pytest.approx(((x - expected) ** 2 * weight).sum() / weight.sum(), rel=2e-2, abs=1e-6)


@pytest.mark.parametrize("neutral", [2, None])
def test_labels_under_noise_come_out_and_a_wrong_noise_model_is_worse(neutral):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 500)
    menu = CandidatePredictions(losses=HARD if neutral else HARD[:2], neutral=neutral)

    def ask(choices, labels=truth):
        for choice in choices:
            answer = menu.losses[choice, labels].sum() + rng.laplace(0, 2.0)
            yield ScoreReading(choice, answer, answer, 2.0)

    def attack(ask):
        prior = np.full((500, 2), 0.5)
        beliefs = guess_labels(ask, prior, menu=menu, queries=700, deviation=2.8, rng=rng)
        return (beliefs.argmax(axis=1) == truth).mean()

    assert attack(ask) > 0.99
    assert (
        abs(attack(lambda choices: ask(choices, 1 - truth)) - 0.0) < 0.01
    )  # control: the answers decide, not the prior
    others = rng.integers(0, 2, 500)
    assert abs(attack(lambda choices: ask(choices, others)) - 0.5) < 0.12


def test_several_classes():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, 200)
    menu = CandidatePredictions(losses=np.concatenate([1 - np.eye(4), np.full((1, 4), 0.75)]), neutral=4)

    def ask(choices):
        for choice in choices:
            answer = menu.losses[choice, truth].sum() + rng.laplace(0, 0.5)
            yield ScoreReading(choice, answer, answer, 0.5)

    beliefs = guess_labels(ask, np.full((200, 4), 0.25), menu=menu, queries=400, deviation=0.7, rng=rng)
    assert (beliefs.argmax(axis=1) == truth).mean() > 0.99


def test_a_host_that_stops_leaves_what_was_read():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 50)
    menu, answers = CandidatePredictions(losses=HARD, neutral=2), []

    def ask(choices):
        for choice in choices:
            if len(answers) == 60:
                raise OracleError("all submissions are used")
            answers.append(menu.losses[choice, truth].sum())
            yield ScoreReading(choice, answers[-1], answers[-1], 0.1)

    told = []
    beliefs = guess_labels(
        ask,
        np.full((50, 2), 0.5),
        menu=menu,
        queries=1000,
        deviation=0.1,
        rng=rng,
        progress=lambda count, _: told.append(count),
    )
    assert (beliefs.argmax(axis=1) == truth).mean() > 0.95
    assert told[-1] == 60


def test_a_climber_never_falls_below_what_it_was_told():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 300)
    prior = np.where(truth[:, None] == [0, 1], 0.6, 0.4)
    best = [np.inf]

    def ask(choice):
        wrong = float((choice != truth).sum())
        if wrong < best[0] - 1:
            best[0] = wrong
            return ScoreReading(choice, wrong, wrong)
        return ScoreReading(choice, best[0] - 1, np.inf)

    noisy = prior + rng.normal(0, 0.15, (300, 1)) * [1, -1]
    menu = CandidatePredictions(losses=HARD[:2], neutral=None)
    found = climb_labels(ask, np.clip(noisy, 0.05, 0.95), menu=menu, queries=300, step=1.0, rng=rng)
    start = (np.clip(noisy, 0.05, 0.95).argmax(axis=1) == truth).mean()
    assert (found.argmax(axis=1) == truth).mean() == 1 - best[0] / 300
    assert 1 - best[0] / 300 > start


@pytest.mark.parametrize(
    ("prior", "losses", "words"),
    [
        (np.full(3, 0.5), HARD, "prior must be probabilities"),
        (np.full((3, 2), np.nan), HARD, "prior must be probabilities"),
        (np.full((3, 3), 1 / 3), HARD, r"losses must be numbers of shape \(menu, 3\)"),
    ],
)
def test_bad_input(prior, losses, words):
    with pytest.raises(InvalidInput, match=words):
        label_posterior([], prior, losses=losses)
