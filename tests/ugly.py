"""A credit table as a German bank exports it: semicolons, decimal commas, umlauts in Latin-1, and odd column names."""

from pathlib import Path

import numpy as np
import pyarrow as pa

__all__ = ["credit_table", "write_german_csv"]

_DAY = 24 * 3600
_STATES = ["Thüringen", "Baden-Württemberg", 'Sachsen "Ost"', "Hessen; Süd", "Bayern"]
_REMARKS = ['sagt "nein"', "erste Zeile\nzweite Zeile", "ok; siehe Akte", "50 % Anzahlung"]


def credit_table(rows, *, seed=0):
    """Return loans with labels of every kind: 0.4% of 1, losses that are mostly 0, words with spaces, 40 classes."""
    rng = np.random.default_rng(seed)
    income, rate = np.exp(rng.normal(10, 0.6, rows)).round(2), rng.uniform(-0.5, 14, rows).round(3)
    risk = (rate - 7) / 4 - np.log(income / 22_000) + rng.normal(0, 0.7, rows)
    default = np.zeros(rows, dtype=np.int64)
    default[np.argsort(-risk)[: max(4, rows // 250)]] = 1
    lost = np.where(rng.random(rows) < 0.12, np.exp(rng.normal(7, 1.6, rows) + risk / 3), 0).round(2)
    balance = rng.normal(0, 4e4, rows).round(2)
    balance[:2] = 3.5e12, -8.25e11  # a typing error is part of every export
    return pa.table(
        {
            "Konto-Nr.": [f"{number:08d}" for number in 4_711 + 13 * np.arange(rows)],
            "Name": [f"Müller-{k}; {first}" for k, first in enumerate(rng.choice(["Jörg", "Zoë", 'Ann "Änni"'], rows))],
            "Alter": pa.array(rng.integers(18, 90, rows), mask=rng.random(rows) < 0.05),
            "Zins %": rate,
            "Saldo.EUR": balance,
            "Einkommen (€)": pa.array(income, mask=rng.random(rows) < 0.1),
            'Kunde "seit"': pa.array(rng.integers(7_000, 19_000, rows).astype("int32")).cast(pa.date32()),
            "letzter Kontakt": pa.array(1_672_531_200 + rng.integers(0, 730 * _DAY, rows)).cast(
                pa.timestamp("s", tz="Europe/Berlin")
            ),
            "Student": rng.choice(["ja", "nein"], rows, p=[0.2, 0.8]),
            "online": rng.integers(0, 2, rows),
            "leer": pa.nulls(rows, pa.string()),
            "Währung": ["EUR"] * rows,
            "PLZ": [f"{number:05d}" for number in rng.integers(1_000, 1_080, rows)],
            "Bundesland": pa.array(rng.choice(_STATES, rows), mask=rng.random(rows) < 0.1),
            "Bemerkung": pa.array(rng.choice(_REMARKS, rows), mask=rng.random(rows) < 0.4),
            "Ausfall": default,
            "Verlust": lost,
            "Zusage": np.where(risk < 0.3, "Yes", "No "),
            "Branche": [f"Branche {1 + (k * k + int(3 * r)) % 40:02d}" for k, r in enumerate(risk)],
            "Fällig am": pa.array(rng.integers(20_000, 24_000, rows).astype("int32")).cast(pa.date32()),
            "Status": ["offen"] * rows,
        }
    )


def write_german_csv(table, path):
    """Write Latin-1 with semicolons, decimal commas, days first, and quotes where a value needs them."""
    lines = [";".join(map(_cell, table.column_names))]
    lines += [";".join(map(_cell, row.values())) for row in table.to_pylist()]
    Path(path).write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".replace(".", ",")
    if hasattr(value, "hour"):
        return value.isoformat(sep=" ")
    if hasattr(value, "year"):
        return f"{value:%d.%m.%Y}"
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ';"\n') else text
