from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
