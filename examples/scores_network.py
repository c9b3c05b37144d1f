"""A host accepts ONNX models only, scores them row by row, and shows the log loss: it still gives its labels away.

Each submission is an ordinary-looking ReLU network that recognises a few of the host's rows by their features and
predicts 1/K elsewhere; the host's score is then a number whose digits are those rows' labels. The detector finds it.

    python examples/scores_network.py
"""

from functools import partial

import numpy as np
from sklearn.metrics import log_loss

from tacit.data import satellite
from tacit.scores.attack import DigitDesign, Exact, infer_labels, plan
from tacit.scores.attack.network import MutatorNetwork
from tacit.scores.attack.row_hash import RowHash
from tacit.scores.losses import sklearn_log_loss
from tacit.scores.protect import inspect_network

ROWS = 1000


def main():
    rng = np.random.default_rng(0)
    data = satellite()
    rows = rng.permutation(len(data))[:ROWS]
    features, labels = data.X[rows], data.codes[rows]  # the host publishes the features and keeps the labels

    hashed = RowHash.of(features, rng=rng)
    print(f"a first layer of {len(hashed.bias)} ReLU units tells {ROWS} rows apart")

    def host(predictions):
        network = MutatorNetwork.for_hash(hashed, predictions)
        return log_loss(labels, network.predict(features), labels=range(6))

    metric = sklearn_log_loss(classes=6)
    worked_out = plan(metric, rows=ROWS, answers=Exact(growth=8.0), design=partial(DigitDesign, settle=False))
    outcome = infer_labels(host, metric, rows=ROWS, plan=worked_out)
    right = np.mean(outcome.labels == labels)
    print(f"{outcome.queries} submissions, {right:.0%} of the labels recovered, {outcome.seconds:.1f} s")

    query = next(worked_out.steps())
    network = MutatorNetwork.for_hash(hashed, query.predictions)
    inspection = inspect_network(network.predict, features, rng=rng)
    for finding in inspection.findings:
        print(f"the detector: {finding.check}: {finding.reason}")


if __name__ == "__main__":
    main()
