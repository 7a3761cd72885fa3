"""Entrants: the one way to name a player.

    runs/hex-quick                         a run folder: its best checkpoint, else its newest
    runs/hex-quick/checkpoints/00000036    a checkpoint folder
    hex-7x7                                weights that come with a game
    random, path                           a built-in player
    my_agents.mine:build                   a network that your function builds
    my_agents.mine:build=runs/mine         the same with the weights of a run or checkpoint
    my_agents.mine:Careful                 a player of your own: a class or an object with `act`, or a function that
                                           returns one
    tcp://host:5555/main                   a model of a policy server
    gtp:mohex                              a program that speaks GTP, with its arguments (Hex)
    openspiel:1000                         OpenSpiel's MCTS with this many simulations per move (Hex)
    poke-env:SimpleHeuristicsPlayer        a player of poke-env, or your own, poke-env:package.module:name (Pokémon)

Names of players and weights take precedence over folders: write a folder of the same name as a path, `./random`.

Names are looked up without torch, which is imported where a network is seated: a typo is told at once.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparring.core import (
    Closing,
    Game,
    GameSpec,
    Guest,
    Hosting,
    InputError,
    Player,
    built_in,
    check_argument,
    closest,
    did_you_mean,
    guest_kinds,
    installed_games,
    is_player,
    load_game,
    player_names,
    shipped_weights,
)
from sparring.core.code import import_code
from sparring.core.devices import DeviceName
from sparring.core.documented import documented
from sparring.core.networks import Factory, build_with
from sparring.core.settings import Fraction, NonNegative, NonNegativeInt, convert
from sparring.core.versions import lasting_settings

if TYPE_CHECKING:
    from torch import nn

    from sparring.inference import InferenceEngine
    from sparring.policy.checkpoint import Checkpoint
    from sparring.search import PlaySettings
    from sparring.serving import RemotePlayer

HUMAN = "human"
"""The built-in player that asks a person in the terminal."""
_OWN = "a player (a class or an object with `act`), or a function that builds a player or a policy"
_SERVED = re.compile(r"(tcp://[^/]+)/(.+)")


@documented
@dataclass(frozen=True, kw_only=True)
class Style:
    """How networks play; built-in players are not affected."""

    temperature: float = 1.0
    """1 plays the policy as trained, 0 its likeliest action."""
    policy_threshold: float = 0.0
    """Actions less likely than this are never played."""
    simulations: int = 0
    """Positions looked at for each move, where the game has a forward model; 0 plays by the network alone."""
    selfplay: "PlaySettings | None" = None
    """For matches to learn from: varied moves, each recorded with the whole policy. None plays to win."""
    device: DeviceName = "auto"
    """Where networks are run."""
    threads: int = 0
    """CPU threads of the network; 0 takes as many as there are free cores."""
    key: Path | None = None
    """The client key for policy servers that ask for one."""
    patience: float = 60.0
    """Seconds that other people's programs have for an answer."""

    def __post_init__(self) -> None:
        check_argument("device", self.device, DeviceName)
        for name in ("temperature", "patience"):
            check_argument(name, getattr(self, name), NonNegative)
        check_argument("policy_threshold", self.policy_threshold, Fraction)
        for name in ("simulations", "threads"):
            check_argument(name, getattr(self, name), NonNegativeInt)
        if not isinstance(self.key, Path | None):
            raise InputError(f"key = {self.key!r}: allowed: the Path of a key file, or None")


