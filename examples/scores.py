"""A leaderboard end to end: answer submissions, choose a model by the scores, recover the labels from them.

    python examples/scores.py

A host keeps the labels of half of the Titanic's people and shows nothing but each submission's log loss. Five decimals
of it reveal every label; noise hides most of them, and still separates good models from bad ones. Epsilons add up:
0.1 per score is 20 for the 200 scores of the attack, so a careful host answers fewer.
"""

import pyarrow as pa
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.tree import DecisionTreeClassifier

from tacit import scores
from tacit.data import titanic
from tacit.privacy.noise import system_rng

MODELS = (DummyClassifier(), BernoulliNB(), DecisionTreeClassifier(max_depth=2), LogisticRegression())
ATTACK = 200


def main():
    """Print one line per policy, with the guarantee for all scores of the attack."""
    rng = system_rng()
    data = titanic()
    X, y = data.X, data.codes
    shuffled = rng.permutation(len(data))
    public, kept = shuffled[::2], shuffled[1::2]
    table = pa.table({"survived": y[kept]})
    predicted = [model.fit(X[public], y[public]).predict_proba(X[kept]) for model in MODELS]
    submissions = [pa.table({"p": chances[:, 1]}) for chances in predicted]
    prior = predicted[-1]  # what the attacker knows without any score

    print(f"{'scores':<20}{'chosen by them':<24}{'score':>8}{'leaked':>8}{'without':>9}{'submissions':>13}  guarantee")
    for policy, each in (("rounded:decimals=5", None), ("laplace", 0.1)):

        def plan(count, policy=policy, each=each):
            epsilon = None if each is None else count * each
            return scores.Plan(label="survived", epsilon=epsilon, policy=policy, submissions=count)

        release = scores.protect(table, plan(len(MODELS)), data=submissions, rng=rng)
        chosen = scores.learn(release).report_.choice.index
        offer = scores.protect(table, plan(ATTACK))
        leak = scores.attack(offer, truth=table, before=prior, rng=rng)
        guarantee = str(offer.guarantee).partition(":")[0]
        print(
            f"{policy:<20}{type(MODELS[chosen]).__name__:<24}{release.scores[chosen]:>8.3f}{leak.rate:>8.1%}"
            f"{leak.baseline:>9.1%}{leak.facts['submissions']:>13}  {guarantee}"
        )


if __name__ == "__main__":
    main()
