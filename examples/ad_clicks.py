# %% [markdown]
"""# Ad clicks: four releases, one ledger.

An ads company has shown ads. Many parties know which ads were shown to whom: those are the features. Who clicked is
private: that is the label. Partners want the clicks, their totals, a model of them, and a leaderboard. Each release has
its own guarantee, but three of them are made from the same clicks, so their leaks add up. A ledger keeps the sum: each
release is charged before it exists, and refused if it would exceed the budget. Then each release is attacked.
"""

# %%
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from tacit import bags
from tacit.data import Encoder, open_table, read_rows
from tacit.labels.attacks.guess import guess_labels as guess_from_labels
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.leak import leak_from_guesses
from tacit.models.attacks.loss_threshold import attack_losses
from tacit.models.releases.dp_sgd import train_dp_sgd
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, Ledger, MissingExtra, Unit
from tacit.privacy.extras import load_extra
from tacit.privacy.noise import system_rng
from tacit.privacy.payment import Payment
from tacit.scores.attacks import attack_competition
from tacit.scores.metrics import Brier
from tacit.scores.policies import Laplace

rng = system_rng()  # real noise: every run prints other numbers

# %% [markdown]
# ## The clicks
# The head of Criteo's challenge, if the folder that `TACIT_DATA` names has it (it is for research, and not shipped with
# tacit); otherwise made-up rows. All features are words, and public.

# %%
EFFECTS = {
    "site": {"news": -0.6, "sports": 0.0, "games": 0.3, "shop": 0.9},
    "device": {"desktop": -0.4, "tablet": 0.0, "phone": 0.3},
    "visits": {"first": -0.7, "second": 0.1, "third": 0.4, "regular": 0.9},
}
file = Path(os.environ.get("TACIT_DATA", "")) / "criteo_kaggle_head10000.parquet"
try:
    rows, source = read_rows(open_table(file)), "Criteo's clicks"
    counts = {name: rows[name].fill_null(0).to_pylist() for name in ("I6", "I7", "I11")}
    words = {name: [str(n.bit_length()) for n in column] for name, column in counts.items()} | {"C17": rows["C17"]}
    y = rows["label"].to_numpy().astype(np.int64)
except InvalidInput:
    fixed, source = np.random.default_rng(0), "made-up clicks"
    words = {name: fixed.choice(list(effects), 10_000) for name, effects in EFFECTS.items()}
    odds = sum(np.vectorize(EFFECTS[name].get)(column) for name, column in words.items())
    y = (fixed.random(10_000) < 1 / (1 + np.exp(1.5 - odds))).astype(np.int64)
table = pa.table({**words, "click": y})
X = Encoder.fitted(table, list(words), chosen=True).encode(table)
old, new = table.slice(0, 7000), table.slice(7000)
(X_old, clicks), (X_new, held_out) = (X[:7000], y[:7000]), (X[7000:], y[7000:])
print(f"{source}: {len(y):,} ads shown, {y.mean():.1%} clicked; {len(held_out):,} held out for a leaderboard")

# %% [markdown]
# ## One ledger
# The ledger recognizes both columns by a keyed fingerprint, and stores what all releases of one click may cost
# together. Each click is in one of the two columns, so the columns have separate budgets.

# %%
folder = tempfile.TemporaryDirectory()
ledger = Ledger.create(Path(folder.name) / "ledger.db")
budget = Guarantee(unit=Unit.LABEL, epsilon=3.0, delta=1e-5)
ledger.register(clicks, name="clicks", budget=budget)
ledger.register(held_out, name="held-out clicks", budget=budget)

# For comparison, and as the baseline attacker's knowledge: the most that features reveal about a click. It is made from
# true clicks without noise, and so are the leaks and AUCs below: none of them is released.
plain = LogisticRegression().fit(X_old, clicks)
prior = cross_val_predict(plain, X_old, clicks, method="predict_proba")
found, predicted = [], {}

# %% [markdown]
# ## First release: every click, randomized
# 27% of the labels are changed, and the partner trains on them. `fit` charges the ledger before it changes any. (The
# default, training again on predicted classes, is for accuracy; ranking ads needs probabilities.) The attack is the
# best guess of each click by someone who has `prior` and sees what was released for that click.

# %%
learner = LabelPrivateClassifier(epsilon=1.0, classes=[0, 1], rounds=0, payment=Payment(ledger=ledger))
release = learner.fit(X_old, clicks).release_
leak = guess_from_labels(release, prior=prior).leak(clicks)
predicted["randomized clicks"] = learner.predict_proba(X_new)[:, 1]
found.append(("randomized clicks", release.guarantee, leak))

