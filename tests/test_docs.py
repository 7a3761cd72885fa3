"""README and docs as a reader types them: every command is one the program has, every import is there."""

import ast
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from sparring.cli import app
from sparring.cli.options import game_settings
from sparring.core import game_names, load_game
from sparring.training.config import load_config

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"\.\.\.|(?<![=\w])\[|\b[A-Z]{2,}\b|\bA B\b")
"""What only a line that explains a command's use has, outside of quotes: `sparring play GAME [OPPONENT]`."""
QUOTED = re.compile(r"'[^']*'")


def blocks(page, language):
    return [part["code"] for part in BLOCK.finditer(page.read_text()) if part["language"] == language]


def commands(page):
    """The lines of `page` that a reader types: those of bash blocks, and those that are indented; without comments."""
    text = page.read_text()
    indented = "\n".join(line[4:] for line in BLOCK.sub("", text).splitlines() if line.startswith("    "))
    for line in "\n".join([*blocks(page, "bash"), indented]).replace("\\\n", " ").splitlines():
        for command in re.split(r"&&|\|", line.partition("  #")[0].partition(" > ")[0]):
            if command.strip():
                yield command.strip().removesuffix("&").strip()


def mentioned(page):
    """Whole commands in the text of `page`: four words or more, of which the third is no option."""
    for span in re.findall(r"`(sparring [^`]+)`", BLOCK.sub("", page.read_text())):
        words = span.split()
        if len(words) > 3 and not words[2].startswith("--"):
            yield " ".join(words)


def typed(program):
    return [
        pytest.param(page, line, id=f"{page.name}: {line[:60]}")
        for page in PAGES
        for line in commands(page)
        if line.split()[0] == program and (program == "make" or not PLACEHOLDER.search(QUOTED.sub("", line)))
    ]


def test_there_are_commands_to_check():
    assert len(typed("sparring")) > 30
    assert len(typed("make")) >= 3


MENTIONED = [
    pytest.param(page, line, id=f"{page.name}: {line[:60]}")
    for page in PAGES
    for line in mentioned(page)
    if not PLACEHOLDER.search(line)
]


@pytest.mark.parametrize(("page", "line"), [*typed("sparring"), *MENTIONED])
def test_every_command_is_one_that_the_program_has(page, line):
    group = get_command(app)
    words = shlex.split(line)[1:]
    context = group.make_context("sparring", words)
    while hasattr(group, "commands"):
        name, command, words = group.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, words, parent=context)
        group = command
    if name == "train":
        check_preset(context)
    else:
        known = {key for game in game_names() for key in load_game(game).settings.__struct_fields__}
        assert set(game_settings(context)) <= known


def check_preset(context: typer.Context):
    preset = context.params["preset"]
    if preset.startswith("connect-four") or preset == "mine.yaml":  # the examples' own tests train them
        return
    overrides = [text for text in context.params["overrides"] or [] if "my_agents" not in text]
    load_config(preset, overrides)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        linked = page.parent / file if file else page
        assert linked.exists(), target
        headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE) if heading else []
        anchors = [re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings]
        assert not heading or heading in anchors, target


@pytest.mark.parametrize(("page", "line"), typed("make"))
def test_every_make_target_is_there(page, line):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert shlex.split(line)[1] in targets


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_every_python_block_compiles_and_its_imports_are_there(page, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for code in blocks(page, "python"):
        file = re.match(r"# (my_\w+)\.py\n", code)  # a module of the reader's own, which later blocks import
        if file:
            (tmp_path / f"{file[1]}.py").write_text(code)
            monkeypatch.setitem(sys.modules, file[1], None)  # so that whatever is imported here is forgotten at the end
            del sys.modules[file[1]]
        tree = compile(code, str(page), "exec", ast.PyCF_ONLY_AST)
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), str(page), "exec"), {})


RUN_BY = {
    "README.md": "tests/test_docs.py::test_the_python_of_a_page_runs",
    "adapters.md": "tests/test_docs.py::test_the_python_of_a_page_runs",
    "league.md": "tests/test_docs.py::test_the_python_of_a_page_runs",
    "adding-a-game.md": "tests/examples/test_walkthrough.py::test_the_checks_of_the_page_run",
    "data.md": "tests/test_docs_python.py::test_episodes_as_data",
    "poke-env.md": "tests/integration/test_poke_env_page.py::"
    "test_the_players_of_the_page_sit_in_the_arena_and_play_on_a_server",
    "pokemon-actions.md": "tests/test_docs_python.py::test_actions_of_pokemon_print_what_the_page_shows",
    "pokemon-observation.md": "tests/games/pokemon/test_battle_view.py::test_the_documented_code_runs",
    "pokemon-players.md": "tests/games/pokemon/test_battle_view.py::test_the_documented_player_beats_random",
    "policy-server.md": "tests/test_docs_python.py::test_asking_a_policy_server",
    "python.md": "tests/test_docs_python.py::test_from_python",
    "replays.md": "tests/test_docs_python.py::test_hiding_what_was_filled_in_of_replays",
    "rocket.md": "tests/games/rocket/test_own.py::test_the_example_of_the_docs_trains",
    "smallest-game.md": "tests/examples/test_smallest_game.py::"
    "test_the_page_trains_an_agent_that_wins_what_there_is_to_win",
    "workers.md": "tests/test_docs_python.py::test_an_arena_of_worker_processes",
}
"""Which test runs the Python of a page."""


