"""Episodes on disk as data to learn from.

`importing` reads matches that were played elsewhere into stores; `dataset` serves episodes and windows of stores in
batches, of which `catalogue` says what there is, `plan` what is in which batch, `reading` how it comes out of the files
and `loaders` how processes do that ahead.
"""

from sparring.data.catalogue import Filter
from sparring.data.dataset import Batch, Dataset

__all__ = ["Batch", "Dataset", "Filter"]
