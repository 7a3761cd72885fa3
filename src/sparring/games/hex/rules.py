"""The rules of Hex as numba kernels over rows of states. The arena and the forward model both run on these.

A state is one `uint8[size * size + 1]` row, always seen from the mover, who connects top and bottom: for seat 1
that is the board mirrored across its diagonal, with the colours exchanged. Seen so, both seats play one game.

- A cell is 0 (empty), or a colour bit `MINE` or `OTHERS` plus two link bits: the stone is connected to its owner's
  near edge (`NEAR`: top, or left for the other seat) and far edge (`FAR`). A stone with both has won, so a move
  looks only at its neighbours and, rarely, floods a new link bit through its own group.
- The last byte is the phase: `PLAY`, `EMPTY` (no stone yet and the swap rule is on), `SWAP` (the mover may swap) or
  `LOST` (the other seat has connected; the match is over).

In this frame the swap changes no cell: the mirrored stone of the other colour, seen from the other seat, is the
same picture.

All kernels are in this one file because numba's cache notices a change only in the file of the kernel it holds.
"""

from typing import Any

import numpy as np
from numba import njit

MINE, OTHERS, COLOUR = 1, 2, 3
NEAR, FAR, LINKS = 4, 8, 12
PLAY, EMPTY, SWAP, LOST = 0, 1, 2, 3
READY, OUT, ACCEPTED = 0, 1, 2
"""A slot's row is ready for `wait`; is out with a player; has been answered in the `act` that is running."""


@njit(cache=True, nogil=True)
def start(state: Any, swap: bool) -> None:
    """Writes the empty board into `state: uint8[cells + 1]`."""
    state[:] = 0
    state[-1] = EMPTY if swap else PLAY


@njit(cache=True, nogil=True)
def is_legal(state: Any, action: int) -> bool:
    """Whether the mover may play `action`: an empty cell, or the swap (number `cells`) while it is open."""
    cells = len(state) - 1
    if state[cells] == LOST or action < 0 or action > cells:
        return False
    if action == cells:
        return bool(state[cells] == SWAP)
    return bool(state[action] == 0)


@njit(cache=True, nogil=True)
def play(state: Any, size: int, action: int, scratch: Any) -> bool:
    """Plays a legal `action` and turns the state to the other seat; true if the mover has won.

    `scratch: int32[cells]` is space to work in.
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
    """Puts the mover's stone on an empty cell and links it; true if it connects top and bottom."""
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
    """Gives the links of `cell` to every stone of its group."""
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
    """The cell on `side` 0..5 of a cell, going around it; -1 off the board."""
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
    """Shows the board from the other seat: mirrored across the diagonal, colours exchanged."""
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
    """Writes `legal: bool[actions]`, with an action `cells` for the swap if the rule is on; none once it is over."""
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
    """Writes the state that `planes: uint8[2, cells]` show; the reverse of `show_planes`."""
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
    if state[cell] & COLOUR == colour and not state[cell] & link:
        state[cell] |= link
        _spread(state, size, cell, scratch)


@njit(cache=True, nogil=True)
def draw(stream: Any, row: int, below: int) -> Any:
    """A number in 0..below-1 from random stream `row` of `stream: uint64[k]` (SplitMix64), which moves on."""
    stream[row] += np.uint64(0x9E3779B97F4A7C15)
    z = stream[row]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


# Slots of an arena


@njit(cache=True, nogil=True)
def begin_match(
    state: Any,
    seat: Any,
    moves: Any,
    history: Any,
    stream: Any,
    scratch: Any,
    size: int,
    swap: bool,
    opening: int,
    match: int,
) -> None:
    """Starts a match in one slot: the empty board, and on it the random opening."""
    start(state[match], swap)
    cells = size * size
    for move in range(opening):
        cell = draw(stream, match, cells - move)
        for other in range(cells):
            if other > cell:
                break
            cell += state[match, other] != 0
        history[match, move] = cell if move % 2 == 0 else cell % size * size + cell // size
        play(state[match], size, cell, scratch)
    seat[match] = opening % 2
    moves[match] = opening


@njit(cache=True, nogil=True)
def begin(
    state: Any, seat: Any, moves: Any, history: Any, stream: Any, scratch: Any, size: int, swap: bool, opening: int
) -> None:
    """Starts a match in every slot."""
    for match in range(len(state)):
        begin_match(state, seat, moves, history, stream, scratch, size, swap, opening, match)


@njit(cache=True, nogil=True)
def collect(
    state: Any,
    seat: Any,
    status: Any,
    moves: Any,
    opening: int,
    row_match: Any,
    row_seat: Any,
    planes: Any,
    legal: Any,
    first: Any,
) -> int:
    """Writes the row of every slot that is ready and marks it out; returns how many."""
    k = 0
    for match in range(len(state)):
        if status[match] == READY:
            status[match] = OUT
            row_match[k] = match
            row_seat[k] = seat[match]
            first[k] = moves[match] < opening + 2
            show_planes(state[match], planes[k])
            show_legal(state[match], legal[k])
            k += 1
    return k


@njit(cache=True, nogil=True)
def accept(state: Any, seat: Any, status: Any, row_match: Any, row_seat: Any, action: Any) -> int:
    """Marks k answered rows accepted and returns -1, or leaves all as it was and returns the first row refused."""
    for row in range(len(row_match)):
        match = row_match[row]
        if (
            match < 0
            or match >= len(state)
            or status[match] != OUT
            or seat[match] != row_seat[row]
            or not is_legal(state[match], action[row])
        ):
            for earlier in range(row):
                status[row_match[earlier]] = OUT
            return row
        status[match] = ACCEPTED
    return -1


@njit(cache=True, nogil=True)
def step(
    state: Any,
    seat: Any,
    status: Any,
    moves: Any,
    history: Any,
    last_moves: Any,
    last_history: Any,
    stream: Any,
    ended: Any,
    winner: Any,
    counts: Any,
    row_match: Any,
    action: Any,
    scratch: Any,
    size: int,
    swap: bool,
    opening: int,
) -> None:
    """Plays accepted actions; a match that ends is noted and its slot starts the next."""
    cells = size * size
    for row in range(len(row_match)):
        match, move = row_match[row], action[row]
        mover = seat[match]
        absolute = move if mover == 0 or move == cells else move % size * size + move // size
        history[match, moves[match]] = absolute
        moves[match] += 1
        status[match] = READY
        if play(state[match], size, move, scratch):
            ended[counts[0]] = match
            winner[counts[0]] = mover
            counts[0] += 1
            last_moves[match] = moves[match]
            last_history[match] = history[match]
            begin_match(state, seat, moves, history, stream, scratch, size, swap, opening, match)
        else:
            seat[match] = 1 - mover


# Rows of states, for search


@njit(cache=True, nogil=True)
def read_rows(planes: Any, size: int, swap: bool, legal: Any, states: Any) -> None:
    """`read` for k rows; the mask says where the swap is open."""
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
    """Plays one action in each state; returns -1, or the first row whose action is refused."""
    scratch = np.empty(size * size, np.int32)
    for row in range(len(states)):
        if not is_legal(states[row], actions[row]):
            return row
        play(states[row], size, actions[row], scratch)
    return -1


@njit(cache=True, nogil=True)
def key_rows(states: Any, table: Any, keys: Any) -> None:
    """Zobrist keys from `table: uint64[cells + 1, 4]`: a number for each colour of a cell, and for each phase."""
    cells = states.shape[1] - 1
    for row in range(len(states)):
        key = table[cells, states[row, cells]]
        for cell in range(cells):
            key ^= table[cell, states[row, cell] & COLOUR]
        keys[row] = key