@dataclass(frozen=True)
class Entrant:
    """A player that can be seated, given in at most one of the ways below, or by a built-in player's name.

    With both a folder and a factory, the user's code builds the network and the folder has its weights.
    """

    name: str
    folder: Path | None = None
    """A run or checkpoint folder."""
    factory: Factory | None = None
    """The user's code that builds a network, or, until the entrant is `settled`, perhaps a player."""
    maker: Factory | None = None
    """The user's code that makes a player, a fresh one for every seat."""
    server: str | None = None
    """The address of a policy server, which knows this player as `model`."""
    model: str = ""
    guest: tuple[str, str] | None = None
    """Kind and name of a player from another program; see `core.Hosting`."""
    player: Player | None = None
    """A player object from the caller, or named in the user's code."""
    given: "Checkpoint | None" = None
    """A checkpoint from the caller, without a folder."""

    @classmethod
    def of(cls, who: "str | Path | Player | Checkpoint", *, game: str | None = None) -> "Entrant":
        """The entrant that `who` names, or that is this player or checkpoint, to play `game` if that is known."""
        if isinstance(who, str):
            return cls.parse(who, game=game)
        if isinstance(who, Path):
            if not who.exists():
                raise InputError(f"{who}: no such file or folder")
            return cls(name=str(who), folder=who)
        from sparring.policy.checkpoint import Checkpoint

        if isinstance(who, Checkpoint):
            return cls(name=f"update-{who.version}", given=who)
        if isinstance(who, type) or not callable(getattr(who, "act", None)):
            what = f"the class {who.__name__}" if isinstance(who, type) else f"a {type(who).__name__}"
            raise InputError(
                f"{what} is no player; allowed: a name, a path, a checkpoint, an object with act(decisions)"
            )
        return cls(name=type(who).__name__, player=who)

    @classmethod
    def parse(cls, text: str, *, game: str | None = None, kept: Path | None = None) -> "Entrant":
        """The entrant that `text` names (see above); raises `InputError`, with the names in `game`, if there is none.

        `kept` is a copy of the checkpoint that `text` names, used instead if it exists.
        """
        if text.startswith("tcp://"):
            served = _SERVED.fullmatch(text)
            if served is None:
                raise InputError(f"{text}: not of the form tcp://host:port/model")
            return cls(name=text, server=served.group(1), model=served.group(2))
        folder = kept if kept is not None and kept.exists() else None
        if names_code(text):
            kind, _, what = text.partition(":")
            if kind in _guest_kinds():
                return cls(name=text, guest=(kind, what))
            own, equals, weights = text.partition("=")
            code = import_code(own, what=_OWN)
            if equals and is_player(code):
                raise InputError(f"{text}: {own} is a player, with `act`, and has no weights; allowed: {own}")
            if is_player(code):
                return cls(name=text, maker=code) if isinstance(code, type) else cls(name=text, player=code)
            if not callable(code):
                raise InputError(f"{text}: it is the {type(code).__name__} {code!r:.40}; allowed: {_OWN}")
            return cls(name=text, factory=code, folder=(folder or _folder(weights, game)) if equals else None)
        if text in _built_in_names():
            return cls(name=text)
        return cls(name=text, folder=folder or _folder(text, game))

    @property
    def tag(self) -> str:
        """The name as part of another one; see `tag_of`."""
        return tag_of(self.name)

    @cached_property
    def checkpoint(self) -> "Checkpoint | None":
        """The checkpoint given or in the entrant's folder; None if there is none."""
        if self.folder is None:
            return self.given
        from sparring.policy.checkpoint import load_checkpoint

        return load_checkpoint(self.folder)

    @property
    def is_network(self) -> bool:
        """Whether a network plays in this process."""
        return self.folder is not None or self.factory is not None or self.given is not None

    def settled(self, spec: GameSpec) -> "Entrant":
        """This entrant once it is known whether its code builds a network or a player: it is called to find out."""
        if self.factory is None or self.folder is not None:
            return self
        try:
            made = build_with(self.factory, spec, name="its factory")
            if not is_player(made):
                _check_policy(made)
                return self
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error
        with leaving(made):
            return replace(self, factory=None, maker=self.factory)

    def seat(
        self,
        game: Game,
        spec: GameSpec,
        *,
        matches: int,
        seed: int,
        style: Style | None = None,
        engine: "InferenceEngine | None" = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> Player:
        """The player, ready for an arena of `spec` with `matches` matches.

        A network plays in `engine`, made for that arena, under its tag; or in one of its own if none is given.
        """
        style = style or Style()
        if self.player is not None:
            return self.player
        if self.maker is not None:
            return self._make(spec, seed)
        if self.server is not None:
            return self._remote(spec, matches, seed, style, say)
        if self.guest is not None:
            kind, what = self.guest
            if not isinstance(game, Hosting) or kind not in game.guests:
                raise InputError(f"{self.name}: {game.name} has no seats for players by {kind}")
            settings: Any = convert(spec.settings, game.settings, where=game.name)
            return game.guests[kind](settings, what, Guest(matches=matches, seed=seed, patience=style.patience))
        network = self.network(spec, say)
        if network is None:
            return built_in(game, spec, self.name, seed=seed)
        return self._seat_network(*network, spec, matches=matches, seed=seed, style=style, engine=engine, say=say)

    def _seat_network(
        self,
        policy: "nn.Module",
        version: int,
        spec: GameSpec,
        *,
        matches: int,
        seed: int,
        style: Style,
        engine: "InferenceEngine | None",
        say: Callable[[str], None],
    ) -> Player:
        """A player that asks `policy`, or searches with it."""
        from sparring.inference import Device, InferenceEngine, NetworkPlayer
        from sparring.inference.threads import set_threads
        from sparring.search import GumbelSettings, PlaySettings, Symmetric
        from sparring.search.seating import forward_model, search_player

        if engine is None:
            device = Device.pick(style.device)
            set_threads(style.threads, say, rows=matches * spec.seats)
            engine = InferenceEngine(
                spec,
                slots=matches * spec.seats,
                device=device,
                seed=seed,
                backend="torch" if style.selfplay is None else "auto",
                say=say,
            )
        engine.add(self.tag, policy, version=version)
        if style.simulations and style.selfplay is None:
            search = GumbelSettings(simulations=style.simulations)
            symmetry = isinstance(forward_model(spec), Symmetric)
            return search_player(engine, self.tag, search, play=PlaySettings(), seed=seed, symmetry=symmetry)
        if style.simulations and style.selfplay is not None:
            search = GumbelSettings(simulations=style.simulations, gumbel_scale=1.0, reuse_tree=False)
            return search_player(engine, self.tag, search, play=style.selfplay, seed=seed)
        return NetworkPlayer(
            engine,
            self.tag,
            temperature=style.temperature,
            policy_threshold=style.policy_threshold,
            keep_policy=style.selfplay is not None,
        )

    def network(self, spec: GameSpec, say: Callable[[str], None] = lambda text: None) -> "tuple[nn.Module, int] | None":
        """The policy and its version, or None if it has none here; raises `InputError` if it cannot play `spec`."""
        checkpoint = self.checkpoint
        try:
            if checkpoint is not None:
                build = self._build if self.factory else None
                policy = checkpoint.policy(spec, build, say=lambda text: say(f"{self.name}: {text}"))
                self._tell_other_rules(policy, checkpoint.spec, spec, say)
                return policy, checkpoint.version
            return (self._build(spec), 0) if self.factory else None
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error

    def _tell_other_rules(
        self, policy: "nn.Module", trained: GameSpec, spec: GameSpec, say: Callable[[str], None]
    ) -> None:
        """Says which rules of `spec` are not those that the weights have learnt, if they have learnt only one set."""
        from sparring.policy import Versatile
        from sparring.report.settings import in_a_line

        was, now = lasting_settings(trained), lasting_settings(spec)
        other = [key for key in was if key in now and was[key] != now[key]]
        if other and not isinstance(policy, Versatile):
            learnt, here = (in_a_line({key: rules[key] for key in other}) for rules in (was, now))
            say(f"{self.name} was trained with {learnt}; here it plays with {here}")

    def _build(self, spec: GameSpec) -> "nn.Module":
        """The network that the user's code builds; raises `InputError` if an engine cannot play it."""
        assert self.factory is not None
        return _check_policy(build_with(self.factory, spec, name="its factory"))

    def _make(self, spec: GameSpec, seed: int) -> Player:
        """A fresh player that the user's code makes."""
        assert self.maker is not None
        what = "its class" if isinstance(self.maker, type) else "its factory"
        made: Player = build_with(self.maker, spec, name=f"{self.name}: {what}", seed=seed)
        if not is_player(made):
            raise InputError(
                f"{self.name}: {what} made a {type(made).__name__}; allowed: an object with act(decisions)"
            )
        return made

    def _remote(
        self, spec: GameSpec, matches: int, seed: int, style: Style, say: Callable[[str], None]
    ) -> "RemotePlayer":
        """A player that asks the policy server."""
        from sparring.report.progress import announced
        from sparring.serving import RemotePlayer
        from sparring.serving.keys import read_client_key

        assert self.server is not None
        if style.simulations or style.policy_threshold:
            option = "simulations" if style.simulations else "policy-threshold"
            raise InputError(f"--{option}: a policy server answers with the network alone, and {self.name} is one")
        with announced(f"waiting for the policy server at {self.server}", say):
            return RemotePlayer(
                self.server,
                self.model,
                spec,
                matches=matches,
                temperature=style.temperature,
                keep_policy=style.selfplay is not None,
                seed=seed,
                key=None if style.key is None else read_client_key(style.key),
            )


def _check_policy(policy: Any) -> "nn.Module":
    """What the user's code built, if an engine can play it."""
    from torch import nn

    missing = [call for call in ("initial_memory", "step") if not callable(getattr(policy, call, None))]
    if not isinstance(policy, nn.Module) or missing:
        raise InputError(
            f"playing needs a torch module with {', '.join(missing) or 'weights'}, or a player, which has act; "
            f"this is a {type(policy).__name__}"
        )
    return policy


def check_style(style: object) -> None:
    """Raises `InputError` unless `style` is a `Style`."""
    if not isinstance(style, Style):
        raise InputError(f"style = {style!r}: allowed: a Style, such as sparring.Style(temperature=0)")


def names_code(text: str) -> bool:
    """Whether `text` names the user's code, which parsing would import, or a program, which seating would run."""
    return ":" in text.partition("=")[0] and not text.startswith("tcp://") and not Path(text).exists()


def tag_of(name: str) -> str:
    """A player's name as part of the name of a metric, folder or policy: `runs/old` becomes `runs-old`."""
    return re.sub(r"[^\w-]+", "-", name).strip("-") or "player"


@contextmanager
def leaving(player: Player) -> Iterator[Player]:
    """`player` for the block; afterwards it closes its connection or program, if it has one."""
    try:
        yield player
    finally:
        if isinstance(player, Closing):
            player.close()


def _built_in_names() -> set[str]:
    """Names of the built-in players of all games."""
    return {player for game in installed_games().values() for player in player_names(game)}


def _guest_kinds() -> set[str]:
    """The kinds of players from other programs that any game can seat."""
    return {kind for game in installed_games().values() for kind in guest_kinds(game)}


def _folder(text: str, game: str | None) -> Path:
    """The run or checkpoint folder, or the shipped weights, that `text` names."""
    shipped = shipped_weights()
    if text in shipped:
        return shipped[text]
    if Path(text).exists():
        return Path(text)
    if "/" in text:
        raise InputError(f"{text}: no such file or folder{_sibling(Path(text))}")
    raise _unknown(text, None if game is None else load_game(game))


def _sibling(path: Path) -> str:
    """` (did you mean 'runs/hex-quick'?)` if a folder beside `path` has a name much like its own."""
    with suppress(OSError):
        near = closest(path.name, (other.name for other in path.parent.iterdir() if other.is_dir()))
        return "" if near is None else f" (did you mean {str(path.with_name(near))!r}?)"
    return ""


def _unknown(text: str, game: Game | None) -> InputError:
    """What is wrong with the name `text`, with the names there are in `game`, or in any game if that is not known."""
    if game is None:
        known, kinds = [*_built_in_names(), *shipped_weights()], sorted(_guest_kinds())
        names = "`sparring games` lists players and shipped weights"
    else:
        known, kinds = [*player_names(game), *shipped_weights(game.name)], guest_kinds(game)
        names = f"{game.name} has: {', '.join(known)}"
    others = "".join(f", {kind}:..." for kind in kinds)
    run = Path("runs") / text
    meant = f" (did you mean {str(run)!r}?)" if text and run.is_dir() else did_you_mean(text, known)
    return InputError(
        f"unknown player {text!r}{meant}; {names}; also a player is a run or checkpoint folder, "
        f"package.module:name, tcp://host:port/model{others}"
    )
