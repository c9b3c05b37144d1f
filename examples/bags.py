"""Label totals end to end: publish them, learn from them, attack them; exact, then private.

    python examples/bags.py

On the Titanic's people: survivors by class, sex and age. Exact totals determine labels, also those of groups that
were left out as too small. Noisy totals determine none, and at epsilon 1 a model learned from them is nearly as good.
"""

import pyarrow as pa
from sklearn.linear_model import LogisticRegression

from tacit.bags import Plan, protect
from tacit.bags.attacks import determined, guess_labels, prior_from_features
from tacit.bags.learners import AdditiveModel
from tacit.data import titanic
from tacit.privacy.noise import system_rng

SETS = [("class", "sex", "age"), ("class", "sex")]
RELEASES = {
    "exact": {"epsilon": None, "min_size": 1},
    "exact, 20 people or more": {"epsilon": None},
    "epsilon 1": {"epsilon": 1, "min_size": 1},
    "epsilon 0.1": {"epsilon": 0.1, "min_size": 1},
}


def main():
    """Print one line per release."""
    rng = system_rng()
    data = titanic()
    people = data.table.drop_columns([data.label]).append_column(data.label, pa.array(data.codes))
    shuffled = rng.permutation(len(data))
    train, test = people.take(shuffled[::2]), people.take(shuffled[1::2])
    truth, unseen = train[data.label].to_numpy(), test[data.label].to_numpy()
    prior = prior_from_features(
        train, truth, classes=2, leave_out=(data.label,), model=LogisticRegression(max_iter=1000), rng=rng
    )
    print(f"{'totals':<26}{'fixed':>6}{'guessed':>9}{'without':>9}{'log loss':>10}{'AUC':>7}")
    for name, settings in RELEASES.items():
        release = protect(train, Plan(label=data.label, by=SETS, consistent=False, **settings), rng=rng).totals
        fixed = determined(release, train)
        leak = guess_labels(release, train, prior=prior).with_certain(fixed).leak(truth)
        found = AdditiveModel().fit(release, train).evaluate(test, unseen)
        judged = f"{found.log_loss.value:>10.4f}{found.auc.value:>7.3f}"
        print(f"{name:<26}{fixed.count:>6}{leak.rate:>9.1%}{leak.baseline:>9.1%}{judged}")


if __name__ == "__main__":
    main()
