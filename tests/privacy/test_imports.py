"""What a command that charges a ledger, or a leak without a delta, must not wait for."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("tacit.privacy", ["numpy", "pyarrow", "sqlalchemy", "pandas", "scipy", "dp_accounting", "alembic"]),
        ("tacit.privacy.plan", ["numpy", "pyarrow", "sqlalchemy", "mpmath"]),
        ("tacit.privacy.noise", ["pandas", "scipy"]),
        ("tacit.labels.releases.protect", ["ibis", "scipy", "sklearn"]),
        ("tacit.scores.releases.protect", ["ibis", "sklearn"]),
        ("tacit.leak", ["pandas", "scipy.stats", "scipy.optimize", "sklearn"]),
    ],
)
def test_slow_packages_wait_until_they_are_needed(module, absent):
    look = f"import sys, {module}; print([name for name in {absent} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
