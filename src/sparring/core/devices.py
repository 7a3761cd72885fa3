"""Names of devices, number formats and backends, as users write them; what they mean is up to `inference`."""

from typing import Literal

DeviceName = Literal["auto", "cpu", "cuda", "mps"]
DtypeName = Literal["float32", "bfloat16", "float16", "int8"]
"""`int8` quantises the linear layers of actors on a CPU."""
BackendName = Literal["auto", "torch", "openvino"]
