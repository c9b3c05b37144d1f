"""Whether anything simpler than the default learns more from randomized labels: every set, learner and epsilon."""
