"""A table as hospitals have them: ids, names, dates, text, gaps, a constant, and labels of three kinds."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

__all__ = ["hospital", "hospital_table"]

_DAY = 24 * 3600


def hospital_table(rows, *, seed=0):
    """Return patients with labels of three kinds: three words, 0.4% of 1, and numbers (a few days, any cost)."""
    rng = np.random.default_rng(seed)
    age, smoker = rng.integers(18, 95, rows), rng.random(rows) < 0.3
    ward = rng.choice(["A", "B", "C", "intensive care"], rows, p=[0.4, 0.3, 0.25, 0.05])
    risk = (age - 55) / 15 + 0.8 * smoker + 1.5 * (ward == "intensive care") + rng.normal(0, 0.7, rows)
    ill = np.zeros(rows, dtype=np.int64)
    ill[np.argsort(-risk + rng.normal(0, 0.5, rows))[: max(4, rows // 250)]] = 1
    cities = [f"{name} {k}" for name in ("Zürich", "São Paulo", "Oslo, N", "'s-Hertogenbosch") for k in range(30)]
    return pa.table(
        {
            "patient": np.arange(rows) + 100_000,
            "name": [f"{first} O'{k}, jr." for k, first in enumerate(rng.choice(["Ann", "Bö", "Cyd"], rows))],
            "born": pa.array(rng.integers(-14_000, 13_000, rows).astype("int32")).cast(pa.date32()),
            "visit": pa.array(1_672_531_200 + rng.integers(0, 730 * _DAY, rows)).cast(pa.timestamp("s")),
            "age": age,
            "weight": pa.array(rng.normal(75, 15, rows).round(1), mask=rng.random(rows) < 0.07),
            "ward": ward,
            "city": pa.array(rng.choice(cities, rows), mask=rng.random(rows) < 0.15),
            "smoker": smoker,
            "note": pa.array(rng.choice(["ok", "see file", "call back, please"], rows), mask=rng.random(rows) < 0.2),
            "zip": [f"{number:05d}" for number in rng.integers(1_000, 1_150, rows)],
            "country": ["CH"] * rows,
            "severity": np.where(risk > 1.3, "severe", np.where(risk > 0, "mild", "none")),
            "ill": ill,
            "days": np.clip(np.round(2 * risk + 3), 0, 9).astype(np.int64),
            "cost": np.exp(7 + 0.4 * risk + rng.normal(0, 0.3, rows)).round(2),
        }
    )


@pytest.fixture
def hospital(tmp_path, monkeypatch):
    """Write visits.csv, a few of its rows, and rows that were never used into the working folder."""
    monkeypatch.chdir(tmp_path)
    whole = hospital_table(1_000)
    pa.csv.write_csv(whole.slice(0, 700), "visits.csv")
    pa.csv.write_csv(whole.slice(0, 30), "few.csv")
    pa.csv.write_csv(whole.slice(700), "later.csv")
    return tmp_path
