"""Label privacy on images: Tables 1, 3 and 8 of "Retraining with Predicted Hard Labels", and a recipe past them.

Made for one GPU without a network. Data travel in parts that fit a small transfer, and come back as JSON::

    python -m benchmarks.published.labels_images --pack DIR                # here: CIFAR-10 in two parts
    python -m benchmarks.published.labels_images --probe --out DIR         # there: what is installed, how fast it is
    python -m benchmarks.published.labels_images --data DIR --out DIR      # there: the tables; resumes
    python -m benchmarks.published.labels_images --data DIR --out DIR --tables none --recipe
    python -m benchmarks.published.labels_images --merge DIR               # here: into benchmarks/results
    python -m benchmarks.published.labels_images --quick --out DIR         # a minute on a processor, made-up images

The tables train on 45,000 rows with a fixed schedule: the paper's 5,000 validation rows are left out and not looked at.
Its temperature, which it tunes, is replaced by the inverse of the transition matrix.

Mechanisms, losses and retraining choices are tacit's own modules (``parts.py`` says how they are imported where not all
of tacit's dependencies are installed).
"""
