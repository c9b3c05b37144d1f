"""The main job: run the surfaces over a plan and set promise against leak against use."""

from tacit.audit.config import read_plan
from tacit.audit.plan import SURFACES, Limits, Plan, Step, bundled_plan
from tacit.audit.planned import PlannedRelease
from tacit.audit.result import AuditResult, Finding, Skipped, Total, Utility
from tacit.audit.run import faults, run_audit
from tacit.audit.tracking import log_audit

__all__ = [
    "SURFACES",
    "AuditResult",
    "Finding",
    "Limits",
    "Plan",
    "PlannedRelease",
    "Skipped",
    "Step",
    "Total",
    "Utility",
    "bundled_plan",
    "faults",
    "log_audit",
    "read_plan",
    "run_audit",
]
