"""A leaderboard from one end to the other: answer submissions, choose a model by the answers, read the labels in them.

    python examples/scores.py

A host keeps the labels of half of the Titanic's people and shows nothing but each submission's log loss. Five decimals
of it tell every label; noise keeps most of them, and still tells a good model from a bad one. Epsilons add up: 0.1 a
score is 20 for the 200 scores of the attack, so a host who means its promise answers fewer.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.tree import DecisionTreeClassifier

from tacit.data import titanic
from tacit.leak import leak_from_guesses
from tacit.privacy.noise import system_rng
from tacit.scores.attacks import attack_competition
from tacit.scores.metrics import LogLoss
from tacit.scores.policies import Ladder, Laplace, Rounded
from tacit.scores.releases import Setting

MODELS = (DummyClassifier(), BernoulliNB(), DecisionTreeClassifier(max_depth=2), LogisticRegression())


def main():
    """Print one line a rule by which scores are shown, with its promise for one score."""
    rng = system_rng()
    data = titanic()
    X, y = data.one_hot().values, data.codes
    shuffled = rng.permutation(len(data))
    public, kept = shuffled[::2], shuffled[1::2]
    submitted = [model.fit(X[public], y[public]).predict_proba(X[kept])[:, 1] for model in MODELS]
    prior = MODELS[-1].predict_proba(X[kept])  # what the attacker knows without any score

    print(f"{'scores':<9}{'chosen by them':<24}{'log loss':>8}{'told':>8}{'without':>9}{'submissions':>13}  promise")
    for policy in (Rounded(decimals=5), Ladder(step=0.01), Laplace(epsilon=0.1)):
        # protect: all that leaves is what the policy makes of the exact score; a team's state stays inside
        setting, states = Setting(metric=LogLoss(), policy=policy), {}

        def host(predictions, team="attacker", setting=setting, states=states):
            answer = setting.answer(y[kept], predictions, state=states.get(team, {}), rng=rng)
            states[team] = answer.state
            return answer.text

        # learn: the model of the best score shown
        best = int(np.argmin([float(host(predictions, team)) for team, predictions in enumerate(submitted)]))
        exact = setting.metric.score(y[kept], submitted[best])
        # attack: submissions made for what their scores tell
        found = attack_competition(host, setting, prior=prior, submissions=200, rng=rng)
        leak = leak_from_guesses(found.labels, y[kept], baseline=prior.argmax(axis=1))
        name, promise = type(MODELS[best]).__name__, str(policy.guarantee()).partition(":")[0]
        print(
            f"{policy.name:<9}{name:<24}{exact:>8.3f}{leak.rate:>8.1%}{leak.baseline:>9.1%}{found.submissions:>13}"
            f"  {promise}"
        )


if __name__ == "__main__":
    main()
