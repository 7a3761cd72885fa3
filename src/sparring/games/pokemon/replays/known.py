"""What a player knew of their own team all along, written into rows that were read as a spectator reads them.

A spectator learns a team bit by bit; its owner knew it from the first turn. After a tracker has read the whole log,
its view holds all that the log ever showed of the own team. `fill_own_team` writes that into the earlier rows: moves
not yet used are known and have all their PP, an item is held until the log says otherwise. What the log never shows
stays unknown.

A tracker lists moves as they show. In a row of the first turn that order would tell what is going to be used, and when;
`order_own_moves` puts them into one that tells nothing.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, PP_SCALE, SLOTS, TEAM
from sparring.games.pokemon.tracker import Tracker
from sparring.games.pokemon.tracking.layout import MOVE_IDS_START, POKEMON_IDS_START


def fill_own_team(rows: Mapping[str, Array], tracker: Tracker) -> None:
    """Writes into `rows` (fields of the raw observation) what `tracker`, which has read all, knows of its own team."""
    _fill_moves(rows, tracker)
    if tracker.tables.dex.generation == 1:
        _share_pp_of_mimic(rows, tracker)
    _fill_sets(rows, tracker)


def order_own_moves(rows: Mapping[str, Array], tracker: Tracker, guesses: Sequence[Sequence[int]]) -> None:
    """Puts the own moves, which must have been filled in, in the order of their ids; a team sheet's order is kept.

    `guesses` by team slot: moves that will be written into the list besides. They get empty places where they belong.
    Who has taken another's looks keeps the list of its model.
    """
    places = np.tile(np.arange(MOVES), (TEAM, 1))
    for slot in range(TEAM):
        if slot not in tracker.sheets:
            listed = tracker.ids[MOVE_IDS_START[slot] : MOVE_IDS_START[slot] + MOVES].tolist()
            for guess in guesses[slot]:
                listed[listed.index(0)] = guess
            places[slot] = tracker.tables.by_id(listed)
    who = rows["active_ids"][:, :SLOTS, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    own = (who >= 0) & (rows["active"][:, :SLOTS, c.ACTIVE_TRANSFORMED] == 0)
    _move(rows["move_ids"][:, :TEAM], rows["moves"][:, :TEAM], places[None])
    standing = np.where(own[..., None], places[who], np.arange(MOVES))
    _move(rows["active_move_ids"][:, :SLOTS], rows["active_moves"][:, :SLOTS], standing)


def _move(numbers: Array, columns: Array, places: NDArray[np.intp]) -> None:
    """Moves a list of moves about: what was at `places: intp[r, n, MOVES]` is now in order."""
    at = np.arange(len(numbers))[:, None, None], np.arange(numbers.shape[1])[:, None], places
    numbers[:] = numbers[at]
    columns[:] = columns[at]


def mark_absent(rows: Mapping[str, Array], absent: Sequence[int], first: int) -> None:
    """The own team slots `absent` were left at home: known from row `first` on, after the team preview."""
    rows["pokemon"][first:, list(absent), c.POKEMON_ABSENT] = 1.0


def _fill_moves(rows: Mapping[str, Array], tracker: Tracker) -> None:
    """Moves of the own team and of those of it on the field."""
    learnt = tracker.ids[MOVE_IDS_START[0] : MOVE_IDS_START[TEAM]].reshape(TEAM, MOVES)
    most = np.asarray(tracker.tables.dex.move_pp)[learnt] / PP_SCALE
    numbers, columns = rows["move_ids"][:, :TEAM], rows["moves"][:, :TEAM]
    missing = (numbers == 0) & (learnt > 0)
    _put_moves(numbers, columns, missing, np.broadcast_to(learnt, numbers.shape), np.broadcast_to(most, numbers.shape))
    rows["pokemon"][:, :TEAM, c.POKEMON_MOVES_KNOWN] = (numbers > 0).sum(axis=-1) / MOVES
    active_numbers, active_columns = rows["active_move_ids"][:, :SLOTS], rows["active_moves"][:, :SLOTS]
    who = rows["active_ids"][:, :SLOTS, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    own = (who >= 0) & (rows["active"][:, :SLOTS, c.ACTIVE_TRANSFORMED] == 0)
    missing = own[..., None] & (active_numbers == 0) & (learnt[who] > 0)
    _put_moves(active_numbers, active_columns, missing, learnt[who], most[who])


def _put_moves(numbers: Array, columns: Array, missing: Array, moves: Array, most: Array) -> None:
    """Moves that nobody has seen yet: their owner has all their PP."""
    numbers[missing] = moves[missing]
    fresh = np.zeros((int(missing.sum()), columns.shape[-1]), np.float32)
    fresh[:, c.MOVE_KNOWN] = 1.0
    fresh[:, c.MOVE_PP] = 1.0
    fresh[:, c.MOVE_MAX_PP] = most[missing]
    columns[missing] = fresh


def _share_pp_of_mimic(rows: Mapping[str, Array], tracker: Tracker) -> None:
    """What was mimicked has the PP of Mimic, be they more than it could have of its own."""
    borrowed = (rows["active"][:, :SLOTS, c.ACTIVE_MIMIC] > 0) & (rows["active"][:, :SLOTS, c.ACTIVE_TRANSFORMED] == 0)
    row, place = np.nonzero(borrowed)
    who = rows["active_ids"][row, place, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    own, seen = rows["moves"][row, who], rows["active_moves"][row, place]
    mimic = rows["move_ids"][row, who] == tracker.tables.dex.moves["mimic"]
    shared = mimic & (seen[..., c.MOVE_MAX_PP] > 0)
    left = own[shared, c.MOVE_PP] * own[shared, c.MOVE_MAX_PP] / seen[shared, c.MOVE_MAX_PP]
    seen[shared, c.MOVE_PP] = np.minimum(1.0, left)
    rows["active_moves"][row, place] = seen


def _fill_sets(rows: Mapping[str, Array], tracker: Tracker) -> None:
    """Items, abilities and tera types, as they were before anything changed them."""
    ids, columns = rows["pokemon_ids"][:, :TEAM], rows["pokemon"][:, :TEAM]
    items, abilities = np.array(tracker.first_items[:TEAM]), np.array(tracker.first_abilities[:TEAM])
    unseen = (columns[..., c.POKEMON_ITEM_KNOWN] == 0) & (items >= 0)
    ids[..., c.POKEMON_ID_ITEM][unseen] = np.broadcast_to(items, unseen.shape)[unseen]
    columns[..., c.POKEMON_ITEM_KNOWN][unseen] = 1.0
    columns[..., c.POKEMON_ITEM_HELD][unseen] = np.broadcast_to(items > 0, unseen.shape)[unseen]
    hidden = (columns[..., c.POKEMON_ABILITY_KNOWN] == 0) & (abilities > 0)
    ids[..., c.POKEMON_ID_ABILITY][hidden] = np.broadcast_to(abilities, hidden.shape)[hidden]
    columns[..., c.POKEMON_ABILITY_KNOWN][hidden] = 1.0
    who = rows["active_ids"][:, :SLOTS, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    for place in range(SLOTS):
        at = np.flatnonzero(who[:, place] >= 0)
        here = at[hidden[at, who[at, place]] & (rows["active_ids"][at, place, c.ACTIVE_ID_ABILITY] == 0)]
        rows["active_ids"][here, place, c.ACTIVE_ID_ABILITY] = abilities[who[here, place]]
    tera = tracker.ids[np.array(POKEMON_IDS_START[:TEAM]) + c.POKEMON_ID_TERA_TYPE]
    ids[..., c.POKEMON_ID_TERA_TYPE] = np.where(tera > 0, tera, ids[..., c.POKEMON_ID_TERA_TYPE])
