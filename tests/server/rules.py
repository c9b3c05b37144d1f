"""Competition rules from a policy that knows the epsilon of one score, as tests state what they expect."""

from tacit.privacy.guarantee import Guarantee
from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import CompetitionPlan, Rules


def rules_of(metric=None, policy=Laplace(epsilon=0.2), *, submissions=100, final=Laplace(epsilon=5.0), **parts):  # noqa: B008
    """Return rules; a final policy of None is the live one."""
    final = policy if final is None else final
    plan = CompetitionPlan(
        metric=(metric or Accuracy()).unbound,
        policy=policy.unbound,
        epsilon=epsilon_of(policy, submissions=submissions),
        submissions=submissions,
    )
    return Rules(plan=plan, final=final.unbound, final_epsilon=epsilon_of(final), **parts)


def epsilon_of(policy, *, submissions=1):
    """Return the epsilon of so many scores; None without a guarantee."""
    kept = policy.guarantee(submissions=submissions)
    return kept.epsilon if isinstance(kept, Guarantee) else None
