"""Made-up battles to read into stores."""

import json

from sparring.data.importing import ImportPlan, import_replays
from tests.games.pokemon.replays.logs import battle


def record(n, *, kind="singles", log=None):
    """A battle as Showdown's site has it, of its own."""
    lines = battle("|move|p1a: Mew|Pound|p2a: Onix", "|-damage|p2a: Onix|50/100", f"|c|Ann|{n}", kind=kind)
    name = "gen9customgame" if kind == "singles" else "gen9doublescustomgame"
    return {"id": f"{name}-{n}", "uploadtime": 1_700_000_000 + n, "log": lines if log is None else log}


def write(path, records):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def run(inputs, output, **options):
    return import_replays(ImportPlan("pokemon", [inputs], output, **{"workers": 0, **options}))


def contents(output):
    return {str(path.relative_to(output)): path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()}
