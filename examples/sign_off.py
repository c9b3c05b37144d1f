"""Signing off a release: audit the candidates, keep the one within the limits, charge the ledger, release it.

    python examples/sign_off.py

A clinic wants to hand the diagnoses of ``visits.csv`` to a partner who trains a model. Three candidates are audited:
each is made, attacked and learned from, and none is kept. The limit is an advantage of 10 percentage points over an
attacker who has no release. Of the candidates within it the most useful one is charged to the ledger and released.
"""

import tempfile
from pathlib import Path

import pandas as pd

from tacit import labels
from tacit.audit import read_plan, run_audit
from tacit.privacy import BudgetExceeded, Guarantee, Ledger, Unit
from tacit.privacy.payment import Payment

TABLE = Path(__file__).with_name("visits.csv")
LIMIT = 0.1
PLAN = f"""
[data]
file = '{TABLE}'
label = "ill"
[audit]
epsilons = []
[[labels]]
epsilon = 0.5
[[labels]]
epsilon = 1
[[labels]]
epsilon = 5
"""


def audit(folder):
    """Print what each candidate leaks and what it is good for, and return the epsilon to release with."""
    plan = folder / "tacit.toml"
    plan.write_text(PLAN, encoding="utf-8")
    kept = {}
    print(f"{'candidate':<42}{'advantage':>10}{'accuracy':>10}  within the limit")
    for finding in run_audit(read_plan(plan)).findings:
        within = finding.leak.advantage_interval.high < LIMIT
        if within:
            kept[finding.epsilon] = finding.utility.protected
        print(f"{finding.setting:<42}{finding.leak.advantage:>10.1%}{finding.utility.protected:>10.1%}  {within}")
    return max(kept, key=kept.get)


def release(folder, epsilon):
    """Charge the ledger and make the release; the same release again is free, another one may be refused."""
    ledger = Ledger.create(folder / "ledger.db")
    budget = Guarantee(unit=Unit.LABEL, epsilon=1.5)
    ledger.register(pd.read_csv(TABLE)["ill"], name="visits", budget=budget)
    payment = Payment(ledger=ledger)
    made = labels.protect(TABLE, labels.Plan(label="ill", epsilon=epsilon, features="all"), payment=payment)
    print(f"released: {made.guarantee}; {made.receipt}")
    try:
        labels.protect(TABLE, labels.Plan(label="ill", epsilon=5, features="all"), payment=payment)
    except BudgetExceeded as refused:
        print(f"refused: {refused}")


def main():
    """Audit, then release."""
    with tempfile.TemporaryDirectory() as folder:
        release(Path(folder), audit(Path(folder)))


if __name__ == "__main__":
    main()
