"""Label privacy on images: Tables 1-5 and 8-11 of "Retraining with Predicted Hard Labels", and a recipe past them.

Made for one GPU without a network. Data travel in parts that fit a small transfer, and come back as JSON::

    python -m papers.label_retraining.images --pack DIR                # here: CIFAR-10 in parts
    python -m papers.label_retraining.images --probe --out DIR         # there: what is installed, how fast it is
    python -m papers.label_retraining.images --data DIR --out DIR      # there: the tables; resumes
    python -m papers.label_retraining.images --data DIR --out DIR --tables none --recipe
    python -m papers.label_retraining.images --merge DIR               # here: into benchmarks/results
    python -m papers.label_retraining.images --quick --out DIR         # a minute on a processor, made-up images

As in the paper, the tables train on 45,000 rows, whose labels epsilon is for, and stop a training by the true labels of
5,000 others, which are not protected; the protocol ``no_validation`` does not look at them. Unlike there, batches have
128 images, not 32; a training sees 672,000, as there on CIFAR-10 (896,000 on CIFAR-100); the rate is 0.2 on CIFAR-10
(0.1) and 0.02 on CIFAR-100 (0.005); cutout is in place of brightness and contrast. At epsilon 1 twice as many images
are seen: ``--epsilons 1 --images 1344000``. Table 10 is printed for 100 epochs: ``--images 4500000``. Other settings
can be named; each point keeps its own. ``--merge DIR --tried`` keeps points of settings that are not the table's beside
the results, not among them.

Mechanisms, losses and retraining choices are tacit's own modules (``parts.py`` says how they are imported where not all
of tacit's dependencies are installed).
"""
