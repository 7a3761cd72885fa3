"""What a log never shows of the own team, filled in with what it probably was, and marked as such.

A player knew their whole team; a log often shows half of it. For learning, `Completion` draws the rest: of `usage` from
candidate sets as often as they are used, given what the battle shows of each Pokémon; of `infer` from the posterior,
which also weighs what should have shown, damage and speed. Drawn once a battle, by its text alone.

Moves that are drawn have their places in the order of the whole list. Masks and sets of possible choices are made while
these are empty, from what the log shows: a guess forbids nothing. What was filled in is marked in a word a row, 8 bits
a team slot: the four moves, item, ability, tera type, stats. `hide_filled` makes such rows what they were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparring.core.replays import Replay
from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.belief.beliefs import Beliefs
from sparring.games.pokemon.belief.notes import Known
from sparring.games.pokemon.belief.posterior import Posterior, infer
from sparring.games.pokemon.belief.sets import PokemonSet, SetPool
from sparring.games.pokemon.belief.sources import format_pool, shown_facts, with_usage
from sparring.games.pokemon.belief.summary import shown_sets
from sparring.games.pokemon.belief.weighing import Weighing
from sparring.games.pokemon.columns import LEVEL_SCALE, MOVES, PP_SCALE, SLOTS, STAT_SCALE, TEAM
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.replays.sources import ReplayFiles
from sparring.games.pokemon.tracker import Tracker
from sparring.games.pokemon.tracking.layout import MOVE_IDS_START, POKEMON_IDS_START, POKEMON_START

OwnTeam = Literal["seen", "usage", "infer"]
_ITEM, _ABILITY, _TERA, _STATS = MOVES, MOVES + 1, MOVES + 2, MOVES + 3
_BITS = 8
"""Of a team slot."""
_CORPUS = 500
"""Battles from which usage is counted, the first of the format that are found."""
_CORPUS_READ = 5_000
"""Battles that are looked at for it."""
_STAT_COLUMNS = [c.POKEMON_MAX_HP, *range(c.POKEMON_STAT_ATK, c.POKEMON_STAT_SPE + 1)]


@dataclass(frozen=True)
class Drawn:
    """What is filled in of one Pokémon where the log shows nothing."""

    moves: Sequence[int]
    """That are not known of it, by id."""
    item: int
    ability: int
    whole: PokemonSet
    """Whose tera type and stats are taken."""


class Completion:
    """Completes the own teams of battles of one format."""

    def __init__(self, format: Format, how: OwnTeam, corpus: Sequence[str] = ()) -> None:
        """`corpus`: files and folders of battles, from which it is counted how often sets are used."""
        self._format = format
        self._pool = _pool(format, tuple(corpus))
        self._weighing = Weighing(format) if how == "infer" else None

    def of_battle(self, log: str, lines: Sequence[list[str]]) -> "BattleCompletion":
        """Completes the teams of the battle that `log` tells; `lines` are its lines, split at `|`."""
        beliefs = None
        if self._weighing is not None:
            beliefs = Beliefs(self._format, self._pool, weighing=self._weighing)
            beliefs.read(lines)
        return BattleCompletion(self._pool, log, beliefs)


class BattleCompletion:
    """Completes the own teams of one battle."""

    def __init__(self, pool: SetPool, log: str, beliefs: Beliefs | None) -> None:
        """`beliefs`: what follows from the whole battle, if that is asked for."""
        self._pool = pool
        self._log = log
        self._beliefs = beliefs

    def draw(self, tracker: Tracker, side: int) -> "DrawnTeam":
        """The rest of the team of side 0 or 1, whose `tracker` has read all."""
        drawn: list[Drawn | None] = [None] * TEAM
        digest = blake2b(f"{side}{self._log}".encode(errors="replace"), digest_size=8).digest()
        rng = np.random.default_rng(int.from_bytes(digest, "big"))
        for slot in range(TEAM):
            known = _known(tracker, slot)
            if not known.species:
                continue
            believed = None
            if self._beliefs is not None:
                believed = _believed(self._beliefs, tracker.names[slot], side, slot)
            if believed is None:
                candidates = self._pool.candidates(known.species, known.level)
                believed = infer(candidates, shown_facts(known), known)
            if len(believed.candidates):
                drawn[slot] = _drawn(believed, known, rng, tracker)
        return DrawnTeam(drawn)


class DrawnTeam:
    """What is filled in of a whole team, by team slot; None for a Pokémon of which nothing is known."""

    def __init__(self, slots: Sequence[Drawn | None]) -> None:
        self._slots = slots

    @property
    def moves(self) -> list[Sequence[int]]:
        """By team slot, see `known.order_own_moves`."""
        return [() if one is None else one.moves for one in self._slots]

    def fill(self, rows: Mapping[str, Array], tracker: Tracker) -> NDArray[np.uint64]:
        """Writes it into rows whose moves are in order; returns `uint64[r]` what was filled in."""
        filled = np.zeros(len(rows["field"]), np.uint64)
        for slot, one in enumerate(self._slots):
            if one is not None:
                _fill_slot(rows, tracker, slot, one, filled)
        return filled


@lru_cache(maxsize=64)
def _pool(format: Format, corpus: tuple[str, ...]) -> SetPool:
    pool = format_pool(format)
    found = (one for one in islice(ReplayFiles([Path(path) for path in corpus]), _CORPUS_READ)) if corpus else ()
    battles = (known for one in found if isinstance(one, Replay) and (known := shown_sets(one, format, pool)))
    shown = [known for battle in islice(battles, _CORPUS) for known in battle]
    return with_usage(pool, shown) if shown else pool


def _known(tracker: Tracker, slot: int) -> Known:
    """All that a whole battle shows of an own Pokémon."""
    ids, first, start = tracker.ids, MOVE_IDS_START[slot], POKEMON_IDS_START[slot]
    species = int(ids[start + c.POKEMON_ID_SPECIES])
    return Known(
        species=species,
        seen=bool(tracker.floats[POKEMON_START[slot] + c.POKEMON_SEEN]),
        level=round(float(tracker.floats[POKEMON_START[slot] + c.POKEMON_LEVEL]) * LEVEL_SCALE),
        item=max(-1, tracker.first_items[slot]),
        ability=tracker.first_abilities[slot] or tracker.tables.only_ability[species],
        moves=tuple(move for move in ids[first : first + MOVES].tolist() if move),
        tera=int(ids[start + c.POKEMON_ID_TERA_TYPE]),
    )


def _believed(beliefs: Beliefs, name: str, side: int, slot: int) -> Posterior | None:
    """The posterior of an own Pokémon, which a spectator lists by the same order unless an illusion was about."""
    names = beliefs.watcher.tracker.names[side * TEAM : side * TEAM + TEAM]
    row = names.index(name) if name and name in names else slot
    return beliefs.of(side * TEAM + row)


def _drawn(believed: Posterior, known: Known, rng: np.random.Generator, tracker: Tracker) -> Drawn:
    """A set that fits, or parts of many if it is none of them."""
    sets, weights = believed.candidates.sets, believed.weights
    if weights.sum() > 0 and rng.random() >= believed.other:
        parts = [sets[int(rng.choice(len(sets), p=weights / weights.sum()))]]
    else:
        parts = [sets[int(number)] for number in rng.choice(len(sets), size=2 * MOVES, p=believed.parts)]
    new = list(dict.fromkeys(move for one in parts for move in one.moves if move not in known.moves))
    new = new[: MOVES - len(known.moves)]
    return Drawn(
        moves=[new[place] for place in tracker.tables.by_id(new)],
        item=parts[-1].item,
        ability=parts[len(parts) // 2].ability,
        whole=parts[0],
    )


def _fill_slot(
    rows: Mapping[str, Array], tracker: Tracker, slot: int, drawn: Drawn, filled: NDArray[np.uint64]
) -> None:
    ids, columns = rows["pokemon_ids"][:, slot], rows["pokemon"][:, slot]

    def mark(where: NDArray[np.bool_], bit: int) -> None:
        filled[where] |= np.uint64(1 << (_BITS * slot + bit))

    most = tracker.tables.max_pp
    holes = np.flatnonzero(~rows["move_ids"][:, slot].any(axis=0)).tolist()
    for index, move in zip(holes, drawn.moves, strict=False):  # places behind them stay unknown
        empty = np.ones(len(filled), np.bool_)
        _put_move(rows["move_ids"][:, slot, index], rows["moves"][:, slot, index], empty, move, most[move])
        for place in range(SLOTS):
            here = _standing(rows, place, slot) & (rows["active_move_ids"][:, place, index] == 0)
            _put_move(
                rows["active_move_ids"][:, place, index], rows["active_moves"][:, place, index], here, move, most[move]
            )
        mark(empty, index)
    columns[:, c.POKEMON_MOVES_KNOWN] = (rows["move_ids"][:, slot] > 0).sum(axis=-1) / MOVES
    unknown = (columns[:, c.POKEMON_ITEM_KNOWN] == 0) & (columns[:, c.POKEMON_ITEM_LOST] == 0)
    if tracker.first_items[slot] < 0 and unknown.any():
        ids[unknown, c.POKEMON_ID_ITEM] = drawn.item
        columns[unknown, c.POKEMON_ITEM_KNOWN] = 1.0
        columns[unknown, c.POKEMON_ITEM_HELD] = float(drawn.item > 0)
        mark(unknown, _ITEM)
    unknown = columns[:, c.POKEMON_ABILITY_KNOWN] == 0
    if drawn.ability and unknown.any():
        ids[unknown, c.POKEMON_ID_ABILITY] = drawn.ability
        columns[unknown, c.POKEMON_ABILITY_KNOWN] = 1.0
        for place in range(SLOTS):
            here = unknown & _standing(rows, place, slot) & (rows["active_ids"][:, place, c.ACTIVE_ID_ABILITY] == 0)
            rows["active_ids"][here, place, c.ACTIVE_ID_ABILITY] = drawn.ability
        mark(unknown, _ABILITY)
    whole, unknown = drawn.whole, ids[:, c.POKEMON_ID_TERA_TYPE] == 0
    if whole.tera and unknown.any():
        ids[unknown, c.POKEMON_ID_TERA_TYPE] = whole.tera
        mark(unknown, _TERA)
    level = np.round(columns[:, c.POKEMON_LEVEL] * LEVEL_SCALE) == whole.level
    same = level & (ids[:, c.POKEMON_ID_SPECIES] == whole.species) & (columns[:, c.POKEMON_MAX_HP] == 0)
    columns[np.ix_(same, _STAT_COLUMNS)] = np.array(whole.stats, np.float32) / STAT_SCALE
    mark(same, _STATS)


def _standing(rows: Mapping[str, Array], place: int, slot: int) -> NDArray[np.bool_]:
    """`bool[r]` whether the own Pokémon of a slot stands at a place, as itself."""
    here = rows["active_ids"][:, place, c.ACTIVE_ID_POKEMON] == slot + 1
    return np.asarray(here & (rows["active"][:, place, c.ACTIVE_TRANSFORMED] == 0), np.bool_)


def _put_move(numbers: Array, columns: Array, where: NDArray[np.bool_], move: int, most: int) -> None:
    numbers[where] = move
    columns[where, c.MOVE_KNOWN] = 1.0
    columns[where, c.MOVE_PP] = 1.0
    columns[where, c.MOVE_MAX_PP] = most / PP_SCALE  # what disables it shows in the log, and has been written


def hide_filled(observation: Mapping[str, Array], filled: NDArray[np.uint64]) -> dict[str, Array]:
    """Copies of rows of the raw observation, in which nothing is known that was only filled in.

    `filled: uint64[r]` as `Steps.filled`; 0 for a row that stays as it is.
    """
    rows = {name: array.copy() for name, array in observation.items()}
    bits = np.unpackbits(filled.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little").view(np.bool_)
    marks = bits.reshape(-1, 8, _BITS)[:, :TEAM]
    own, columns = rows["pokemon_ids"][:, :TEAM], rows["pokemon"][:, :TEAM]
    guessed = own[..., c.POKEMON_ID_ABILITY].copy()
    own[..., c.POKEMON_ID_ITEM][marks[..., _ITEM]] = 0
    for column in (c.POKEMON_ITEM_KNOWN, c.POKEMON_ITEM_HELD):
        columns[..., column][marks[..., _ITEM]] = 0.0
    own[..., c.POKEMON_ID_ABILITY][marks[..., _ABILITY]] = 0
    columns[..., c.POKEMON_ABILITY_KNOWN][marks[..., _ABILITY]] = 0.0
    own[..., c.POKEMON_ID_TERA_TYPE][marks[..., _TERA]] = 0
    for column in _STAT_COLUMNS:
        columns[..., column][marks[..., _STATS]] = 0.0
    moves = marks[..., :MOVES]
    rows["move_ids"][:, :TEAM][moves] = 0
    rows["moves"][:, :TEAM][moves] = 0.0
    learnt = (rows["move_ids"][:, :TEAM] > 0).sum(axis=-1) / MOVES
    changed = moves.any(axis=-1)
    columns[..., c.POKEMON_MOVES_KNOWN][changed] = learnt[changed]
    at = np.arange(len(filled))
    for place in range(SLOTS):
        who = rows["active_ids"][:, place, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
        itself = (who >= 0) & (who < TEAM) & (rows["active"][:, place, c.ACTIVE_TRANSFORMED] == 0)
        slot = np.where(itself, who, 0)
        hidden = moves[at, slot] & itself[:, None]
        rows["active_move_ids"][:, place][hidden] = 0
        rows["active_moves"][:, place, :, : c.MOVE_DISABLED][hidden] = 0.0
        abilities = rows["active_ids"][:, place, c.ACTIVE_ID_ABILITY]
        abilities[marks[at, slot, _ABILITY] & itself & (abilities == guessed[at, slot])] = 0
    return rows
