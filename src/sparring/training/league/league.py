"""A league as a run knows it: the members of its pool, who is met how often, and when a snapshot joins.

Every member is a checkpoint in the run's own folder `pool/`: its own snapshots by their update, those of other runs as
RUN-UPDATE. A run reads other runs' pools and writes only its own, so any number of runs may form a league, and any of
them may be killed and resumed. The last resume state may still name a member that has left the pool: its folder is
removed only after several states have been written without it.

Several processes of one run have the same pool at every update: they count results together, rank 0 decides who joins
and leaves, and it alone writes. Each draws its own opponents, from the same shares.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.core import Episodes, InputError, Player
from sparring.core.episodes import unpack_mask
from sparring.core.files import remove_folder
from sparring.inference import InferenceEngine
from sparring.league.entrants import tag_of
from sparring.learn import parallel
from sparring.policy.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from sparring.rollout import Meetings
from sparring.training.league.away import Seated
from sparring.training.league.matchmaking import Member, counts, most_alike, shares
from sparring.training.league.player import PoolPlayer
from sparring.training.league.settings import LeagueSettings

_PROBES = 256
"""Positions at which members are compared."""
_STATES = 4
"""Resume states after which a folder is removed: the last may be incomplete, and an older one be used instead."""
POOL = "pool"
"""The folder of the pool in a run folder."""


class League:
    """The pool of a run.

    Args:
        settings: of the league.
        folder: where members are kept.
        engine: where they play, beside the policy called `beside`.
        copy: makes a network of a checkpoint.
        seat: makes a player of a policy of the engine.
        meetings: who meets whom; members have numbers from `first` on.
        matches: of the arena.
        seed: for drawing when to reset.
        say: reports new members.
    """

    def __init__(
        self,
        settings: LeagueSettings,
        *,
        folder: Path,
        engine: InferenceEngine,
        beside: str,
        copy: Callable[[Checkpoint], nn.Module],
        seat: Callable[[InferenceEngine, str], Player],
        meetings: Meetings,
        first: int,
        matches: int,
        seed: int,
        say: Callable[[str], None],
    ) -> None:
        self.reset_due = False
        """Whether the learner is to be reset to its first weights before the next update."""
        self.player = PoolPlayer(engine, meetings, matches=matches, seat=seat)
        self._settings = settings
        self._folder = folder
        self._engine = engine
        self._beside = beside
        self._copy = copy
        self._seed = seed
        self._say = say
        self._members: list[Member] = []
        self._networks: dict[str, dict[str, Any]] = {}
        """By member: the description of its network."""
        self._next = first
        self._since = 0
        """Updates since the last snapshot."""
        self._seen: dict[str, str] = {}
        """By run: its newest snapshot that was taken into the pool."""
        self._absent = set(settings.runs)
        """Runs that have nothing yet."""
        self._leaving: list[list[str]] = [[] for _ in range(_STATES)]
        """Folders to be removed, by how many resume states were taken without them."""

    def shares(self) -> dict[int, float]:
        """How often each member is met from now on, by number."""
        return shares(self._members, self._settings)

    def seated(self) -> list[Seated]:
        """The members of the pool, for those who play them elsewhere."""
        met = [member for member in self._members if not member.retired]
        return [Seated(one.number, policy_name(one.name), self._networks[one.name]) for one in met]

    def weights(self, policy: str) -> dict[str, Tensor]:
        """Of one of them."""
        return self._engine.weights(policy)

    def note(self, opponents: NDArray[np.int64], points: NDArray[np.float64]) -> None:
        """Matches that ended: `opponents: int64[n]` met, with `points: float64[n]` for the learner."""
        met = [opponents == member.number for member in self._members]
        own = [[float(points[rows].sum()), int(rows.sum())] for rows in met]
        everyones = np.sum([json.loads(text) for text in parallel.gather(json.dumps(own))], axis=0)
        for member, (won, played) in zip(self._members, everyones.tolist(), strict=True):
            member.note(won, int(played), self._settings.window)

    def after_update(self, checkpoint: Callable[[], Checkpoint], update: int, episodes: Episodes) -> None:
        """Adds other runs' new snapshots, and one of this run if it is due; makes room, frees what plays no more."""
        self._since += 1
        self._look_around()
        if self._since >= self._settings.every or self._beats_all():
            snapshot = checkpoint()
            about = {**snapshot.about, "league": {"role": self._settings.role}}
            snapshot = replace(snapshot, about=about)
            self._save(f"{update:08d}", snapshot)
            self._join(f"{update:08d}", snapshot, self._settings.role)
            self._since = 0
            lot = np.random.default_rng((self._seed % 2**64, update)).random()
            self.reset_due = parallel.decided(bool(lot < self._settings.reset_chance))
        self._free()
        for number in parallel.led(partial(self._superfluous, episodes)):
            next(member for member in self._members if member.number == number).retired = True

    def forget_results(self) -> None:
        """Resets win rates: the learner has been reset."""
        self.reset_due = False
        for member in self._members:
            member.points = member.matches = 0.0

    def metrics(self) -> dict[str, float]:
        """The size of the pool, and the win rate against each member of it that was met."""
        pool = [member for member in self._members if not member.retired]
        rates = {f"win_rate/{member.name}": member.win_rate for member in pool if member.matches > 0}
        return {"members": len(pool), **rates}

    def snapshot(self) -> dict[str, Any]:
        """Everything but the weights, JSON-ready; removes the folders that no state needs any more."""
        for name in self._leaving[-1]:
            if parallel.rank() == 0 and (self._folder / name).exists():
                remove_folder(self._folder / name)
        self._leaving = [[], *self._leaving[:-1]]
        return {
            "members": [asdict(member) for member in self._members],
            "next": self._next,
            "since": self._since,
            "seen": self._seen,
            "reset_due": self.reset_due,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Goes back to `snapshot`; folders that it does not know are removed, as they will be written again."""
        try:
            members = [Member(**values) for values in snapshot["members"]]
            self._next, self._since = int(snapshot["next"]), int(snapshot["since"])
            self._seen = {str(run): str(name) for run, name in snapshot["seen"].items()}
            self.reset_due = bool(snapshot["reset_due"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{self._folder}: cannot resume its league: {error!r}") from error
        self._remove_all_but({member.name for member in members})
        for member in members:
            self._seat(member, load_checkpoint(self._folder / member.name))
        self._members = members

    def _remove_all_but(self, names: Iterable[str]) -> None:
        if parallel.rank() > 0:
            return
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else []:
            if path.is_dir() and path.name not in names:
                remove_folder(path)

    def _beats_all(self) -> bool:
        wanted = self._settings.threshold
        rivals = [member for member in self._members if counts(member, self._settings)]
        return (
            wanted is not None
            and bool(rivals)
            and all(member.matches >= self._settings.enough and member.win_rate >= wanted for member in rivals)
        )

    def _look_around(self) -> None:
        """Adds the snapshots that other runs have added since the last look."""
        for run, theirs, name, role in parallel.led(self._copy_new) if self._settings.runs else ():
            self._seen[run] = theirs
            self._join(name, load_checkpoint(self._folder / name), role)
            if run in self._absent:
                self._absent.discard(run)
                self._say(f"league: the first snapshot of {run} has joined the pool")

    def _copy_new(self) -> list[tuple[str, str, str, str]]:
        """Copies other runs' new snapshots into the pool's folder: the run, its name there and here, and its role."""
        found = []
        for run in self._settings.runs:
            for path in sorted(Path(run, POOL).glob("[0-9]*")):
                if path.name <= self._seen.get(run, ""):
                    continue
                try:
                    checkpoint = load_checkpoint(path)
                except InputError:
                    if path.exists():
                        raise
                    continue  # its run has removed it meanwhile
                about = checkpoint.about.get("league")
                role = str(about.get("role", "main")) if isinstance(about, dict) else "main"
                name = f"{tag_of(run)}-{path.name}"
                self._save(name, checkpoint)
                found.append((run, path.name, name, role))
        return found

    def _save(self, name: str, checkpoint: Checkpoint) -> None:
        if parallel.rank() == 0:
            save_checkpoint(self._folder / name, checkpoint)

    def _join(self, name: str, checkpoint: Checkpoint, role: str) -> None:
        member = Member(self._next, name, role)
        self._seat(member, checkpoint)
        for names in self._leaving:
            if name in names:
                names.remove(name)
        self._next += 1
        self._members.append(member)

    def _seat(self, member: Member, checkpoint: Checkpoint) -> None:
        try:
            policy = self._copy(checkpoint)
        except InputError as error:
            raise InputError(f"{self._folder / member.name}: {error}") from error
        self._engine.add(policy_name(member.name), policy, version=checkpoint.version, beside=self._beside)
        self.player.add(member.number, policy_name(member.name))
        self._networks[member.name] = dict(checkpoint.network)

    def _free(self) -> None:
        """Drops members that left the pool at an earlier update, so are no longer drawn, and are in no match."""
        if not any(member.retired for member in self._members):
            return
        playing = set(chain(*map(json.loads, parallel.gather(json.dumps(sorted(self.player.playing()))))))
        for member in [one for one in self._members if one.retired and one.number not in playing]:
            self._members.remove(member)
            self.player.drop(member.number)
            self._engine.drop(policy_name(member.name))
            del self._networks[member.name]
            self._leaving[0].append(member.name)

    def _superfluous(self, episodes: Episodes) -> list[int]:
        """The numbers of the members most like others, so many that `keep` are left without them."""
        pool = [member for member in self._members if not member.retired]
        if len(pool) <= self._settings.keep:
            return []
        steps = episodes.steps.take(np.linspace(0, episodes.rows - 1, min(_PROBES, episodes.rows)).astype(np.intp))
        legal = unpack_mask(steps.legal, episodes.spec.actions)
        policies = {
            member.number: np.exp(
                self._engine.evaluate(policy_name(member.name), steps.observation, legal)[0].astype(np.float64)
            )
            for member in pool
        }
        gone = []
        while len(pool) > self._settings.keep:
            alike = most_alike(pool, policies, keep=self._next - 1)
            pool.remove(alike)
            gone.append(alike.number)
        return gone


def policy_name(member: str) -> str:
    """What the engine calls a member."""
    return f"{POOL}-{member}"
