"""The main job: run the surfaces over a plan and compare guarantee, leak and utility."""

from tacit.audit.answer import Permission, ReleaseState, RunLimits
from tacit.audit.config import read_plan
from tacit.audit.faults import faults
from tacit.audit.finding import Finding
from tacit.audit.joint import JointFinding
from tacit.audit.plan import AuditPlan, PlannedRelease, bundled_plan
from tacit.audit.result import AuditResult, SkippedSurface
from tacit.audit.run import run_audit
from tacit.audit.total import ReleaseCost, TotalCost
from tacit.audit.tracking import log_audit
from tacit.audit.utility import Utility
from tacit.audit.verdict import Verdict, judge
from tacit.privacy.plan import SURFACES

__all__ = [
    "SURFACES",
    "AuditPlan",
    "AuditResult",
    "Finding",
    "JointFinding",
    "Permission",
    "PlannedRelease",
    "ReleaseCost",
    "ReleaseState",
    "RunLimits",
    "SkippedSurface",
    "TotalCost",
    "Utility",
    "Verdict",
    "bundled_plan",
    "faults",
    "judge",
    "log_audit",
    "read_plan",
    "run_audit",
]
