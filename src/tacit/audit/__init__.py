"""The main job: run the surfaces and set promise against leak against use."""

from tacit.audit.result import AuditResult, Finding
from tacit.audit.run import SURFACES, run_audit

__all__ = ["SURFACES", "AuditResult", "Finding", "run_audit"]
