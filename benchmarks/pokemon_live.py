"""How strong a Pokémon agent is against poke-env's own players, over a real local Showdown server.

    python benchmarks/pokemon_live.py MODEL [--battles N] [--opponents random max-power heuristics]

Their code on their own connections; ours is `sparring ladder` without its progress line. The server is started here.
"""

import asyncio
import os
from contextlib import closing

import measure

CONCURRENT = 16


def main() -> None:
    parser = measure.parser(__doc__, quick="5 battles against each")
    parser.add_argument("model", nargs="?", default="max-power", help="a checkpoint, run, shipped weights or player")
    parser.add_argument(
        "--format", default="gen1randombattle", help="for a built-in player; a checkpoint knows its own"
    )
    parser.add_argument("--battles", type=int, default=500, help="against each of them")
    parser.add_argument("--opponents", nargs="+", choices=("random", "max-power", "heuristics"))
    parser.add_argument("--temperature", type=float, default=1.0)
    options = measure.parse(parser)

    from poke_env.player import MaxBasePowerPlayer, RandomPlayer, SimpleHeuristicsPlayer

    from sparring.games.pokemon.live import LocalServer
    from sparring.games.pokemon.setup import setup_pokemon

    setup_pokemon(say=measure.say)
    kinds = {"random": RandomPlayer, "max-power": MaxBasePowerPlayer, "heuristics": SimpleHeuristicsPlayer}
    with LocalServer() as server:
        for name in options.opponents or kinds:
            battles = 5 if options.quick else options.battles
            play(server, kinds[name], options.model, options.format, battles, options.temperature)


def play(server, kind, model: str, format: str, battles: int, temperature: float) -> None:
    """Challenges one of poke-env's players so many times and prints what came of it."""
    import torch

    from sparring.games.pokemon.formats import find_format
    from sparring.games.pokemon.live import Account, LiveArena, Wish, play_ladder
    from sparring.league import Entrant, Seating, Style

    torch.set_num_threads(1)
    entrant = Entrant.parse(model)
    seating = Seating.of(entrant, game="pokemon", settings={} if entrant.folder else {"format": format})
    settings = seating.settings
    player = seating.player(matches=CONCURRENT, seed=0, style=Style(temperature=temperature, device="cpu"))
    with closing(Rival(server, kind, settings.format, battles)) as rival:
        wish = Wish(format=find_format(settings.format), how="challenge", opponent=rival.name)
        arena = LiveArena(
            settings,
            wish,
            servers=[server.address],
            account=Account(f"ours{os.getpid()}{kind.__name__[:4]}"),
            matches=CONCURRENT,
            seed=0,
            total=battles,
            say=measure.say,
        )
        with closing(arena):
            report = play_ladder(
                arena, player, total=battles, save=None, stop=lambda: False, progress=lambda report: None
            )
    score = report.score
    measure.figure(
        f"{model} against poke-env's {kind.__name__}, {settings.format}",
        score.win_rate,
        "win rate",
        interval=list(score.interval),
        wins=report.wins,
        draws=report.draws,
        losses=report.losses,
        invalid_choices=report.invalid_choices,
        time_outs=report.time_outs,
        battles_an_hour=round(3600 * report.matches / report.seconds),
    )


class Rival:
    """One of poke-env's players, taking every challenge."""

    def __init__(self, server, kind, format: str, battles: int) -> None:
        from poke_env import AccountConfiguration, ServerConfiguration
        from poke_env.concurrency import POKE_LOOP

        from sparring.games.pokemon.formats import find_format
        from sparring.games.pokemon.teams import built_in_teams

        self.name = f"rival{os.getpid()}{kind.__name__[:4]}"
        known = find_format(format)
        self._loop = POKE_LOOP
        self._player = kind(
            battle_format=format,
            server_configuration=ServerConfiguration(server.address, "https://localhost/action.php?"),
            account_configuration=AccountConfiguration(self.name, None),
            max_concurrent_battles=CONCURRENT,
            open_timeout=None,
            ping_timeout=None,
            log_level=50,
            team=None if known.random_teams else built_in_teams(known)[1],
        )
        self._work = asyncio.run_coroutine_threadsafe(self._player.accept_challenges(None, battles), POKE_LOOP)

    def close(self) -> None:
        self._work.cancel()
        asyncio.run_coroutine_threadsafe(self._player.ps_client.websocket.close(), self._loop).result(20)


if __name__ == "__main__":
    main()
