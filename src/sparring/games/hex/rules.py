"""The rules of Hex as numba kernels, which the arena and the forward model share.

A state is a row `uint8[size * size + 1]`. It shows the board to the seat to move as the player who connects top and
bottom: for seat 1 the board is mirrored across its diagonal and the colours are exchanged. The rules, and a network,
then need to know only one side of the game.

- A cell is 0 if empty. Otherwise it has a colour bit, `MINE` or `OTHERS`, and up to two link bits, which say that the
  stone is connected to its owner's near edge (`NEAR`: top, or left for the other seat) or far edge (`FAR`). A stone
  with both has won. So a move has to look only at its neighbours, and floods its group only if that gains a link.
- The last byte is the phase: `PLAY`; `EMPTY` (no stone yet, and the swap rule is on); `SWAP` (the mover may swap); or
  `LOST` (the other seat has connected, and the match is over).

A swap changes no cell of a state: it mirrors the stone and changes its colour, and the other seat sees the board
mirrored with the colours exchanged.

All kernels that may change are in this file: numba's cache notices changes only in the file of the kernel it holds.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core.splitmix import STEP, mix

MINE, OTHERS, COLOUR = 1, 2, 3
NEAR, FAR, LINKS = 4, 8, 12
PLAY, EMPTY, SWAP, LOST = 0, 1, 2, 3
READY, OUT, ACCEPTED = 0, 1, 2
"""The status of a slot: its row is ready for `wait`, is out with a player, or is answered in the current `act`."""

_mix = njit(cache=True, nogil=True)(mix)


@njit(cache=True, nogil=True)
def start(state: Any, swap: bool) -> None:
    """Writes the empty board into `state: uint8[cells + 1]`."""
    state[:] = 0
    state[-1] = EMPTY if swap else PLAY


@njit(cache=True, nogil=True)
def is_legal(state: Any, action: int) -> bool:
    """Whether the mover may play `action`: an empty cell, or the swap (number `cells`) in phase `SWAP`."""
    cells = len(state) - 1
    if state[cells] == LOST or action < 0 or action > cells:
        return False
    if action == cells:
        return bool(state[cells] == SWAP)
    return bool(state[action] == 0)


@njit(cache=True, nogil=True)
def play(state: Any, size: int, action: int, scratch: Any) -> bool:
    """Plays a legal `action` and shows the state to the other seat; returns whether the mover has won.

    `scratch: int32[cells]` is working space.
    """
    cells = size * size
    if action == cells:
        state[cells] = PLAY
        return False
    won = _place(state, size, action, scratch)
    _turn(state, size, scratch)
    if won:
        state[cells] = LOST
    else:
        state[cells] = SWAP if state[cells] == EMPTY else PLAY
    return won


@njit(cache=True, nogil=True)
def _place(state: Any, size: int, cell: int, scratch: Any) -> bool:
    """Puts the mover's stone on an empty cell and updates links; returns whether it connects top and bottom."""
    row, column = divmod(cell, size)
    links = 0
    if row == 0:
        links |= NEAR
    if row == size - 1:
        links |= FAR
    for side in range(6):
        beside = neighbour(size, cell, row, column, side)
        if beside >= 0 and state[beside] & MINE:
            links |= state[beside] & LINKS
    state[cell] = MINE | links
    if links == LINKS:
        return True
    if links:
        _spread(state, size, cell, scratch)
    return False


@njit(cache=True, nogil=True)
def _spread(state: Any, size: int, cell: int, scratch: Any) -> None:
    """Gives the links of the stone on `cell` to every stone of its group."""
    value = state[cell]
    scratch[0] = cell
    depth = 1
    while depth:
        depth -= 1
        here = scratch[depth]
        row, column = divmod(here, size)
        for side in range(6):
            beside = neighbour(size, here, row, column, side)
            if beside >= 0 and state[beside] & COLOUR == value & COLOUR and state[beside] | value != state[beside]:
                state[beside] |= value
                scratch[depth] = beside
                depth += 1


@njit(cache=True, nogil=True)
def neighbour(size: int, cell: int, row: int, column: int, side: int) -> int:
    """The neighbour of a cell on `side` 0..5, counted around it; -1 off the board."""
    if side == 0:
        return cell - size if row > 0 else -1
    if side == 1:
        return cell - size + 1 if row > 0 and column < size - 1 else -1
    if side == 2:
        return cell + 1 if column < size - 1 else -1
    if side == 3:
        return cell + size if row < size - 1 else -1
    if side == 4:
        return cell + size - 1 if row < size - 1 and column > 0 else -1
    return cell - 1 if column > 0 else -1


@njit(cache=True, nogil=True)
def _turn(state: Any, size: int, scratch: Any) -> None:
    """Shows the board to the other seat: mirrored across the diagonal, with colours exchanged."""
    for cell in range(size * size):
        value = state[cell]
        scratch[cell] = value & LINKS | (value & MINE) << 1 | (value & OTHERS) >> 1
    for row in range(size):
        for column in range(size):
            state[row * size + column] = scratch[column * size + row]


