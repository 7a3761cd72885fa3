"""How far `sparring plan` is off: decisions a second that it predicts, beside those of real updates, in turns.

For three presets on this machine, in one process (`scaling.py` has two). The predicted rate is simulated from a
measurement of the same round, and from the passes that the real updates made: PPO ends some of them early.
"""

import os
from functools import partial
from statistics import mean, median
from time import perf_counter

import msgspec

import measure
from sparring.bench.diagnose.run import diagnose
from sparring.bench.diagnose.subject import Subject, find_subject
from sparring.bench.plan.forecast import forecast
from sparring.bench.plan.simulation import Layout
from sparring.training.self_play import SelfPlay

PRESETS = ("hex-quick", "pokemon-gen1", "rocket-1v1")
LINK = 1.25e9


def unrated(subject: Subject) -> Subject:
    """Ratings apart: they are not what is compared."""
    quiet = msgspec.structs.replace(subject.config.evaluation, every=0, opponents=())
    config = msgspec.structs.replace(subject.config, evaluation=quiet)
    return Subject(subject.name, config, subject.game, subject.batch_size, subject.short, subject.short_rows)


def predicted(subject: Subject, seconds: float, epochs: list[float]) -> float:
    rates = diagnose(subject, ["learner"], seconds=seconds)
    layout = Layout(nodes=1, processes=1, cores=os.cpu_count() or 1, link=LINK)
    found = forecast(subject.name, subject.config, subject.game, rates, layout, hours=1.0, epochs=mean(epochs))
    return found.decisions_per_second


def real(subject: Subject, seconds: float, epochs: list[float]) -> float:
    """Decisions learned a second of whole updates, after the first; how many passes each made is added to `epochs`."""
    training = SelfPlay(subject.config, subject.game, {}, say=lambda text: None)
    try:
        training.start()
        training.advance()
        before, start = training.decisions, perf_counter()
        while perf_counter() - start < seconds:
            epochs.append(training.advance()["loss/epochs"])
        return (training.decisions - before) / (perf_counter() - start)
    finally:
        training.close()


def compare(name: str, sides: dict[str, "partial[float]"], rounds: int) -> None:
    found = measure.in_turns(sides, rounds)
    played, predicted = (median(values) for values in found.values())
    off = [there / here for here, there in zip(*found.values(), strict=True)]
    measure.figure(f"{name}: measured", played, "decisions/s")
    measure.figure(
        f"{name}: predicted", predicted, "decisions/s", peer="measured", ratio=predicted / played, ratios=off
    )


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    seconds, rounds = (6.0, 1) if quick else (10.0, 3)
    for preset in PRESETS:
        subject = unrated(find_subject(preset, None, ["threads=1"]))
        epochs: list[float] = []
        sides = {
            "measured": partial(real, subject, seconds, epochs),
            "predicted": partial(predicted, subject, seconds, epochs),
        }
        compare(preset, sides, rounds)


if __name__ == "__main__":
    main()
