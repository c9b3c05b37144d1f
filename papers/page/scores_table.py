"""Paper 003, Table 1: which losses tell labels, under which noise."""

from __future__ import annotations

from typing import Any

from papers.page.items import MEASURED, Item, grid, read, verdict

__all__ = ["table_1"]

FILE = "scores_table1.json"
PRINTED = {  # noise; local computation with one query, with several
    "Binary Cross Entropy": ("any noise (Theorem 3)", "O(2^N)", "O(poly(N))"),
    "K-ary Cross Entropy": ("any noise (Theorem 3)", "O(K^N)", ""),
    "Softmax Cross Entropy": ("any noise (Section B)", "O(K^N)", ""),
    "Sigmoid Cross Entropy": ("any noise (Section B)", "O(2^N)", "O(poly(N))"),
    "Itakura-Saito Divergence": ("any noise (Corollary 2)", "O(2^N)", "O(poly(N))"),
    "Squared Euclidean": ("no noise (Corollary 3)", "O(2^N)", "O(poly(N))"),
    "Norm-like Divergence": ("no noise (Corollary 3)", "O(2^N)", "O(poly(N))"),
    "Mahalanobis Divergence": ("any noise (Theorem 8)", "O(2^N)", ""),
}


def table_1() -> Item:
    """Return the table as printed, with what was measured in each cell."""
    document = read(FILE)
    points, settings = document["points"], document["settings"]
    queries = [query for point in points.values() for query in point["one_query"].values()]
    right = {method: min(query[method] for query in queries) for method in ("search", "digits")}
    head = ("loss", "K", "printed", "ours, 3 rows", "one query, printed", "search", "digits, O(N)")
    many = f"ours: {settings['whole_set']} rows, tau {settings['tau']:g}"
    return Item(
        name="Table 1",
        shows="Losses from which labels can be inferred, under which noise and with how much computation.",
        status=MEASURED,
        seen=verdict(_holds(name, points[name]) for name in PRINTED),
        body=(
            *grid((*head, "several queries, printed", many), [_row(name, points[name]) for name in PRINTED]),
            "",
            f"Of {settings['sets']:,} label sets of each size, search reads {right['search']:.0%} and digits "
            f"{right['digits']:.0%} from one noisy score. A bounded loss withstands some noise, where none is "
            "printed, but not any, as is printed for the Mahalanobis divergence.",
        ),
        seeds=f"{settings['sets']:,} label sets",
        commands=("python -m papers.score_attacks.table1",),
        files=(FILE,),
        discussed="[labels from scores](scores.md)",
    )


def _row(name: str, point: dict[str, Any]) -> tuple[str, ...]:
    noise, one, many = PRINTED[name]
    rows = max(point["one_query"], key=int)
    query, whole = point["one_query"][rows], point["many_queries"]
    return (
        name,
        str(point["classes"]),
        noise,
        "any noise" if point["largest_noise"] is None else f"tau up to {point['largest_noise']:.4f}",
        one,
        f"{1000 * query['search_seconds']:.0f} ms, N = {rows}",
        f"{1000 * query['digits_seconds']:.1f} ms",
        many,
        f"{whole['queries']} queries, {whole['share']:.0%}",
    )


def _holds(name: str, point: dict[str, Any]) -> bool:
    """Return whether labels are told under the noise that is printed."""
    return PRINTED[name][0].startswith("no noise") or point["largest_noise"] is None