@njit(cache=True, nogil=True)
def show_planes(state: Any, planes: Any) -> None:
    """Writes what the mover sees into `planes: uint8[2, cells]`: its own stones, the other's stones."""
    for cell in range(planes.shape[1]):
        value = state[cell]
        planes[0, cell] = value & MINE
        planes[1, cell] = (value & OTHERS) >> 1


@njit(cache=True, nogil=True)
def show_legal(state: Any, legal: Any) -> None:
    """Writes `legal: bool[actions]`, in which action `cells` is the swap if the rule is on; all false after the end."""
    cells = len(state) - 1
    if state[cells] == LOST:
        legal[:] = False
        return
    for cell in range(cells):
        legal[cell] = state[cell] == 0
    if len(legal) > cells:
        legal[cells] = state[cells] == SWAP


@njit(cache=True, nogil=True)
def read(planes: Any, size: int, swap: bool, swap_open: bool, state: Any, scratch: Any) -> None:
    """Writes the state that `planes: uint8[2, cells]` show: the inverse of `show_planes`."""
    cells = size * size
    stones = 0
    for cell in range(cells):
        state[cell] = MINE if planes[0, cell] else (OTHERS if planes[1, cell] else 0)
        stones += state[cell] != 0
    for step in range(size):
        _link(state, size, step, MINE, NEAR, scratch)
        _link(state, size, cells - size + step, MINE, FAR, scratch)
        _link(state, size, step * size, OTHERS, NEAR, scratch)
        _link(state, size, step * size + size - 1, OTHERS, FAR, scratch)
    state[cells] = PLAY
    if swap and stones == 0:
        state[cells] = EMPTY
    elif swap_open:
        state[cells] = SWAP
    else:
        for step in range(size):
            if state[step * size] == OTHERS | LINKS:
                state[cells] = LOST


@njit(cache=True, nogil=True)
def _link(state: Any, size: int, cell: int, colour: int, link: int, scratch: Any) -> None:
    """Gives `link` to a stone of `colour` on an edge cell, and to its whole group."""
    if state[cell] & COLOUR == colour and not state[cell] & link:
        state[cell] |= link
        _spread(state, size, cell, scratch)


# Slots of an arena. `collect` and `answer`, which are called at every turn, take the named tuples as plain ones: numba
# takes a microsecond longer to recognise each that has names.


class Rules(NamedTuple):
    """The settings that the kernels need."""

    size: int
    swap: bool
    opening: int


class Slots(NamedTuple):
    """The m matches of an arena and the results it has not yet told."""

    state: NDArray[np.uint8]
    """`uint8[m, cells + 1]`"""
    seat: NDArray[np.int32]
    """`int32[m]` the seat to move."""
    status: NDArray[np.uint8]
    """`uint8[m]` `READY`, `OUT` or `ACCEPTED`."""
    moves: NDArray[np.int32]
    """`int32[m]` moves played so far, the opening included."""
    history: NDArray[np.int16]
    """`int16[m, cells + 1]` those moves, as cells of the board that seat 0 sees."""
    stream: NDArray[np.uint64]
    """`uint64[m]` a random stream for each slot."""
    ended: NDArray[np.int32]
    """`int32[m]` the slots whose match has ended, `ended_count` of them, in the order in which they ended."""
    winner: NDArray[np.int32]
    """`int32[m]` the seats that won those matches."""
    ended_count: NDArray[np.int32]
    """`int32[1]`"""

    @classmethod
    def empty(cls, matches: int, cells: int, *, seed: int) -> "Slots":
        """Slots in which no match has begun."""
        return cls(
            state=np.zeros((matches, cells + 1), np.uint8),
            seat=np.zeros(matches, np.int32),
            status=np.zeros(matches, np.uint8),
            moves=np.zeros(matches, np.int32),
            history=np.zeros((matches, cells + 1), np.int16),
            stream=np.random.default_rng(seed).integers(0, 2**64, matches, np.uint64),
            ended=np.zeros(matches, np.int32),
            winner=np.zeros(matches, np.int32),
            ended_count=np.zeros(1, np.int32),
        )


class Rows(NamedTuple):
    """Buffers for the rows that an arena shows, with space for every slot."""

    match: NDArray[np.int32]
    """`int32[m]`"""
    seat: NDArray[np.int32]
    """`int32[m]`"""
    planes: NDArray[np.uint8]
    """`uint8[m, 2, cells]`"""
    legal: NDArray[np.bool_]
    """`bool[m, actions]`"""
    first: NDArray[np.bool_]
    """`bool[m]`"""


