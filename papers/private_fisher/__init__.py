"""Private release of features chosen by the distance of the class means, and the Fisher rule learned from it."""
