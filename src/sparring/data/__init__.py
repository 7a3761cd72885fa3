"""Episodes on disk as data to learn from.

`importing` reads matches played elsewhere into stores; `dataset` serves episodes of stores, or windows of them, in
batches: `catalogue` says what there is, `plan` what is in which batch, `reading` gets it out of the files, and
`loaders` does so ahead, in other processes.
"""

from sparring.data.catalogue import Filter
from sparring.data.dataset import Batch, Dataset

__all__ = ["Batch", "Dataset", "Filter"]
