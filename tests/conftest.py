"""One thread a test process: several share the machine, and tiny networks gain nothing from more."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
