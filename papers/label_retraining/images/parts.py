"""tacit's mechanisms, losses and choices, also where most of tacit's dependencies are missing.

The learners of labels need Arrow, scikit-learn, Ibis and more, which a bare GPU machine lacks. The modules used here
need NumPy, SciPy and mpmath. Where the whole package does not import, its packages are entered into ``sys.modules``
without running their ``__init__``, and third-party modules that are not installed get stand-ins that raise when used.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

SOURCE = Path(__file__).parents[3] / "src"
BARE = (
    "tacit",
    "tacit.privacy",
    "tacit.privacy.noise",
    "tacit.labels",
    "tacit.labels.mechanisms",
    "tacit.labels.fitting",
    "tacit.labels.learners",
    "tacit.labels.learners.images",
    "tacit.labels.learners.network",
)
ABSENT = ("sklearn", "pyarrow", "dp_accounting")  # what the modules used here import and never call


class _Absent(ModuleType):
    """A module that is not installed: its names can be imported, none can be called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*_: object, **__: object) -> Any:
            raise ModuleNotFoundError(f"{self.__name__}.{name} is not installed here")

        return type(name, (), {"__init__": missing})


class _AbsentFinder:
    """Finds the modules of packages that are not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in ABSENT else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def _enter_bare() -> None:
    for name in [name for name in sys.modules if name == "tacit" or name.startswith("tacit.")]:
        del sys.modules[name]
    for name in BARE:
        package = ModuleType(name)
        package.__path__ = [str(SOURCE.joinpath(*name.split(".")))]
        package.__spec__ = ModuleSpec(name, None, is_package=True)
        sys.modules[name] = package
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, package)
    sys.meta_path.append(_AbsentFinder())


try:
    importlib.import_module("tacit.labels.learners.classifier")
    WHOLE = True
except (ModuleNotFoundError, ImportError):
    WHOLE = False
    _enter_bare()

_response = importlib.import_module("tacit.labels.mechanisms.response")
_prior = importlib.import_module("tacit.labels.mechanisms.prior")
_retrain = importlib.import_module("tacit.labels.learners.retrain")
_losses = importlib.import_module("tacit.labels.learners.network.losses")
_temperature = importlib.import_module("tacit.labels.fitting.temperature")
_expect = importlib.import_module("tacit.labels.fitting.expect")
_neighbors = importlib.import_module("tacit.labels.learners.neighbors")
_files = importlib.import_module("tacit.privacy.files")

RandomizedResponse = _response.RandomizedResponse
PriorRandomizedResponse = _prior.PriorRandomizedResponse
AllRows, ConsensusRows, ConfidentRows = _retrain.AllRows, _retrain.ConsensusRows, _retrain.ConfidentRows
SoftCrossEntropy, ForwardCorrected = _losses.SoftCrossEntropy, _losses.ForwardCorrected
scale_temperature = _temperature.scale_temperature
posterior_targets = _expect.posterior_targets
expect_from_neighbors = _neighbors.expect_from_neighbors
write_atomically = _files.write_atomically
