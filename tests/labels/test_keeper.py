import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.labels.learners.keeper import ValidationKeeper
from tacit.privacy import Guarantee, InvalidInput, Unit
from tacit.privacy.errors import BudgetExceeded, LedgerError, UnknownData
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.payment import Payment

LABELS = ["a", "b", "c", "a", "b"]


def make_ledger(folder, *, epsilon=100.0, labels=LABELS):
    ledger = Ledger.create(folder / "ledger.db")
    ledger.register(labels, name="validation", budget=Guarantee(unit=Unit.LABEL, epsilon=epsilon))
    return ledger


def make_keeper(ledger, *, epsilon=0.5, labels=LABELS, seed=0):
    return ValidationKeeper(labels, epsilon=epsilon, payment=Payment(ledger=ledger), rng=np.random.default_rng(seed))


class Watched:
    """A ledger that notes when it is charged."""

    def __init__(self, events, *, refuse=False):
        self.events, self.refuse = events, refuse

    def identify(self, labels):
        raise UnknownData("unknown")

    def pay(self, labels, guarantee, *, dataset, purpose, parts):
        if self.refuse:
            raise BudgetExceeded("spent")
        self.events.append(("charge", dataset, guarantee.epsilon))


class NotedDraws(np.random.Generator):
    def __init__(self, events):
        super().__init__(np.random.PCG64(0))
        self.events = events

    def integers(self, *args, **options):
        self.events.append(("draw",))
        return super().integers(*args, **options)

    def random_raw(self, *args, **options):
        self.events.append(("draw",))
        return super().random_raw(*args, **options)


def pmf_of_answers(labels, predictions, noise):
    """P(noised count = k) for k in a window that holds both neighbours' mass."""
    right = sum(p == y for p, y in zip(predictions, labels, strict=True))
    return noise.pmf(np.arange(-60, 60) - right)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_privacy_loss_by_enumeration(epsilon):
    """Every pair of label columns that differ in one label: log ratio at most epsilon, and reached."""
    noise = DiscreteLaplace.for_epsilon(epsilon)
    predictions = ["a", "b", "a"]
    worst = 0.0
    for labels in ([x, y, z] for x in "abc" for y in "abc" for z in "abc"):
        for row in range(3):
            for other in "abc":
                neighbour = [*labels[:row], other, *labels[row + 1 :]]
                one, two = (pmf_of_answers(column, predictions, noise) for column in (labels, neighbour))
                worst = max(worst, np.abs(np.log(one) - np.log(two)).max())
    assert worst == pytest.approx(epsilon, rel=1e-12)


def test_two_labels_cost_more_control():
    """Control: columns that differ in two labels break the bound, so the enumeration can fail."""
    noise = DiscreteLaplace.for_epsilon(0.5)
    one, two = (pmf_of_answers(column, ["a", "b"], noise) for column in (["a", "b"], ["b", "a"]))
    assert np.abs(np.log(one) - np.log(two)).max() > 0.99


def test_answers_have_the_guaranteed_noise(tmp_path):
    keeper = ValidationKeeper(
        LABELS, epsilon=0.5, payment=Payment(ledger=Watched([]), dataset="v"), rng=np.random.default_rng(1)
    )
    answers = np.array([keeper.accuracy(["a"] * 5).value for _ in range(4000)])
    noise = np.rint(answers * 5).astype(int) - 2  # two of the labels are "a"

    def p_value(scaled):
        edges = np.arange(-6, 7)
        expected = scaled.pmf(edges)
        seen = np.array([(noise == k).sum() for k in edges])
        outside = 1 - expected.sum()
        return chisquare([*seen, len(noise) - seen.sum()], len(noise) * np.array([*expected, outside])).pvalue

    assert p_value(DiscreteLaplace.for_epsilon(0.5)) > 1e-6
    assert p_value(DiscreteLaplace.for_epsilon(0.6)) < 1e-6, "control: mis-scaled noise is rejected"


def test_charges_before_it_draws():
    events = []
    keeper = ValidationKeeper(
        LABELS, epsilon=0.5, payment=Payment(ledger=Watched(events), dataset="v"), rng=NotedDraws(events)
    )
    keeper.accuracy(LABELS)
    assert events[0] == ("charge", "v", 0.5)
    assert ("draw",) in events[1:]
    assert events.count(events[0]) == 1


def test_a_refused_question_draws_nothing_and_is_not_counted():
    events = []
    keeper = ValidationKeeper(
        LABELS, epsilon=0.5, payment=Payment(ledger=Watched(events, refuse=True), dataset="v"), rng=NotedDraws(events)
    )
    with pytest.raises(BudgetExceeded):
        keeper.accuracy(LABELS)
    assert events == []
    assert keeper.guarantee.epsilon == 0


def test_budget_and_composition(tmp_path):
    ledger = make_ledger(tmp_path, epsilon=1.2)
    keeper = make_keeper(ledger)
    assert keeper.guarantee.epsilon == 0
    keeper.accuracy(LABELS)
    keeper.accuracy(LABELS)
    assert keeper.guarantee.epsilon == 1.0
    assert ledger.statement("validation").spent == 1.0
    with pytest.raises(BudgetExceeded, match=r"0\.2 is left"):
        keeper.accuracy(LABELS)
    assert keeper.guarantee.epsilon == 1.0
    with pytest.raises(BudgetExceeded):  # a second keeper of the same labels shares the budget
        make_keeper(ledger).accuracy(LABELS)


def test_a_large_set_is_answered_closely(tmp_path):
    labels = list(np.random.default_rng(0).integers(0, 10, 2000))
    keeper = make_keeper(make_ledger(tmp_path, labels=labels), epsilon=0.1, labels=labels)
    guesses = np.where(np.arange(2000) < 1500, labels, -1)
    answer = keeper.accuracy(guesses)
    assert answer.value == pytest.approx(0.75, abs=6 * answer.standard_error)
    assert answer.standard_error < 0.01


def test_bad_questions_are_not_charged(tmp_path):
    ledger = make_ledger(tmp_path)
    keeper = make_keeper(ledger)
    with pytest.raises(InvalidInput, match="one for each of the 5 labels"):
        keeper.accuracy(["a"])
    assert ledger.statement("validation").spent == 0
    keeper.accuracy([1, 2, 3, 4, 5])  # of another type: all wrong, no error that depends on labels
    with pytest.raises(InvalidInput, match="epsilon must be a finite number > 0"):
        make_keeper(ledger, epsilon=-1.0)
    with pytest.raises(InvalidInput, match="at least one label"):
        make_keeper(ledger, labels=[])
    with pytest.raises(LedgerError):
        make_keeper(ledger, labels=["x", "y"])


def test_labels_that_the_ledger_knows_are_charged_to_no_other_data_set(tmp_path):
    ledger = make_ledger(tmp_path)
    ledger.register([0, 1], name="toys", budget=Guarantee(unit=Unit.LABEL, epsilon=100.0))
    with pytest.raises(InvalidInput, match="dataset must be 'validation'"):
        ValidationKeeper(
            LABELS, epsilon=0.5, payment=Payment(ledger=ledger, dataset="toys"), rng=np.random.default_rng(0)
        )
