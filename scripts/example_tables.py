"""Write the tables of the guide: visits of a made-up clinic to examples/, and two submissions that predict them.

    python scripts/example_tables.py

``visits.csv`` is the private table, ``later.csv`` has visits like them that no release has used. ``age_only.csv`` and
``all_columns.csv`` are predictions of ``visits.csv``, one probability of "yes" per row.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

FOLDER = Path(__file__).parents[1] / "examples"


def draw_visits(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the features of so many visits."""
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(52, 17, rows), 18, 95).round().astype(int),
            "pulse": np.clip(rng.normal(74, 10, rows), 45, 130).round().astype(int),
            "weight": np.clip(rng.normal(76, 14, rows), 40, 140).round(1),
            "ward": rng.choice(["east", "north", "west"], rows, p=[0.5, 0.3, 0.2]),
            "smoker": rng.choice(["no", "yes", ""], rows, p=[0.68, 0.22, 0.1]),
        }
    )


def probability(visits: pd.DataFrame, *, pulse: float = 0.1, smoker: float = 1.5) -> npt.NDArray[np.float64]:
    """Return the probability of being ill; without the other effects, by age alone."""
    logit = -1.8 + 0.1 * (visits["age"] - 52) + pulse * (visits["pulse"] - 74) + smoker * (visits["smoker"] == "yes")
    return (1 / (1 + np.exp(-logit))).to_numpy()


def tables() -> dict[str, str]:
    """Return the text of every table by its name."""
    rng = np.random.default_rng(0)
    made = {}
    for name, rows in (("visits", 2000), ("later", 1000)):
        made[name] = draw_visits(rows, rng)
        made[name]["ill"] = np.where(rng.random(rows) < probability(made[name]), "yes", "no")
    visits = made["visits"]
    made["age_only"] = pd.DataFrame({"p": probability(visits, pulse=0, smoker=0).round(3)})
    made["all_columns"] = pd.DataFrame({"p": probability(visits).round(3)})
    return {f"{name}.csv": table.to_csv(index=False, lineterminator="\n") for name, table in made.items()}


def main() -> None:
    """Write the tables."""
    for name, text in tables().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
