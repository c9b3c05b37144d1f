"""From a private column to a model: release the labels of Titanic once, learn from the release, attack it.

Run it with ``python examples/labels_protect_learn.py [epsilon]``. It prints what each step gives and what it tells.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sklearn.linear_model import LogisticRegression

from tacit.data import load_table, titanic
from tacit.labels import LabelPrivateClassifier, RandomizedResponse
from tacit.labels.attack import guess_labels, guess_labels_with_features
from tacit.labels.learn.table import learn_table
from tacit.labels.protect.payment import Payment
from tacit.labels.protect.stream import protect_table
from tacit.privacy import Guarantee, Unit, read_release
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import system_rng


def main(epsilon: float = 1.0) -> None:
    data = titanic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = Ledger.create(folder / "ledger.db")
        ledger.register(data.table[data.label], name="titanic", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
        made = protect_table(
            data.table,
            folder / "survived.parquet",
            label=data.label,
            classes=["No", "Yes"],
            keep=data.features,
            mechanism=RandomizedResponse(epsilon=epsilon),
            payment=Payment(ledger=ledger),
            rng=system_rng(),
        )
        release = read_release(made.path)
        print(f"released: {made.rows} labels, {made.guarantee}; {made.receipt}")

    # what the recipient does: the features and the released labels are in one file
    features = load_table(release.value.drop(["label"]))
    learned = learn_table(features, release, learner=LabelPrivateClassifier(), hold_out=0.3)
    print(f"learned: accuracy {learned.estimate}, judged by {learned.judged_rows} released labels")

    # what the holder can check, with the true labels
    X = learned.encoder.encode(release.value)
    print(f"in truth: accuracy {(learned.model.predict(X) == data.y).mean():.3f}")
    print(f"attack on the release alone: {guess_labels(release).leak(data.y)}")
    both = guess_labels_with_features(release, X, model=LogisticRegression(), rng=system_rng())
    print(f"attack with the features: {both.leak(data.y)}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
