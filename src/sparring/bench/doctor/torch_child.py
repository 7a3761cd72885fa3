"""What torch says of itself, printed as JSON; `device.py` runs this in a process of its own."""

import sys

import msgspec


class TorchFacts(msgspec.Struct, frozen=True):
    """A torch that can be imported."""

    version: str
    built_for: str
    """`cpu`, or what its GPU code was compiled for: `CUDA 12.8`."""
    device: str
    """The best there is: cpu, cuda or mps."""
    device_name: str = ""
    works: bool | None = None
    """Whether the device calculates as the CPU does; None if it was not tried."""


def torch_facts(*, comprehensive: bool) -> TorchFacts:
    """Imports torch and looks at it."""
    import torch

    kind = "cpu"
    if torch.cuda.is_available():
        kind = "cuda"
    elif torch.backends.mps.is_available():
        kind = "mps"
    name = torch.cuda.get_device_name() if kind == "cuda" else ""
    built_for = f"CUDA {torch.version.cuda}" if torch.version.cuda else "cpu"
    works = None
    if comprehensive:
        numbers = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64) / 4096
        works = bool(torch.allclose((numbers.to(kind) @ numbers.to(kind)).cpu(), numbers @ numbers, rtol=1e-2))
    return TorchFacts(str(torch.__version__), built_for, kind, name, works)


if __name__ == "__main__":
    print(msgspec.json.encode(torch_facts(comprehensive="comprehensive" in sys.argv)).decode())
