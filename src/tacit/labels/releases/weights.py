"""What trains a model without tacit: plain columns of likelihoods and unbiased weights beside the released labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tacit.labels.plan import LIKELIHOOD, WEIGHT

if TYPE_CHECKING:
    from tacit.labels.mechanisms import LabelMechanism

__all__ = ["with_weights"]


def with_weights(batch: pa.RecordBatch, mechanism: LabelMechanism) -> pa.RecordBatch:
    """Return released rows with two columns for each class.

    ``likelihood_c`` is P(what was released | true label c), 1 for a row without a label. ``weight_c`` estimates
    1[true label = c] without bias, null for a row without a label, and is left out for a mechanism that has no such
    estimate. Both are computed from the released label alone.
    """
    evidence = mechanism.evidence(pa.Table.from_batches([batch]))
    columns = {f"{LIKELIHOOD}{name}": evidence.likelihood[:, c] for c, name in enumerate(evidence.classes)}
    unbiased = evidence.unbiased
    if unbiased is not None:
        weights = np.where(evidence.present[:, None], unbiased, np.nan)
        columns |= {f"{WEIGHT}{name}": weights[:, c] for c, name in enumerate(evidence.classes)}
    arrays = [pa.array(column, from_pandas=True) for column in columns.values()]
    return pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=[*batch.schema.names, *columns])
