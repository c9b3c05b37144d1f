"""Randomized labels end to end: release them once, learn from them, guess them back.

    python examples/labels.py

On the Titanic's people: the labels of half of them are released, the other half judges what was learned. At epsilon 1
more than a quarter of the labels are flipped, and a model of them is nearly as good as one of the true labels.
"""

import pyarrow as pa
from sklearn.linear_model import LogisticRegression

from tacit.data import titanic
from tacit.labels import Plan, protect
from tacit.labels.attacks.guess import guess_labels_with_features
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.privacy.noise import system_rng


def main():
    """Print one line per release."""
    rng = system_rng()  # a seeded generator would make releases that are not private, and say so
    data = titanic()
    X, y = data.X, data.y
    shuffled = rng.permutation(len(data))
    private, later = shuffled[::2], shuffled[1::2]

    clear = LogisticRegression().fit(X[private], y[private])
    print(f"{'labels':<27}{'accuracy':>9}{'guessed':>9}{'without':>9}")
    print(f"{'in clear':<27}{clear.score(X[later], y[later]):>9.1%}{1:>9.1%}")
    for epsilon in (1.0, 2.0, 3.0):
        # protect: keep a label with probability e^epsilon / (e^epsilon + 1), else turn it
        table = pa.table({"survived": y[private]})
        release = protect(table, Plan(label="survived", epsilon=epsilon, classes=("No", "Yes")), rng=rng)
        # learn: from the features and the release alone
        model = LabelPrivateClassifier(LogisticRegression()).fit(X[private], release)
        # attack: the best guess of each label, with what was released for it and without (from its features and the
        # release of others); the truth only counts the hits
        guesses = guess_labels_with_features(release, X[private], model=LogisticRegression(), rng=rng)
        leak = guesses.leak(y[private])
        accuracy = model.score(X[later], y[later])
        print(f"{release.guarantee!s:<27}{accuracy:>9.1%}{leak.rate:>9.1%}{leak.baseline:>9.1%}")


if __name__ == "__main__":
    main()
