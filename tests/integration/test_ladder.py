"""Battles on real local Showdown servers against poke-env's own players on their own connections."""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.battle import AbstractBattle
from poke_env.concurrency import POKE_LOOP
from poke_env.player import Player as TheirPlayer
from poke_env.player import RandomPlayer as TheirRandomPlayer
from poke_env.player import SimpleHeuristicsPlayer

from sparring.cli import main
from sparring.core import Answers, Decisions, InputError, Player, RandomPlayer, RunError
from sparring.games.pokemon import GAME, PokemonNetwork, PokemonSettings
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.live import Account, LadderReport, LiveArena, LocalServer, Wish, play_ladder
from sparring.games.pokemon.poke_env import PokeEnvPlayer
from sparring.games.pokemon.setup import setup_pokemon
from sparring.games.pokemon.teams import built_in_teams
from sparring.inference import Device, InferenceEngine, NetworkPlayer

FORMAT = "gen1randombattle"
NAMES = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    setup_pokemon(say=lambda line: None)
    with LocalServer() as made:
        yield made


class Rival:
    """A poke-env player that takes every challenge, or makes them."""

    def __init__(
        self,
        server: LocalServer,
        kind: type[TheirPlayer],
        format: str = FORMAT,
        *,
        concurrent: int = 4,
        name: str | None = None,
        **more: object,
    ) -> None:
        self.name = name or f"rival{os.getpid()}x{next(NAMES)}"
        team = None if find_format(format).random_teams else built_in_teams(find_format(format))[1]
        self.player = kind(
            battle_format=format,
            server_configuration=ServerConfiguration(server.address, "https://localhost/action.php?"),
            account_configuration=AccountConfiguration(self.name, None),
            max_concurrent_battles=concurrent,
            open_timeout=None,
            ping_timeout=None,
            log_level=50,
            team=team,
            **more,
        )
        self._work: Future[None] | None = None

    def accept(self, battles: int) -> "Rival":
        login = self.player.ps_client.wait_for_login(checking_interval=0.05, wait_for=120)
        asyncio.run_coroutine_threadsafe(login, POKE_LOOP).result(120)
        self._work = asyncio.run_coroutine_threadsafe(self.player.accept_challenges(None, battles), POKE_LOOP)
        return self

    def challenge(self, whom: str, battles: int) -> "Rival":
        self._work = asyncio.run_coroutine_threadsafe(self.player.send_challenges(whom, battles), POKE_LOOP)
        return self

    def search(self, battles: int) -> "Rival":
        self._work = asyncio.run_coroutine_threadsafe(self.player.ladder(battles), POKE_LOOP)
        return self

    def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
        asyncio.run_coroutine_threadsafe(self.player.ps_client.websocket.close(), POKE_LOOP).result(20)


def network(matches: int, format: str = FORMAT) -> NetworkPlayer:
    """An untrained network with memory."""
    spec = GAME.spec(PokemonSettings(format=format))
    engine = InferenceEngine(spec, slots=2 * matches, device=Device.pick("cpu"), seed=0)
    engine.add("main", GAME.policy(spec, PokemonNetwork(width=32, layers=0, memory="lstm")))
    return NetworkPlayer(engine, "main")


def our_name() -> str:
    return f"ours{os.getpid()}x{next(NAMES)}"


def live_arena(
    servers: list[LocalServer], rival: str, *, total: int, matches: int = 4, format: str = FORMAT, **more: object
) -> LiveArena:
    sheets = bool(more.pop("open_sheets", False))
    return LiveArena(
        PokemonSettings(format=format, open_team_sheets=sheets),
        Wish(format=find_format(format), how="challenge", opponent=rival, open_sheets=sheets),
        servers=[server.address for server in servers],
        account=Account(our_name()),
        matches=matches,
        seed=0,
        total=total,
        say=lambda text: None,
        **more,
    )


def play(
    arena: LiveArena, player: Player, total: int, each: Callable[[LadderReport], None] = lambda report: None
) -> LadderReport:
    return play_ladder(arena, player, total=total, save=None, stop=lambda: False, progress=each)


def clean(report: LadderReport, total: int) -> None:
    assert report.matches == total
    faults = (report.invalid_choices, report.late_choices, report.time_outs, report.failed, report.forfeited)
    assert faults == (0, 0, 0, 0, 0), report


