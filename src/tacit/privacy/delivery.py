"""From a request to a release in its place: charged once, drawn after the charge, never lost."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tacit.privacy.errors import InvalidInput, InvalidRelease, LedgerError
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.plan import Plan
from tacit.privacy.releases.release import Release
from tacit.privacy.store import ReleaseStore, digest_of, name_of
from tacit.privacy.targets import Overwrite, Target, check_target
from tacit.privacy.unfinished import temporary_folder

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger.requests import DeliveredRelease, ReleaseCharge
    from tacit.privacy.payment import Payment

__all__ = ["ReleaseRequest", "deliver"]

R = TypeVar("R", bound=Release)
Batches = Callable[[], Iterable["pa.RecordBatch"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """What is known before anything is drawn.

    Parameters
    ----------
    guarantee
        What the release will state, and what is charged.
    seeded
        Whether its noise comes from a seeded generator; such a release is never charged.
    rows
        Reads every column that the plan reads, including the private ones; None if rows have no order.
    private
        The columns by which the ledger recognizes the data: the label, or all columns if records are private.
    data
        Reads everything besides the table that the release depends on: the submissions to be scored.
    shown
        Whether code of the owner sees what is drawn before all of it is: a draw that fails is then not repeated.
    """

    plan: Plan
    guarantee: AnyGuarantee
    seeded: bool
    rows: Batches | None
    private: Sequence[str]
    data: Sequence[Batches] = ()
    shown: bool = False

    @property
    def purpose(self) -> str:
        """One line for the ledger."""
        how = getattr(self.plan, "mechanism", None) or getattr(self.plan, "policy", None)
        return self.plan.surface if how is None else f"{self.plan.surface} by {how}"


def deliver(
    kind: type[R],
    request: ReleaseRequest,
    *,
    draw: Callable[[], R],
    out: Target = None,
    payment: Payment | None = None,
    sources: Sequence[Path] = (),
) -> R:
    """Draw a release and write it to ``out``; with a payment, charge first and deliver exactly once.

    Holding the request's lock, which ends with its process, one transaction finds the request's standing charge or
    makes it. The release is written into the store and synced, its SHA-256 is recorded in the ledger, and only then is
    it published. So a charge without a recorded digest has published nothing, and drawing again is free. A charge
    with a digest delivers those bytes.

    Parameters
    ----------
    draw
        Draws the release; called once, after the charge. The release may contain batches that are drawn while they are
        written.
    out
        Where to write; None returns a release in memory.
    sources
        Input files, which must not be overwritten.

    Raises
    ------
    InvalidInput
        Before anything is charged or written.
    BudgetExceeded
        The ledger refuses; nothing is drawn.
    """
    check_target(out, request.plan, sources=sources, payment=payment)
    target = None if out is None else Path(out.path if isinstance(out, Overwrite) else out)
    force = isinstance(out, Overwrite)
    if payment is not None:
        return _paid(kind, request, payment, draw=draw, target=target, force=force)
    if target is None:
        with temporary_folder() as folder:
            path = folder / f"release{request.plan.suffix}"
            draw().write(path)
            return kind.read(path).in_memory()
    draw().write(target, force=force)
    return kind.read(target)


def _paid(
    kind: type[R],
    request: ReleaseRequest,
    payment: Payment,
    *,
    draw: Callable[[], R],
    target: Path | None,
    force: bool,
) -> R:
    key = _key(request, payment)
    store = ReleaseStore.at(payment.folder)
    with store.locked(key.name):
        charge = key.settle()
        file = f"{name_of(key.name, charge.entry)}{request.plan.suffix}"
        kept = charge.delivery or _draw(store, charge, payment, draw=draw, file=file, shown=request.shown)
        if charge.delivery is not None:
            _check_whole(kind, store, kept, charge)
        _check_plan(kind, store.path(kept.file), charge, request)
        if target is not None:
            _publish(kind, store, kept, target, force=force)
    release = kind.read(store.path(kept.file) if target is None else target)
    return replace(
        release if target is not None else release.in_memory(),
        receipt=charge.receipt,
        repeated=charge.delivery is not None,
    )


def _check_whole(kind: type[Release], store: ReleaseStore, kept: DeliveredRelease, charge: ReleaseCharge) -> None:
    """Raise if the delivered bytes are gone: a file, or a member of a folder whose manifest exists."""
    path = store.path(kept.file)
    try:
        if not store.holds(kept.file, kept.digest):
            raise InvalidRelease(f"{path} no longer contains it")
        if path.is_dir():
            kind.read(path).in_memory()
    except InvalidRelease as error:
        raise LedgerError(
            f"the release that {charge.entry} paid for was delivered, and {error}; restore {path}, or charge for "
            "another release with again"
        ) from error


def _check_plan(kind: type[Release], kept: Path, charge: ReleaseCharge, request: ReleaseRequest) -> None:
    """Raise if a charge that was named by its id paid for another release than this one."""
    plan = kind.read(kept).plan
    if plan is None or plan.request() != request.plan.request():
        raise LedgerError(f"{charge.entry} paid for a release of another plan; resume it with its own")


@dataclass(frozen=True, slots=True)
class _RequestKey:
    """The name of a request in the store, and how its charge is found or made."""

    name: str
    settle: Callable[[], ReleaseCharge]


def _key(request: ReleaseRequest, payment: Payment) -> _RequestKey:
    guarantee = _chargeable(request)
    ledger = payment.ledger
    prints, known = _recognize(request, ledger)
    if payment.entry is not None:
        entry = payment.entry
        name = ledger.request_of(entry).hex()  # the same lock and file as without the entry's id
        return _RequestKey(name, lambda: ledger.charge_of(entry, guarantee, key=known, prints=prints))
    key = known or ledger.key_of(secrets.token_bytes(32))
    return _RequestKey(
        key.hex(),
        lambda: payment.settle(key, guarantee, purpose=request.purpose, prints=prints),
    )


def _recognize(request: ReleaseRequest, ledger: Ledger) -> tuple[Mapping[int, bytes] | None, bytes | None]:
    """Return the rows' fingerprints and the request's key; rows without an order have neither."""
    if request.rows is None:
        return None, None
    prints, rows = ledger.recognize(request.rows(), private=request.private)
    data = (ledger.recognize(one(), private=())[1] for one in request.data)
    return prints, ledger.key_of(request.plan.request().encode(), rows, *data)


def _chargeable(request: ReleaseRequest) -> Guarantee:
    if request.seeded:
        raise InvalidInput("must not be given with a ledger: a seeded release is not for publication", field="seed")
    if not isinstance(request.guarantee, Guarantee):
        raise InvalidInput(f"must have a guarantee to charge for, got {request.guarantee}", field="ledger")
    return request.guarantee


def _draw(
    store: ReleaseStore, charge: ReleaseCharge, payment: Payment, *, draw: Callable[[], Release], file: str, shown: bool
) -> DeliveredRelease:
    from tacit.privacy.ledger.requests import DeliveredRelease

    store.remove_unfinished(file)
    try:
        draw().write(store.path(file))
    except BaseException:
        if shown:  # no file has this digest, so that asking again is refused and not drawn anew
            payment.record_delivery(charge.entry, DeliveredRelease(digest=secrets.token_bytes(32), file=file))
        raise
    kept = DeliveredRelease(digest=digest_of(store.path(file)), file=file)
    try:
        payment.record_delivery(charge.entry, kept)
    except LedgerError:  # voided meanwhile: a release without a charge is not kept
        store.remove_unfinished(file)
        raise
    return kept


def _publish(kind: type[R], store: ReleaseStore, kept: DeliveredRelease, target: Path, *, force: bool) -> None:
    if store.path(kept.file).suffix == target.suffix or store.path(kept.file).is_dir():
        store.publish(kept.file, target, force=force)
    else:  # requested in another format than it was first written in
        kind.read(store.path(kept.file)).write(target, force=force)
