"""Features end to end: select a few with noise, learn from them, link them; rows, then totals.

    python examples/features.py

On Landsat pixels, 36 bands and six kinds of soil: half of the rows are released, the other half judges what is learned.
Noisy rows need a large epsilon to teach anything; the totals of the classes teach most of it at epsilon 1.
"""

from tacit import features
from tacit.data import satellite
from tacit.features.learners.fisher import FisherClassifier
from tacit.privacy.noise import system_rng


def main():
    """Print one line per release."""
    rng, data = system_rng(), satellite()
    shuffled = rng.permutation(len(data))
    private, later = data.take(shuffled[::2]), data.take(shuffled[1::2])
    clear = FisherClassifier().fit(private.X, private.y).score(later.X, later.y)
    print(f"{'release':<54}{'accuracy':>9}{'linked':>8}")
    print(f"{'36 bands in clear':<54}{clear:>9.1%}")
    for mechanism, epsilon in (("rows", 1), ("rows", 16), ("totals", 1), ("totals", 4)):
        plan = features.Plan(
            label=data.label,
            mechanism=mechanism,
            select=6,
            ranges={"*": (-3, 3)},  # the bands are standardized
            epsilon=epsilon,
            delta=1e-5,
        )
        release = features.protect(private.table, plan)
        model = features.learn(release, test=later.table)
        linked = "no rows"
        if mechanism == "rows":  # whoever has the private rows guesses which of them a released one is
            linked = f"{features.attack(release, truth=private.table).rate:.1%}"
        accuracy = model.report_.accuracy
        print(f"{plan.describe():<54}{accuracy:>9.1%}{linked:>8}")


if __name__ == "__main__":
    main()
