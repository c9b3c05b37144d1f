"""A host shows only a score, rounded to five decimals: say how long until every label is public, and do it.

The host's labels are Titanic's; its scorer is scikit-learn's log loss. The plan says beforehand how many
submissions it takes, the attack then does it, and the leak says what was known without any score.

    python examples/scores_attack.py
"""

import numpy as np
from sklearn.metrics import log_loss

from tacit.data import titanic
from tacit.scores.attack import CrowdedDesign, DigitDesign, JointDesign, Rounded, infer_labels, plan
from tacit.scores.losses import sklearn_log_loss


def main():
    rng = np.random.default_rng(0)
    truth = rng.permutation(titanic().codes)  # the host's; the attacker never sees them
    metric, answers = sklearn_log_loss(), Rounded(decimals=5)

    def host(predictions):
        return round(log_loss(truth, predictions), 5)

    for design in (DigitDesign, JointDesign, CrowdedDesign):
        worked_out = plan(metric, rows=len(truth), answers=answers, limit_per_day=5, design=design)
        outcome = infer_labels(host, metric, rows=len(truth), plan=worked_out)
        right = int((outcome.labels == truth).sum())
        print(
            f"{design.__name__}: {worked_out.queries} submissions planned, {worked_out.days} days at 5 a day; "
            f"{outcome.queries} used, {right:,} of {len(truth):,} labels right"
        )
    print(outcome.leak(truth))


if __name__ == "__main__":
    main()