@njit(cache=True, nogil=True)
def draw(stream: Any, row: int, below: int) -> Any:
    """A number in 0..below-1 from random stream `row` of `stream: uint64[k]`, which moves on."""
    stream[row] += STEP
    return np.int64(((_mix(stream[row]) >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def begin_match(slots: Slots, rules: Rules, match: int, scratch: Any) -> None:
    """Starts a match in one slot: an empty board with the random opening on it."""
    state = slots.state[match]
    start(state, rules.swap)
    cells = rules.size * rules.size
    for move in range(rules.opening):
        cell = draw(slots.stream, match, cells - move)
        for other in range(cells):
            if other > cell:
                break
            cell += state[other] != 0
        slots.history[match, move] = absolute(rules.size, cell, move % 2)
        play(state, rules.size, cell, scratch)
    slots.seat[match] = rules.opening % 2
    slots.moves[match] = rules.opening


@njit(cache=True, nogil=True)
def absolute(size: int, action: int, seat: int) -> int:
    """An action of `seat` on the board that seat 0 sees; the swap stays as it is."""
    if seat == 0 or action == size * size:
        return action
    return action % size * size + action // size


@njit(cache=True, nogil=True)
def begin(slots: Slots, rules: Rules) -> None:
    """Starts a match in every slot."""
    scratch = np.empty(rules.size * rules.size, np.int32)
    for match in range(len(slots.state)):
        begin_match(slots, rules, match, scratch)


@njit(cache=True, nogil=True)
def collect(slot_arrays: Any, opening: int, row_arrays: Any) -> int:
    """Writes a row for every slot that is ready and marks the slot as out; returns the number of rows."""
    slots, rows = Slots(*slot_arrays), Rows(*row_arrays)
    k = 0
    for match in range(len(slots.state)):
        if slots.status[match] == READY:
            slots.status[match] = OUT
            rows.match[k] = match
            rows.seat[k] = slots.seat[match]
            rows.first[k] = slots.moves[match] < opening + 2
            show_planes(slots.state[match], rows.planes[k])
            show_legal(slots.state[match], rows.legal[k])
            k += 1
    return k


@njit(cache=True, nogil=True)
def answer(slot_arrays: Any, rule_numbers: Any, row_match: Any, row_seat: Any, action: Any) -> int:
    """Plays `action: intp[k]` for k rows and returns -1; if one is refused, plays none and returns its row."""
    slots, rules = Slots(*slot_arrays), Rules(*rule_numbers)
    refused = accept(slots, row_match, row_seat, action)
    if refused < 0:
        step(slots, rules, row_match, action)
    return refused


@njit(cache=True, nogil=True)
def accept(slots: Slots, row_match: Any, row_seat: Any, action: Any) -> int:
    """Marks the slots of k answered rows as accepted and returns -1.

    If an answer is refused, all slots stay as they were and the row's number is returned.
    """
    for row in range(len(row_match)):
        match = row_match[row]
        if (
            match < 0
            or match >= len(slots.state)
            or slots.status[match] != OUT
            or slots.seat[match] != row_seat[row]
            or not is_legal(slots.state[match], action[row])
        ):
            for earlier in range(row):
                slots.status[row_match[earlier]] = OUT
            return row
        slots.status[match] = ACCEPTED
    return -1


@njit(cache=True, nogil=True)
def step(slots: Slots, rules: Rules, row_match: Any, action: Any) -> None:
    """Plays k accepted actions. Where a match ends, its result is noted and the slot starts the next match."""
    scratch = np.empty(rules.size * rules.size, np.int32)
    for row in range(len(row_match)):
        match, move = row_match[row], action[row]
        mover = slots.seat[match]
        slots.history[match, slots.moves[match]] = absolute(rules.size, move, mover)
        slots.moves[match] += 1
        slots.status[match] = READY
        if play(slots.state[match], rules.size, move, scratch):
            slots.ended[slots.ended_count[0]] = match
            slots.winner[slots.ended_count[0]] = mover
            slots.ended_count[0] += 1
            begin_match(slots, rules, match, scratch)
        else:
            slots.seat[match] = 1 - mover


# Rows of states, for search


@njit(cache=True, nogil=True)
def read_rows(planes: Any, size: int, swap: bool, legal: Any, states: Any) -> None:
    """`read` for k rows; whether a swap is open is read from `legal: bool[k, actions]`."""
    scratch = np.empty(size * size, np.int32)
    for row in range(len(states)):
        read(planes[row], size, swap, swap and legal[row, size * size], states[row], scratch)


@njit(cache=True, nogil=True)
def legal_rows(states: Any, legal: Any) -> None:
    """`show_legal` for k rows."""
    for row in range(len(states)):
        show_legal(states[row], legal[row])


@njit(cache=True, nogil=True)
def planes_rows(states: Any, planes: Any) -> None:
    """`show_planes` for k rows."""
    for row in range(len(states)):
        show_planes(states[row], planes[row])


@njit(cache=True, nogil=True)
def play_rows(states: Any, size: int, actions: Any) -> int:
    """Plays one action in each state; returns -1, or the first row whose action is illegal."""
    scratch = np.empty(size * size, np.int32)
    for row in range(len(states)):
        if not is_legal(states[row], actions[row]):
            return row
        play(states[row], size, actions[row], scratch)
    return -1


@njit(cache=True, nogil=True)
def key_rows(states: Any, table: Any, keys: Any) -> None:
    """Zobrist keys: `table: uint64[cells + 1, 4]` has a number for each content of a cell and, last, for each phase."""
    cells = states.shape[1] - 1
    for row in range(len(states)):
        key = table[cells, states[row, cells]]
        for cell in range(cells):
            key ^= table[cell, states[row, cell] & COLOUR]
        keys[row] = key