@pytest.mark.parametrize("kind", [TheirRandomPlayer, SimpleHeuristicsPlayer])
def test_an_untrained_network_plays_poke_envs_players(server: LocalServer, kind: type[TheirPlayer]) -> None:
    total = 3
    with closing(Rival(server, kind).accept(total)) as rival:
        with closing(live_arena([server], rival.name, total=total)) as arena:
            report = play(arena, network(arena.matches), total)
            clean(report, total)
            assert not arena.unknown_lines
        assert report.opponents.keys() == {rival.name}
        assert rival.player.n_won_battles == report.losses


def test_a_lost_connection_is_made_again_and_the_battles_go_on(server: LocalServer) -> None:
    total = 2
    with (
        closing(Rival(server, TheirRandomPlayer).accept(total)) as rival,
        closing(live_arena([server], rival.name, total=total, matches=2)) as arena,
    ):
        connection = arena.servers[0].connection
        drops = iter((6, 20))
        following = [next(drops)]

        def drop(report: LadderReport) -> None:
            if report.decisions >= following[0]:
                following[0] = next(drops, 10**9)
                connection.abort()

        clean(play(arena, GAME.players["max-power"](PokemonSettings(), 1), total, drop), total)
        assert connection.reconnects == 2


class Stubborn:
    """Sends what is not legal the first time it is asked."""

    def __init__(self, arena: LiveArena) -> None:
        self._player, self._arena, self._done = RandomPlayer(0), arena, False

    def act(self, decisions: Decisions) -> Answers:
        if not self._done:
            self._done = True
            battle = next(iter(self._arena.servers[0].battles.values()))
            self._arena.servers[0].connection.send(battle.room, "/choose move 9", urgent=True)
            battle.choose(int(decisions.legal[0].argmax()))
            battle.outbox.clear()
        return self._player.act(decisions)


def test_a_rejected_choice_is_counted_and_another_one_made(server: LocalServer) -> None:
    with (
        closing(Rival(server, TheirRandomPlayer).accept(1)) as rival,
        closing(live_arena([server], rival.name, total=1, matches=1)) as arena,
    ):
        report = play(arena, Stubborn(arena), 1)
        assert (report.matches, report.invalid_choices, report.time_outs) == (1, 1, 0)


def test_a_server_that_is_not_there_is_one_clear_line(server: LocalServer) -> None:
    nobody = server.address.replace(str(server.port), "9")
    with pytest.raises(InputError, match="127.0.0.1:9.*cannot be reached"):
        LiveArena(PokemonSettings(), servers=[server.address, nobody], account=Account(our_name()), matches=1, seed=0)


def test_a_name_that_is_taken_is_one_clear_line(server: LocalServer) -> None:
    with closing(live_arena([server], "nobody", total=1)) as arena:
        name = arena.servers[0].connection.account.name
        with pytest.raises(InputError, match=f"the name {name} is refused: .*already using"):
            LiveArena(PokemonSettings(), servers=[server.address], account=Account(name), matches=1, seed=0)


def test_an_opponent_who_never_comes_is_not_waited_for_without_end(server: LocalServer) -> None:
    with closing(live_arena([server], "nobodyatall", total=1)) as arena:
        while not arena.servers[0].matchmaker.heard:
            assert len(arena.wait(0.1)[0]) == 0
        arena.patience = 0.0
        with pytest.raises(RunError, match="no battle began within 0 s.*'nobodyatall' was not found"):
            arena.wait()


def test_two_servers_share_the_battles_and_one_takes_over_from_the_other(server: LocalServer) -> None:
    total = 4
    with LocalServer() as second, closing(Rival(server, TheirRandomPlayer).accept(total)) as here:
        Rival(second, TheirRandomPlayer, name=here.name).accept(total)
        with closing(live_arena([server, second], here.name, total=total, matches=2, reconnect_seconds=1)) as arena:
            busy: set[str] = set()

            def kill(report: LadderReport) -> None:
                busy.update(one.connection.address for one in arena.servers if one.battles)
                if report.decisions >= 10 and len(busy) == 2 and second.process.poll() is None:
                    second.process.kill()

            report = play(arena, GAME.players["max-power"](PokemonSettings(), 1), total, kill)
            assert busy == {server.address, second.address}
            assert report.matches == total
            assert report.failed >= 1
            assert [one.connection.address for one in arena.servers] == [server.address]


