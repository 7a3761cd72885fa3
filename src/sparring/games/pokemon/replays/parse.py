"""A spectator's log as both players' episodes: what each saw, what may have been chosen, what was."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparring.core.replays import Rejected
from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import GIMMICKS, ActionSpace, Names, Shown, action_space, fits_shown
from sparring.games.pokemon.actions.offer import CALLED, FORCED, PREVIEW, RECHARGE, STRUGGLE, TURN, flat
from sparring.games.pokemon.actions.powered import crystal_of
from sparring.games.pokemon.columns import SLOTS, TEAM
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.observation import BELIEF_FIELDS, ObservationRows
from sparring.games.pokemon.replays.deeds import Decision, Deed, Did, Kind, Member, Timeline
from sparring.games.pokemon.replays.known import fill_own_team, mark_absent, order_own_moves
from sparring.games.pokemon.replays.offers import Asked, write_offers
from sparring.games.pokemon.replays.protocol import protocol_lines
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.replays.timeline import read_timeline
from sparring.games.pokemon.tracker import Tracker
from sparring.games.pokemon.tracking.tables import load_tables

if TYPE_CHECKING:
    from sparring.games.pokemon.belief.seat import BeliefRows, Believing
    from sparring.games.pokemon.replays.own_team import BattleCompletion, Completion

_OFFERED = {Kind.PREVIEW: PREVIEW, Kind.TURN: TURN, Kind.REPLACE: FORCED}


@dataclass(frozen=True)
class SideOfBattle:
    """One player's part of a battle, a row a decision."""

    observation: dict[str, Array]
    legal: NDArray[np.bool_]
    """`bool[r, actions]`"""
    consistent: NDArray[np.bool_]
    """`bool[r, actions]` the actions that may have been chosen, as far as the log shows."""
    turn: NDArray[np.int32]
    """`int32[r]` number of the decision in the battle; both sides' rows with one number were chosen at once."""
    filled: NDArray[np.uint64] | None
    """`uint64[r]` what was filled in of the own team, if that was asked for; see `own_team`."""


@dataclass(frozen=True)
class ParsedBattle:
    """A battle as both players lived it."""

    timeline: Timeline
    sides: list[SideOfBattle]
    odd: Counter[str]
    """Lines that nobody here knows, and decisions that no action fits."""


def parse_battle(
    log: str, format: Format, completion: "Completion | None" = None, believing: "Believing | None" = None
) -> ParsedBattle:
    """Both sides of a battle; raises `Rejected`.

    With `completion`, what it never shows of own teams is filled in; with `believing`, rows have the `belief` group.
    """
    tables = load_tables(format.tables, format.showdown)
    lines = protocol_lines(log)
    timeline = read_timeline(lines, tables)
    if timeline.generation != format.generation:
        raise Rejected(Reason.GENERATION, f"a log of generation {timeline.generation} under {format.id}")
    if timeline.places != format.active:
        raise Rejected(Reason.GAME_TYPE, f"a log with {timeline.places} active Pokémon a side under {format.id}")
    space = action_space(format)
    odd: Counter[str] = Counter()
    rest = None if completion is None else completion.of_battle(log, lines)
    sides = [_read_side(number, lines, timeline, format, space, odd, rest) for number in range(2)]
    if believing is not None:
        _add_beliefs(believing.rows(), lines, timeline, sides)
    return ParsedBattle(timeline, [side for side, _ in sides], odd)


def _add_beliefs(
    beliefs: "BeliefRows", lines: list[list[str]], timeline: Timeline, sides: Sequence[tuple[SideOfBattle, Tracker]]
) -> None:
    """Adds to both sides' rows what could be told of both teams when they were chosen at: read once for both."""
    for side, _ in sides:
        side.observation.update({name: field.zeros(len(side.turn)) for name, field in BELIEF_FIELDS.items()})
    row_of = [dict(zip(side.turn.tolist(), range(len(side.turn)), strict=True)) for side, _ in sides]
    read = 0
    for number, decision in enumerate(timeline.decisions):
        beliefs.read(lines[read : decision.line])
        read = max(read, decision.line)
        for at, (side, tracker) in enumerate(sides):
            if number in row_of[at]:
                beliefs.write(side.observation, row_of[at][number], tracker.names, at)