# %% [markdown]
# ## Second release: totals, with noise
# The number of clicks for each word of each column: an additive model needs no more. `protect` charges before it draws.

# %%
plan = bags.Plan(label="click", epsilon=0.5, by=[[name] for name in words], min_size=1)
totals = bags.protect(old, plan, payment=Payment(ledger=ledger))
leak = bags.attack(totals, truth=old, before=prior)
predicted["totals"] = bags.learn(totals, data=old).predict_proba(new)[:, 1]
found.append(("totals", totals.guarantee, leak))

# %% [markdown]
# ## Third release: a model
# The unit of DP-SGD is a whole record, which includes the click, so its guarantee is restated for a label before it is
# charged. The guarantee assumes that floating-point noise is Gaussian. The attack guesses which rows the model was
# trained on, by their loss.

# %%
try:
    torch, _ = load_extra("torch"), load_extra("opacus")  # what is missing is found before the charge
    guarantee = Guarantee(unit=Unit.RECORD, epsilon=1.0, delta=1e-6)
    ledger.charge("clicks", guarantee.for_unit(Unit.LABEL), purpose="model by dp_sgd")
    how = {"clip": 1.0, "epochs": 10, "batch_size": 350, "learning_rate": 0.2, "rng": rng}
    made = train_dp_sgd(torch.nn.Linear(X.shape[1], 2), X_old, clicks, epsilon=1.0, delta=1e-6, **how)
    chances = made.module(torch.tensor(X, dtype=torch.float32)).softmax(dim=1).detach().numpy()
    losses = -np.log(chances[np.arange(len(y)), y])
    predicted["model"] = chances[7000:, 1]
    found.append(("model", made.guarantee, attack_losses(losses[:7000], losses[7000:], rng=rng)))
except MissingExtra as missing:
    print(f"the model is skipped: {missing}")

# %% [markdown]
# ## Fourth release: a leaderboard
# 20 scores on the held-out clicks, with noise, charged before the first. Each partner's model gets one. The others go
# to an attacker whose submissions are crafted so that their scores reveal the clicks.

# %%
metric, policy = Brier(), Laplace(epsilon=0.1)
guarantee = policy.guarantee(submissions=20)
ledger.charge("held-out clicks", guarantee, purpose="20 scores of a leaderboard")


def host(predictions):
    """Return what is shown for a submission."""
    return policy.release(metric.measure(held_out, predictions), state={}, rng=rng).text


winner = min(predicted, key=lambda name: float(host(predicted[name])))
guess = plain.predict_proba(X_new)
attacked = attack_competition(host, metric, policy, prior=guess, submissions=20 - len(predicted), rng=rng)
found.append(("scores", guarantee, leak_from_guesses(attacked.labels, held_out, baseline=guess.argmax(axis=1))))
predicted["scores"] = predicted[winner]

# %% [markdown]
# ## One too many
# Another partner wants the clicks with less noise. The ledger refuses, and no label is drawn.

# %%
try:
    learner.set_params(epsilon=2.0).fit(X_old, clicks)
except BudgetExceeded as refusal:
    print(f"refused: {refusal}")

# %% [markdown]
# ## What is guaranteed, what leaks, what is learned
# Leak: the share of the attack's guesses that are correct, with and without the release; for the model, the true and
# the false positive rate of the membership attack. AUC: that of the model learned from the release, on the held-out
# clicks. The share is the ledger's: at its delta, 20 scores of epsilon 0.1 cost less than 2.

# %%
print(f"{'release':<19}{'guarantee':<38}{'leak':>6}{'without':>9}{'AUC':>7}")
for name, guarantee, leak in found:
    auc = roc_auc_score(held_out, predicted[name])
    print(f"{name:<19}{guarantee!s:<38}{leak.rate:>6.1%}{leak.baseline:>9.1%}{auc:>7.3f}")
print(f"{'nothing hidden':<72}{roc_auc_score(held_out, guess[:, 1]):>7.3f}; the scores chose: {winner}")
for name in ledger.data_sets:
    for entry in ledger.statement(name).entries:
        print(f"charged: {entry.guarantee}, {entry.purpose}")
    print(f"{name}, together: {ledger.statement(name).used:.0%} of epsilon {budget.epsilon:g}, delta {budget.delta:g}")
print(f"one click, by all releases together: at most {budget}")
folder.cleanup()
