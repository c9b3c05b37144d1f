"""The data sets that benchmarks and papers measure on, from the folder that ``TACIT_DATA`` names.

They are not part of the package, because some may not be redistributed. An error about a missing file names it:

| loader | file | rows | classes | source | license |
| --- | --- | --- | --- | --- | --- |
| `cifar10` | cifar10.parquet | 50,000 + 10,000 | 10 | Krizhevsky (2009) | none stated |
| `cifar100` | cifar100.parquet | 50,000 + 10,000 | 100 in 20 | Krizhevsky (2009) | none stated |
| `cifar100n_labels` | cifar100n_labels.parquet | 50,000 | 100 in 20 | Wei et al. (2022), CIFAR-100N | CC BY-NC 4.0 |
| `mnist` | mnist.parquet | 60,000 + 10,000 | 10 | LeCun, Cortes and Burges | usually CC BY-SA 3.0 |
| `ag_news` | ag_news_train_partial_62809.parquet | 62,809 | 4 | Gulli; Zhang et al. (2015) | research |
|  | ag_news_test_7600.parquet | 7,600 |  |  | non-commercial |
| `criteo` | criteo_kaggle_head10000.parquet | 10,000 | 2 | Criteo, Kaggle (2014) | Criteo's terms, research |
| `talkingdata` | talkingdata_train_sample_100000.parquet | 100,000 | 2 | TalkingData, Kaggle (2018) | Kaggle rules |
| `adult` | adult_48842.parquet | 48,842 | 2 | Becker and Kohavi (1996), UCI | CC BY 4.0 |

All files are Parquet. The tables have the columns of their source. In an image file one row holds many images:
``split`` (``train`` or ``test``), ``n`` (how many images), ``webp`` (the images one above the other, as one lossless
WebP picture of one image's width) and ``label`` (a list of their labels; ``coarse_label`` beside it in CIFAR-100). The
names of the classes are JSON in the file's metadata, under ``classes`` and ``coarse_classes``.
"""

from benchmarks.data_sets.images import HumanLabels, Images, cifar10, cifar100, cifar100n_labels, mnist
from benchmarks.data_sets.tables import adult, ag_news, criteo, talkingdata

__all__ = [
    "HumanLabels",
    "Images",
    "adult",
    "ag_news",
    "cifar10",
    "cifar100",
    "cifar100n_labels",
    "criteo",
    "mnist",
    "talkingdata",
]