def _read_side(
    number: int,
    lines: list[list[str]],
    timeline: Timeline,
    format: Format,
    space: ActionSpace,
    odd: Counter[str],
    rest: "BattleCompletion | None",
) -> tuple[SideOfBattle, Tracker]:
    decisions = [(at, decision) for at, decision in enumerate(timeline.decisions) if decision.deeds[number] is not None]
    if not decisions:
        raise Rejected(Reason.NO_DECISIONS, "a side never chose")
    kinds = [decision for _, decision in decisions]
    told = _told(lines, timeline.corrections[number])
    team = timeline.teams[number]
    tracker = Tracker(format.tables, f"p{number + 1}", showdown=format.showdown)
    tracker.own_team([(member.name, member.details) for member in team])
    rows = _follow(tracker, told, kinds)
    if timeline.transforms:  # who takes the own moves takes those that were not shown yet as well
        again = Tracker(format.tables, f"p{number + 1}", showdown=format.showdown)
        again.own_team([(member.name, member.details) for member in team], known=tracker)
        tracker, rows = again, _follow(again, told, kinds)
    odd.update(tracker.unknown)
    _tell_crystals(kinds, number, tracker)
    fill_own_team(rows, tracker)
    drawn = None if rest is None else rest.draw(tracker, number)
    order_own_moves(rows, tracker, [()] * TEAM if drawn is None else drawn.moves)
    absent = [member.slot for member in team if not member.brought]
    if absent and len(team) - len(absent) == timeline.sizes[number]:
        mark_absent(rows, absent, int(kinds[0].kind is Kind.PREVIEW))
    asked = _asked(kinds, number, rows, tracker, timeline)
    offers = write_offers(rows, asked, format, space.gimmicks)
    legal = space.mask(flat(offers))
    for row in np.flatnonzero(~legal.any(axis=1)).tolist():
        raise Rejected(Reason.NOTHING_ALLOWED, f"line {kinds[row].line}: p{number + 1} must choose and can do nothing")
    consistent = _consistent(kinds, number, flat(offers), legal, rows, tracker, team, space)
    for row in np.flatnonzero(~consistent.any(axis=1)).tolist():
        odd[f"no action fits a {kinds[row].kind.name.lower()}"] += 1
        consistent[row] = legal[row]
    filled = None if drawn is None else drawn.fill(rows, tracker)
    return SideOfBattle(rows, legal, consistent, np.array([at for at, _ in decisions], np.int32), filled), tracker


def _told(lines: list[list[str]], corrections: Mapping[int, list[str] | None]) -> list[list[str]]:
    """The log as the own side understands it: it knows its own illusions, and which moves are its own."""
    if not corrections:
        return lines
    return [corrections.get(at, line) or [] for at, line in enumerate(lines)]


def _follow(tracker: Tracker, lines: list[list[str]], decisions: Sequence[Decision]) -> dict[str, Array]:
    """Reads all lines, and returns the view as it was at each decision."""
    memory = ObservationRows(len(decisions))
    read = 0
    for row, decision in enumerate(decisions):
        tracker.split_lines(lines[read : decision.line])
        read = decision.line
        tracker.write(memory, row)
    tracker.split_lines(lines[read:])
    return memory.first(len(decisions))


def _asked(
    decisions: Sequence[Decision], number: int, rows: dict[str, Array], tracker: Tracker, timeline: Timeline
) -> Asked:
    """What kind of decision each row is, as far as the log shows."""
    count = len(decisions)
    must, reviving = np.zeros((count, SLOTS), np.bool_), np.zeros((count, SLOTS), np.bool_)
    locked, hidden = np.zeros((count, SLOTS), np.uint8), np.zeros((count, SLOTS), np.bool_)
    stayed, made = np.ones((count, SLOTS), np.bool_), np.full((count, SLOTS), -1, np.int8)
    used, came_in = np.full((count, SLOTS), -1, np.int8), np.zeros((count, TEAM), np.bool_)
    for row, decision in enumerate(decisions):
        for place, deed in enumerate(decision.deeds[number] or ()):
            if deed is None:
                continue
            hidden[row, place] = not deed.move
            if deed.gimmick:
                used[row, place] = GIMMICKS.index(deed.gimmick)
            stayed[row, place] = deed.did is not Did.SWITCH
            if deed.did is Did.SWITCH and deed.stint is not None:
                came_in[row, deed.stint.member.slot] = True
            if decision.kind is Kind.REPLACE:
                must[row, place] = deed.did is Did.SWITCH or (
                    deed.asked and _nobody_is_left(decision, number, rows, row)
                )
                reviving[row, place] = deed.member is not None
                continue
            listed = rows["active_move_ids"][row, place].tolist()
            move = tracker.tables.move(deed.move) if deed.move else 0
            at = listed.index(move) if move and move in listed else -1
            made[row, place] = at
            if deed.move == "Struggle":
                locked[row, place] = STRUGGLE
            elif deed.locked and not deed.move:
                locked[row, place] = RECHARGE
            elif deed.locked or _held_to_it(move, rows["active_ids"][row, place]):
                locked[row, place] = 1 + at if at >= 0 else CALLED
    return Asked(
        kind=np.array([_OFFERED[decision.kind] for decision in decisions], np.uint8),
        must_switch=must,
        reviving=reviving,
        locked=locked,
        hidden=hidden,
        stayed=stayed,
        made=made,
        used=used,
        came_in=came_in,
        binding_items=_binding_items(tracker, timeline.teams[number]),
        size=max(len(timeline.teams[number]), timeline.sizes[number]),
    )


