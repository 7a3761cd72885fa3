"""`sparring diagnose`."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say, show
from sparring.cli.options import AsJson, Overrides


@app.command(rich_help_panel="This machine", epilog="Example: sparring diagnose hex-quick --whatif learner=2x")
def diagnose(
    preset: Annotated[str | None, typer.Argument(help="A preset's name, or the path of a YAML file.")] = None,
    overrides: Overrides = None,
    game: Annotated[
        str | None, typer.Option(help="Instead of a preset: the game, as its first preset plays it.")
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEST", help="env, encode, mask, inference, learner, store, gpu; repeatable.  [default: all]"
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="How long to measure, set-up apart.")] = 20.0,
    whatif: Annotated[
        list[str] | None,
        typer.Option(metavar="STAGE=2x", help="The rate if a stage were this fast; repeatable."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
    compare: Annotated[Path | None, typer.Option(help="Compare with one that --save kept.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a training run stage by stage, and say what holds it up and which setting to change.

    With --compare the exit code is 1 if something has become slower beyond noise, else 0.
    """
    if preset is not None:
        from sparring.training.presets import check_preset

        check_preset(preset, overrides or [])

    from sparring.bench.diagnose import baseline
    from sparring.bench.diagnose.model import parse_whatif
    from sparring.bench.diagnose.run import check_tests
    from sparring.bench.diagnose.run import diagnose as measure
    from sparring.bench.diagnose.subject import find_subject
    from sparring.bench.diagnose.tables import changes_table, diagnosis_table

    speeds, tests = parse_whatif(whatif or []), test or ["all"]
    check_tests(tests)
    before = None if compare is None else baseline.load_baseline(compare)
    subject = find_subject(preset, game, overrides or [])
    if before is not None and compare is not None:
        baseline.check_comparable(compare, before, subject.game.name)
    threads = 0 if before is None else before.threads  # a busy machine would be given fewer
    found = measure(subject, tests, seconds=seconds, whatif=speeds, threads=threads, say=say)
    if save is not None:
        baseline.save_baseline(save, found)
    changes = [] if before is None else baseline.compare(before, found)
    notes = [] if before is None else baseline.differences(before, found)
    if as_json:
        import msgspec

        print(msgspec.json.encode({"diagnosis": found, "changes": changes, "notes": notes}).decode())
    else:
        show(diagnosis_table(found))
        if before is not None:
            show(changes_table(changes, notes))
    raise typer.Exit(1 if any(one.verdict == "slower" for one in changes) else 0)