def test_challenges_are_accepted(server: LocalServer) -> None:
    total = 2
    arena = LiveArena(
        PokemonSettings(),
        Wish(format=find_format(FORMAT), how="accept"),
        servers=[server.address],
        account=Account(our_name()),
        matches=total,
        seed=0,
        total=total,
    )
    with closing(arena), closing(Rival(server, TheirRandomPlayer)) as rival:
        rival.challenge(arena.servers[0].connection.account.name, total)
        clean(play(arena, GAME.players["max-power"](PokemonSettings(), 1), total), total)
        while arena.servers[0].rooms_left < total:  # finished rooms are not kept
            arena.wait(0.1)


def test_the_ladder_matches_us_with_whoever_searches(server: LocalServer) -> None:
    arena = LiveArena(
        PokemonSettings(), servers=[server.address], account=Account(our_name()), matches=1, seed=0, total=1
    )
    with closing(Rival(server, TheirRandomPlayer).search(1)), closing(arena):
        clean(play(arena, GAME.players["max-power"](PokemonSettings(), 1), 1), 1)
    assert arena.servers[0].rating is not None
    with pytest.raises(RunError, match="the arena is closed"):
        arena.wait()


def test_the_command_plays_saves_and_sums_up(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, saved = our_name(), tmp_path / "saved"
    with closing(Rival(server, TheirRandomPlayer).accept(2)) as rival:
        run_ladder(
            monkeypatch,
            server,
            *("--username", name, "--model", "max-power", "--format", FORMAT, "--challenge", rival.name),
            *("--matches", "2", "--parallel", "2", "--save", str(saved), "--json"),
        )
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert json.loads((saved / "summary.json").read_text()) == summary
    assert (summary["matches"], summary["invalid_choices"], summary["time_outs"]) == (2, 0, 0)
    assert summary["interval"][0] <= summary["win_rate"] <= summary["interval"][1]
    for battle in summary["battles"]:
        log = (saved / f"{battle['room']}.log").read_text()
        assert f"|win|{name if battle['outcome'] > 0 else rival.name}" in log
        assert (saved / f"{battle['room']}.html").exists()


def test_ctrl_c_forfeits_and_leaves(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = our_name()
    with closing(Rival(server, TheirRandomPlayer).accept(50)) as rival:
        watched = threading.Thread(target=interrupt_when, args=(lambda: rival.player.n_finished_battles >= 1,))
        watched.start()
        run_ladder(
            monkeypatch,
            server,
            *("--username", name, "--model", "random", "--format", FORMAT, "--challenge", rival.name),
            *("--matches", "50", "--parallel", "2", "--json"),
        )
        watched.join()
        summary = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert 1 <= summary["matches"] < 50
        assert summary["forfeited"] <= 2
        battles = rival.player.battles
        wait_until(lambda: all(battle.finished for battle in battles.values()))
        assert len(battles) == summary["matches"] + summary["forfeited"]


def test_a_ladder_that_ends_before_any_battle_says_why_and_nothing_else(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--username", our_name(), "--model", "random", "--format", FORMAT, "--accept", "--patience", "1"]
    monkeypatch.setattr(sys, "argv", ["sparring", "ladder", "--server", server.address, *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    assert (end.value.code, told.out) == (1, "")
    assert "sparring: no battle began within 1 s" in told.err


class Hearing(SimpleHeuristicsPlayer):
    """Notes under which name it plays each battle, by the battle's tag."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.names: dict[str, str] = {}

    def choose_move(self, battle: AbstractBattle) -> object:
        assert battle.turn > 0
        assert battle.active_pokemon is not None or any(battle.force_switch)
        self.names[battle.battle_tag] = battle.player_username
        return super().choose_move(battle)


@pytest.mark.parametrize("format", [FORMAT, "gen9randombattle"])
def test_a_player_of_poke_env_plays_through_our_connection(server: LocalServer, format: str) -> None:
    total, theirs = 4, Hearing(battle_format=format, start_listening=False)
    guest = PokeEnvPlayer(theirs)
    with (
        closing(Rival(server, TheirRandomPlayer, format).accept(total)) as rival,
        closing(live_arena([server], rival.name, total=total, matches=2, format=format)) as arena,
    ):
        connection = arena.servers[0].connection
        drops = iter((12, 30))
        following = [next(drops)]

        def drop(report: LadderReport) -> None:
            if report.decisions >= following[0]:
                following[0] = next(drops, 10**9)
                connection.abort()

        report = play(arena, guest, total, drop)
        clean(report, total)
        assert connection.reconnects >= 1
        assert (guest.answered, guest.replaced) == (report.decisions, 0)
        assert report.wins >= 2
        assert set(theirs.names.values()) == {connection.account.name}
        assert len(theirs.names) >= total  # one that is read anew has another tag


def test_a_player_class_of_your_own_is_a_model_of_the_command(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_ladder_player.py").write_text(OWN_PLAYERS)
    for model in ("poke-env:own_ladder_player:Careful", "own_ladder_player:First"):
        with closing(Rival(server, TheirRandomPlayer).accept(1)) as rival:
            run_ladder(
                monkeypatch,
                server,
                *("--username", our_name(), "--model", model, "--format", FORMAT, "--challenge", rival.name),
                *("--matches", "1", "--json"),
            )
        summary = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (summary["matches"], summary["invalid_choices"], summary["failed"]) == (1, 0, 0)


OWN_PLAYERS = """
import numpy as np
from poke_env.player import Player
from sparring import Answers

class Careful(Player):
    def choose_move(self, battle):
        if battle.available_moves:
            return self.create_order(max(battle.available_moves, key=lambda move: move.base_power))
        return self.choose_random_move(battle)

class First:
    def act(self, decisions):
        return Answers(action=decisions.legal.argmax(axis=1).astype(np.int32))
"""


def wait_until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + 250
    while not ready():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def interrupt_when(ready: Callable[[], bool]) -> None:
    wait_until(ready)
    os.kill(os.getpid(), signal.SIGINT)


def run_ladder(monkeypatch: pytest.MonkeyPatch, server: LocalServer, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["sparring", "ladder", "--server", server.address, *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", [TheirRandomPlayer, SimpleHeuristicsPlayer])
@pytest.mark.parametrize("format", [FORMAT, "gen9randombattle", "gen1ou"])
def test_fifty_battles_without_a_fault(server: LocalServer, kind: type[TheirPlayer], format: str) -> None:
    with (
        closing(Rival(server, kind, format, concurrent=8).accept(50)) as rival,
        closing(live_arena([server], rival.name, total=50, matches=8, format=format)) as arena,
    ):
        report = play(arena, network(arena.matches, format), 50)
        clean(report, 50)
        print(json.dumps(report.to_json(arena) | {"battles": []}))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("theirs", [False, True])
@pytest.mark.parametrize("format", ["gen9vgc2025regi", "gen9championsvgc2026regmb"])
def test_sides_may_disagree_on_open_team_sheets(server: LocalServer, format: str, ours: bool, theirs: bool) -> None:
    with (
        closing(Rival(server, TheirRandomPlayer, format, accept_open_team_sheet=theirs).accept(2)) as rival,
        closing(live_arena([server], rival.name, total=2, format=format, open_sheets=ours)) as arena,
    ):
        clean(play(arena, GAME.players["max-power"](PokemonSettings(format=format), 1), 2), 2)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_throttles_of_a_public_server_are_obeyed() -> None:
    setup_pokemon(say=lambda line: None)
    total = 3  # nobody may have more challenges waiting
    with LocalServer(config={"nothrottle": False}) as server, ExitStack() as rivals:
        wish = Wish(format=find_format(FORMAT), how="accept")
        account = Account(our_name())
        arena = LiveArena(
            PokemonSettings(), wish, servers=[server.address], account=account, matches=total, seed=0, total=total
        )
        with closing(arena):
            for _ in range(total):
                rivals.enter_context(closing(Rival(server, TheirRandomPlayer).challenge(account.name, 1)))
            clean(play(arena, GAME.players["max-power"](PokemonSettings(), 1), total), total)