def _binding_items(tracker: Tracker, team: Sequence[Member]) -> NDArray[np.intp]:
    """`intp[TEAM]` see `Asked`."""
    items = np.array(tracker.first_items[:TEAM], np.intp)
    for member in team:
        if items[member.slot] in {tracker.tables.dex.items[item] for item in member.given}:
            items[member.slot] = -1
    return items


def _held_to_it(move: int, seen: Array) -> bool:
    """Whether a Pokémon went on with a move that was disabled: there was nothing else to choose."""
    return move > 0 and move == int(seen[c.ACTIVE_ID_DISABLED_MOVE])


def _nobody_is_left(decision: Decision, number: int, rows: dict[str, Array], row: int) -> bool:
    """Whether all that could come in came in, so that a fainted Pokémon's place had to pass."""
    own = rows["pokemon"][row, :TEAM]
    ready = (own[:, c.POKEMON_KNOWN] > 0) & (own[:, c.POKEMON_FAINTED] == 0) & (own[:, c.POKEMON_ABSENT] == 0)
    bench = int((ready & (own[:, c.POKEMON_ACTIVE] == 0)).sum())
    return bench <= sum(deed is not None and deed.did is Did.SWITCH for deed in decision.deeds[number] or ())


def _consistent(
    decisions: Sequence[Decision],
    number: int,
    offers: NDArray[np.uint8],
    legal: NDArray[np.bool_],
    rows: dict[str, Array],
    tracker: Tracker,
    team: Sequence[Member],
    space: ActionSpace,
) -> NDArray[np.bool_]:
    """`bool[r, actions]` what may have been chosen at each decision."""
    dex, fits = tracker.tables.dex, np.empty_like(legal)
    listed = rows["active_move_ids"][:, : space.active].tolist()
    illusion = dex.abilities["illusion"]
    hiders = [member.slot for member in team if illusion and _may_have(tracker, member, illusion)]
    brought = [member.slot for member in team if member.brought]
    for row, decision in enumerate(decisions):
        own = rows["pokemon"][row, :TEAM]
        hiding = [slot for slot in hiders if not own[slot, c.POKEMON_ACTIVE] and not own[slot, c.POKEMON_FAINTED]]
        names = Names(dex, (), [[dex.moves.ids[move] for move in moves] for moves in listed[row]])
        deeds = (decision.deeds[number] or [])[: space.active]
        shown = [_shown(deed, number, place, hiding) for place, deed in enumerate(deeds)]
        fits[row] = fits_shown(space, offers[row].tobytes(), legal[row], shown, names, brought=brought)
    return fits


def _may_have(tracker: Tracker, member: Member, ability: int) -> bool:
    species = tracker.tables.details(member.details)[0]
    return ability in tracker.tables.dex.species_abilities[species]


def _shown(deed: Deed | None, number: int, place: int, hiding: Sequence[int]) -> Shown:
    """A deed in the words of the action space; Pokémon that are `hiding` may have come in as another."""
    if deed is None or deed.did is Did.UNKNOWN:
        return Shown()
    if deed.did is Did.PASS:
        return Shown(order="pass")
    if deed.did is Did.SWITCH:
        if deed.member is not None:
            return Shown(order="switch", switch=(deed.member.slot,))
        if deed.stint is None:
            return Shown(order="switch")
        known = deed.stint.member is not deed.stint.shown
        return Shown(order="switch", switch=(deed.stint.member.slot, *(() if known else hiding)))
    target = None
    if deed.target and not deed.retargeted:
        own = deed.target[:2] == f"p{number + 1}"
        at = "ab".index(deed.target[2])
        target = (0 if at == place else 3) if own else 1 + at
    return Shown(order="move", move=deed.move, target=target, gimmick=deed.gimmick or ("" if deed.move else None))


def _tell_crystals(decisions: Sequence[Decision], number: int, tracker: Tracker) -> None:
    """A Z-move tells which crystal its user held."""
    dex = tracker.tables.dex
    for decision in decisions:
        for deed in decision.deeds[number] or ():
            if deed is not None and deed.gimmick == "zmove" and deed.move and deed.by is not None:
                slot = deed.by.member.slot
                if tracker.first_items[slot] < 0:
                    tracker.first_items[slot] = dex.items[crystal_of(dex, deed.move)]
