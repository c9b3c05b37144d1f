"""``tacit labels attack``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, AttackSeed, EstimatorName, estimator_of, rng_of, show_progress

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.labels.attacks.acted import ResponseTest
    from tacit.labels.attacks.guess import LabelGuesses
    from tacit.privacy.release import Release

__all__ = ["attack"]


ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file of labels.")]
FeatureFile = Annotated[
    Path | None, typer.Option(help="A table of features in the order of the rows. Default: those in the release.")
]
TruthFile = Annotated[Path | None, typer.Option(help="A table with the true labels, to count right guesses.")]
TruthColumn = Annotated[str | None, typer.Option(help="The column of true labels there.")]
EstimatorOption = Annotated[
    EstimatorName, typer.Option(help="What learns labels from features: logistic regression, or boosted trees.")
]


def attack(
    release: ReleaseFile,
    features: FeatureFile = None,
    truth: TruthFile = None,
    label: TruthColumn = None,
    estimator: EstimatorOption = EstimatorName.LOGISTIC,
    seed: AttackSeed = None,
    as_json: AsJson = False,
) -> None:
    """Guess every label from a release, alone and with the features, as well as can be.

    Without the true labels: how sure the attacker is, and the largest advantage that the guarantee allows. With them:
    how often the guesses are right, and whether the labels were randomized as claimed; if not, the exit code is 1.

    Example: tacit labels attack visits.release.parquet --truth visits.csv --label ill
    """
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.release import read_release

    if (truth is None) != (label is None):
        raise InvalidInput("--truth and --label must stand together")
    released = read_release(release)
    known = None if truth is None or label is None else _truth(truth, label)
    found = _guess(released, _features(released, features, private=label), estimator, seed)
    results = {name: _result(guesses, known) for name, guesses in found.items()}  # checks the truth
    test = None if known is None else _acted(released, known)
    if as_json:
        acted = test and {"acted": test.acted(), "p_value": test.p_value, "sentence": str(test)}
        typer.echo(json.dumps({"guarantee": released.guarantee.to_json(), **results, "acted": acted}, indent=1))
    else:
        _print(released, results, test)
    if test is not None and not test.acted():
        raise typer.Exit(1)


def _guess(
    release: Release, X: NDArray[Any] | None, estimator: EstimatorName, seed: int | None
) -> dict[str, LabelGuesses]:
    from tacit.labels.attacks.guess import guess_labels, guess_labels_with_features

    with show_progress("attack") as report:
        found = {"alone": guess_labels(release)}
        report(1, 2)
        if X is not None:
            model = estimator_of(estimator)
            found["with_features"] = guess_labels_with_features(release, X, model=model, rng=rng_of(seed))
    return found


def _truth(path: Path, label: str) -> pa.ChunkedArray:
    from tacit.data import load_table, read_rows
    from tacit.data.names import check_present

    table = load_table(path)
    check_present(label, table.columns, argument="--label")
    return read_rows(table, columns=[label])[label]


def _features(release: Release, path: Path | None, *, private: str | None) -> NDArray[Any] | None:
    import pyarrow as pa

    from tacit.data import load_table, read_rows
    from tacit.labels.fitting.encode import FeatureEncoder
    from tacit.labels.releases.evidence import PRIOR, STAGE
    from tacit.labels.releases.source import LABEL

    rows = pa.table(release.value) if path is None else read_rows(load_table(path))
    own = {LABEL, private, release.mechanism.get("column")}
    if path is None and "stages" in release.mechanism:
        own |= {STAGE, PRIOR}
    names = [name for name in rows.column_names if name not in own]
    return FeatureEncoder.of(rows, columns=names).encode(rows) if names else None


def _acted(release: Release, truth: object) -> ResponseTest | None:
    from tacit.labels.attacks.acted import did_it_act
    from tacit.labels.mechanisms.response import RandomizedResponse

    said = release.mechanism
    if said["name"] != RandomizedResponse.name or said.get("stages", 1) != 1:
        return None
    return did_it_act(truth, release.value["label"], epsilon=said["epsilon"], classes=said["classes"])


def _result(guesses: LabelGuesses, truth: object) -> dict[str, Any]:
    from tacit.leak import ABSTAIN

    leak = None if truth is None else guesses.leak(truth)
    return {
        "expected_rate": float(guesses.confidence[guesses.guesses != ABSTAIN].mean()),
        "largest_advantage": guesses.ceiling,
        "leak": leak and leak.to_json(),
        "sentence": str(leak) if leak else None,
    }


def _print(release: Release, results: dict[str, dict[str, Any]], test: ResponseTest | None) -> None:
    typer.echo(f"{release}.")
    for name, result in results.items():
        what = "From the release alone" if name == "alone" else "From the release and the features"
        typer.echo(
            f"{what}: by the attacker's own count {result['expected_rate']:.1%} of the guesses are right; under that "
            f"prior the guarantee allows an advantage of at most {result['largest_advantage']:.3f}."
        )
        if result["sentence"]:
            typer.echo(f"  {result['sentence']}")
    if test is not None:
        typer.echo(f"{test}.")
