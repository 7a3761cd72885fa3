"""Reading what a training run left on disk."""

import json


def lines(folder, *, timed=False):
    """Every line of metrics.jsonl; what depends on the clock is left out unless `timed`."""
    values = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    if timed:
        return values
    return [
        {name: value for name, value in line.items() if "_per_second" not in name and not name.startswith("time")}
        for line in values
    ]


def updates(folder, *, timed=False):
    """The lines of updates, without the final ratings."""
    return [line for line in lines(folder, timed=timed) if "play/mean_batch" in line]
