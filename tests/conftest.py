"""One thread a test process: several share the machine, and tiny networks gain nothing from more."""

import os
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, also by what the tests start
