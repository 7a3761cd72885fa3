"""Reading what a training run left on disk."""

import json


def lines(folder, *, timed=False):
    values = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    if timed:
        return values
    clock = ("per_second", "share/")
    return [{k: v for k, v in line.items() if not any(part in k for part in clock)} for line in values]
