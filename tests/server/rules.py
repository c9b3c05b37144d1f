"""Competition rules from a policy that knows the epsilon of one score, as tests state what they expect; the ledger."""

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger
from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import CompetitionPlan, Rules, ServerSettings
from tacit.server.key import ServerKey


def rules_of(metric=None, policy=Laplace(epsilon=0.2), *, submissions=100, final=Laplace(epsilon=5.0), **parts):  # noqa: B008
    """Return rules without a limit for all teams together; a final policy of None is the live one."""
    final = policy if final is None else final
    plan = CompetitionPlan(
        metric=(metric or Accuracy()).unbound,
        policy=policy.unbound,
        epsilon=epsilon_of(policy, submissions=submissions),
        submissions=submissions,
    )
    parts = {"together": None, "teams": 20, **parts}
    return Rules(plan=plan, final=final.unbound, final_epsilon=epsilon_of(final), **parts)


def epsilon_of(policy, *, submissions=1):
    """Return the epsilon of so many scores; None without a guarantee."""
    kept = policy.guarantee(submissions=submissions)
    return kept.epsilon if isinstance(kept, Guarantee) else None


def ledger_of(settings: ServerSettings) -> Ledger:
    """Return a server's ledger, opened with its key unless others share it."""
    sealing = None if settings.ledger else ServerKey.find(settings.key_location)
    return Ledger.open(settings.ledger_location, sealing=sealing)