def reached(file, name):
    """The source of function `name` of `file`, and of all that it uses of that file's functions and constants."""
    known = {}
    for node in ast.parse(file.read_text()).body:
        for target in [node, *getattr(node, "targets", [])]:
            names = getattr(target, "elts", [target])
            known |= {getattr(one, "name", getattr(one, "id", None)): node for one in names}
    found, waiting = {}, [name]
    while waiting:
        node = known.get(waiting.pop())
        if node is not None and node not in found:
            found[node] = ast.unparse(node)
            waiting += [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return "\n".join(found.values())


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_every_python_block_is_run_or_says_that_it_is_a_sketch(page):
    if all(code.startswith("# a sketch: ") for code in blocks(page, "python")):
        return
    file, _, name = RUN_BY[page.name].partition("::")
    source = reached(ROOT / file, name)
    assert page.name in source
    assert "exec(compile(" in source


QUICK = {
    "train": "decisions=512 matches=16 threads=1 checkpoint.every=1 evaluation.matches=8 "
    "learner.batch_size=256 learner.minibatch_size=128",
    "evaluate": "--matches 8",
    "selfplay": "--matches 8",
    "exploit": "--minutes 0.02 --matches 8",
    "tournament": "--matches 8",
    "analyse": "--simulations 2",
    "diagnose": "--seconds 1",
    "watch": "--matches 1",
    "generate": "--matches 8",
}
"""What makes the commands of the docs quick, in place of what they say of the same."""
ELSEWHERE = {"serve", "showdown", "ladder", "keys", "launch", "download"}
"""Commands that run until they are stopped, or need one that does, a cluster, or a network."""


def in_short(words):
    """A command with `QUICK` in place of what it says of the same."""
    quick = next((QUICK[word] for word in words[:2] if word in QUICK), "").split()
    names = {word.partition("=")[0] for word in quick if not word[0].isdigit()}
    kept, skipping = [], False
    for word in words:
        if not skipping and word.partition("=")[0] not in names:
            kept.append(word)
        skipping = not skipping and word in names and word.startswith("--")
    return [*kept, *quick]


def test_a_command_in_short_keeps_all_else():
    words = ["selfplay", "hex", "--matches", "4000", "--model", "path"]
    assert in_short(words) == ["selfplay", "hex", "--model", "path", "--matches", "8"]
    assert "decisions=512" in in_short(["train", "mine", "decisions=9", "seed=1"])
    assert "decisions=9" not in in_short(["train", "mine", "decisions=9", "seed=1"])
    assert in_short(["games"]) == ["games"]


def follow(page, monkeypatch, folder, *, skip=()):
    """Types the commands of a page into a folder, after `make train`; leaves matches as soon as they start."""
    monkeypatch.chdir(folder)
    lines = [line for shown, line in (case.values for case in typed("sparring")) if shown == page]
    lines = [
        line for line in lines if not ELSEWHERE & set(line.split()[1:3]) and not any(word in line for word in skip)
    ]
    assert lines
    for line in ["sparring train hex-quick", *lines]:
        result = CliRunner().invoke(app, in_short(shlex.split(line)[1:]), input="hint\nquit\n")
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"


FOLLOWED = (
    *("quickstart", "play", "evaluate", "improving", "league", "train", "hex", "league-training", "tournaments"),
    *("data", "python", "reproducibility"),
)


@pytest.mark.parametrize("name", ["README.md", *(f"docs/{name}.md" for name in FOLLOWED)])
def test_a_page_can_be_followed_in_order(name, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    other = ("pokemon", "rocket", "decisions=900_000", "settings.size=6", "diagnose", "openspiel:")
    follow(ROOT / name, monkeypatch, tmp_path, skip=other)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["search", "workers", "pokemon", "rocket", "learners", "replays", "tuning", "train"])
def test_a_slower_page_can_be_followed_in_order(name, tmp_path, monkeypatch):
    page = ROOT / "docs" / f"{name}.md"
    monkeypatch.setenv("WANDB_MODE", "offline")
    for text in blocks(page, "text"):
        (tmp_path / "my-teams.txt").write_text(text)
    if name in ("learners", "replays"):  # battles that a reader has from elsewhere
        monkeypatch.chdir(tmp_path)
        for folder, format in (("battles", "gen9ou"), ("replays-gen8ou", "gen8ou")):
            words = f"replays generate {format} {folder}/made.jsonl --model heuristic --matches 8"
            Path(folder).mkdir()
            assert CliRunner().invoke(app, words.split()).exit_code == 0
    follow(page, monkeypatch, tmp_path, skip=("mine.yaml",))


@pytest.mark.parametrize("name", ["README.md", "docs/adapters.md", "docs/league.md"])
def test_the_python_of_a_page_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in blocks(ROOT / name, "python"):
        exec(compile(code, name, "exec"), names)
