"""A server that sends nonsense spoils its own battles and nothing else: no other battle, no server, no summary."""

import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from sparring.cli import main
from sparring.core import InputError, RandomPlayer, RunError
from sparring.games.pokemon import PokemonSettings
from sparring.games.pokemon.live import Account, LadderReport, Limits, LiveArena, play_ladder
from tests.torture.ladder import FORMAT, ME, FakeServer, Script, attack, record
from tests.torture.mutate import hostile_room

CHAT = "|c|Troll|typing too quickly; message-throttle-notice; too many lines"


@pytest.fixture(scope="module")
def scripts() -> list[Script]:
    return record(FORMAT, 4, seed=0)


@pytest.fixture
def honest(scripts: list[Script]) -> Iterator[FakeServer]:
    with closing(FakeServer(scripts, hostile=False, seed=0)) as made:
        yield made


def greeting(scripts: list[Script], *messages: str) -> FakeServer:
    """An honest server but for what it says after the login."""
    return FakeServer(scripts, hostile=False, seed=0, greeting=messages)


def live_arena(*servers: FakeServer, matches: int = 2, total: int | None = None, **limits: float) -> LiveArena:
    return LiveArena(
        PokemonSettings(format=FORMAT),
        servers=[server.address for server in servers],
        account=Account(ME),
        matches=matches,
        seed=0,
        total=total,
        limits=Limits(**limits),  # type: ignore[arg-type]
        say=lambda text: None,
    )


def play(arena: LiveArena, total: int, save: Path | None = None, report: LadderReport | None = None) -> LadderReport:
    return play_ladder(
        arena,
        RandomPlayer(0),
        total=total,
        save=save,
        stop=lambda: False,
        progress=lambda report: None,
        report=report,
    )


def test_damaged_messages_spoil_no_other_battle_and_the_summary_is_written(
    tmp_path: Path, scripts: list[Script]
) -> None:
    outcome = attack(tmp_path, messages=1500, scripts=scripts, seconds=120)
    assert outcome.sent >= 1500
    assert outcome.report.failed > 20
    assert outcome.honest > 5
    assert outcome.spoilt == []
    assert outcome.unhandled == []
    assert outcome.summary["failed"] == outcome.report.failed
    assert {path.parent for path in outcome.files} == {tmp_path / "saved"}
    assert all(text.isprintable() for text in outcome.said)


def test_a_silent_battle_ends_within_its_limit(scripts: list[Script], honest: FakeServer) -> None:
    with (
        closing(FakeServer(scripts, hostile=True, seed=0, silent=True)) as silent,
        closing(live_arena(silent, honest, matches=4, silence=1.0)) as arena,
    ):
        started = time.monotonic()
        failed = 0
        while failed < 2 and time.monotonic() - started < 60:
            decisions, _ = arena.wait(0.5)
            arena.act(decisions, RandomPlayer(0).act(decisions).action)
            failed += sum(battle.reason == "nothing was asked of us for 1 s" for battle in arena.ended)
        assert failed >= 2
        assert honest.spoilt == []


def test_rooms_that_nobody_asked_for_are_not_taken_without_limit(scripts: list[Script]) -> None:
    flood = [f">battle-{FORMAT}-9{number}\n|init|battle\n|title|x" for number in range(500)]
    with closing(greeting(scripts, *flood)) as server, closing(live_arena(server, matches=2, rooms=3)) as arena:
        most = 0
        while arena.servers[0].refused_rooms + arena.servers[0].matchmaker.waiting < 490:
            arena.wait(0.1)
            most = max(most, arena.running)
        assert most <= 2 + 3 + 1


def test_no_room_id_makes_a_file_outside_the_folder(tmp_path: Path, scripts: list[Script]) -> None:
    rng = random.Random(0)
    rooms = [
        f">{hostile_room(rng)}\n|init|battle\n|player|p2|Rival|1|\n|start\n|win|Rival".replace("\x00\n", "\n")
        for _ in range(10_000)
    ]
    save = tmp_path / "a" / "b" / "c" / "saved"
    with closing(greeting(scripts, *rooms)) as server, closing(live_arena(server, total=3)) as arena:
        report = play(arena, 3, save)
        assert report.matches >= 3
        until = monotonic() + 60
        while arena.servers[0].connection.malformed <= 1000 and monotonic() < until:
            arena.wait(0.1)  # the battles were over before all rooms were heard of
        assert arena.servers[0].connection.malformed > 1000
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert all(path.parent == save for path in files)


def test_a_message_beyond_the_limit_is_left_out(scripts: list[Script]) -> None:
    with (
        closing(greeting(scripts, "|popup|" + "<" * 40_000, "x" * 30_000)) as server,
        closing(live_arena(server, total=2, message=20_000)) as arena,
    ):
        assert play(arena, 2).matches == 2
        assert arena.servers[0].connection.malformed == 2
        assert arena.servers[0].connection.reconnects == 0


def test_chat_does_not_slow_us_down(scripts: list[Script]) -> None:
    with (
        closing(greeting(scripts, *[f">lobby\n{CHAT}"] * 50, f"|pm| Troll| {ME}|typing too quickly")) as server,
        closing(live_arena(server, total=2)) as arena,
    ):
        assert play(arena, 2).matches == 2
        assert arena.servers[0].connection.throttled == 0


def test_a_server_that_will_not_have_us_is_left_to_itself(scripts: list[Script], honest: FakeServer) -> None:
    with (
        closing(greeting(scripts, "|popup|You are banned.")) as banning,
        closing(live_arena(banning, honest, total=3)) as arena,
    ):
        assert play(arena, 3).matches == 3
        assert [server.connection.address for server in arena.gone] == [f"{banning.address}/showdown/websocket"]


def test_the_last_server_ends_the_run_with_its_reason(scripts: list[Script]) -> None:
    with (
        closing(greeting(scripts, "|popup|You are banned.")) as banning,
        closing(live_arena(banning)) as arena,
        pytest.raises(InputError, match="the server says: You are banned"),
    ):
        play(arena, 3)


def test_a_server_whose_battles_all_fail_is_given_up(scripts: list[Script]) -> None:
    broken = [Script([(lines, "{") for lines, _ in script.turns], script.end, script.won) for script in scripts]
    report = LadderReport()
    with (
        closing(FakeServer(broken, hostile=False, seed=0)) as server,
        closing(live_arena(server, failures=5)) as arena,
        pytest.raises(RunError, match="6 battles in a row failed; the last: a message that can't be read"),
    ):
        play(arena, 10**6, report=report)
    assert report.failed >= 6


def test_the_command_writes_its_summary_whatever_happens(
    tmp_path: Path, scripts: list[Script], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(greeting(scripts, "|popup|\x1b[31mYou are banned\x07.")) as server:
        arguments = ["--server", server.address, "--username", ME, "--model", "random", "--format", FORMAT]
        monkeypatch.setattr(sys, "argv", ["sparring", "ladder", *arguments, "--save", str(tmp_path), "--json"])
        with pytest.raises(SystemExit) as end:
            main()
    printed = capsys.readouterr()
    assert end.value.code == 2
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(printed.out)
    assert "You are banned" in printed.err
    assert "Traceback" not in printed.err
    assert "\x1b" not in printed.err
    assert "\x07" not in printed.err
