"""Compares what is parsed from a spectator's log with what the player really saw and chose.

Team slots and places in a list of moves may be others: a log does not tell their own order. What a log
cannot tell (docs/replays.md names it) is left out of the comparison, each where it cannot.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparring.core import Array, RandomPlayer, load_game
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import ActionSpace, action_space
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.replays.deeds import Timeline
from sparring.games.pokemon.replays.generate import BattleRecorder
from sparring.games.pokemon.replays.parse import SideOfBattle, parse_battle
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.tracker import Tracker
from sparring.rollout import Collector, taking_turns

_NEVER_SHOWN = {
    "pokemon": [
        c.POKEMON_HP,
        c.POKEMON_MAX_HP,
        *range(c.POKEMON_STAT_ATK, c.POKEMON_STAT_SPE + 1),
        c.POKEMON_MOVES_KNOWN,
    ],
    "active": [c.ACTIVE_TRAPPED, c.ACTIVE_MAYBE_TRAPPED, c.ACTIVE_CAN_MEGA, c.ACTIVE_CAN_Z],
}
"""Columns of the own side that a log does not determine."""
_LENGTHENED = {
    "lightclay": ("side", [c.SIDE_REFLECT_TURNS, c.SIDE_LIGHT_SCREEN_TURNS, c.SIDE_AURORA_VEIL_TURNS]),
    **dict.fromkeys(("heatrock", "damprock", "smoothrock", "icyrock"), ("field", [c.FIELD_WEATHER_TURNS])),
    "terrainextender": ("field", [c.FIELD_TERRAIN_TURNS]),
}
"""Columns of durations that an own item changes, which need not show."""

FEW = 100
"""So many battles are played one after the other, and so the same every time: players draw in the order of answers."""


def played(format: str, player: str, battles: int, seed: int, *, team_set: str = "") -> list[dict[str, Any]]:
    """Battles of `player` against itself, with the truth; the same every time if they are few."""
    found: list[dict[str, Any]] = []
    settings = PokemonSettings(format=format, team_set=team_set)
    arena = PokemonArena(settings, matches=1 if battles <= FEW else 8, seed=seed)
    try:
        BattleRecorder(arena, found.append)
        make = load_game("pokemon").players.get(player)
        players = [RandomPlayer(seed + at) if make is None else make(settings, seed + at) for at in range(2)]
        Collector(arena, {"one": players[0], "two": players[1]}, taking_turns(range(2), 2)).play(battles)
    finally:
        arena.close()
    return found[:battles]


class Comparison:
    """Adds up how parsed battles of one format differ from the truth."""

    def __init__(self, format: str) -> None:
        self.format = find_format(format)
        self.space: ActionSpace = action_space(self.format)
        self.ids = load_ids(self.format.tables)
        self.decisions = 0
        self.exact = 0
        self.unbroken = 0
        """Decisions that an illusion which never ended makes look like another's."""
        self.disguised = 0
        """Rows of sides whose own illusion never ended: they are not compared."""
        self.missing: list[str] = []
        """Choices that are not among those parsed."""
        self.differences: Counter[str] = Counter()

    def add(self, battle: Mapping[str, Any]) -> None:
        """Parses the log of `battle` and compares both sides."""
        parsed = parse_battle(battle["log"], self.format)
        assert parsed.timeline.winner == battle["winner"]
        truth = [_shown_decisions(side) for side in battle["sides"]]
        names = [[member.name for member in team] + [""] * (TEAM - len(team)) for team in parsed.timeline.teams]
        for number, side in enumerate(parsed.sides):
            assert len(side.turn) == len(truth[number])
        deceived = [_mistaken(*one) for one in zip(truth, parsed.sides, names, strict=True)]
        for number, side in enumerate(parsed.sides):
            read = [parsed.timeline.decisions[at].line for at in side.turn]
            desynced = [(line, name) for line, of, name in _desynced(battle["log"]) if of == number]
            one = _Seen(truth[number], side, names[number], read, desynced, deceived[number], deceived[1 - number])
            self._compare(one, parsed.timeline, number)

    def _compare(self, seen: "_Seen", timeline: Timeline, number: int) -> None:
        truth, side = seen.truth, seen.side
        live = Tracker(self.format.tables, f"p{number + 1}")
        memory = ObservationRows(len(truth))
        for row, told in enumerate(truth):
            live.lines(told["lines"].split("\n"))
            live.request(told["request"])
            live.write(memory, row)
        transformed = memory.fields["active"][:, :SLOTS, c.ACTIVE_TRANSFORMED].any(axis=1)
        for row, told in enumerate(truth):
            self.decisions += 1
            self.exact += int(side.consistent[row].sum() == 1)
            assert (side.consistent[row] <= side.legal[row]).all()
            fits = self._has(told, side, row, seen.names)
            # Whoever takes the looks of a foe's illusion has moves that nobody can tell.
            if (seen.disguised or (seen.foe_disguised and transformed[row])) and not fits:
                self.unbroken += 1
            elif not fits:
                self.missing.append(f"turn {timeline.decisions[side.turn[row]].turn}: {told['choice']}")
        for row, told in enumerate(truth):  # a rampage whose user never gets to move does not show
            locked = [
                len(one["moves"]) == 1 and "pp" not in one["moves"][0] for one in told["request"].get("active", ())
            ]
            hold = np.flatnonzero(locked)
            for column in (c.ACTIVE_CAN_DYNAMAX, c.ACTIVE_CAN_TERA):
                side.observation["active"][row, hold, column] = memory.fields["active"][row, hold, column]
            if any(one["moves"][0]["id"] == "fight" for one in told["request"].get("active", ())):
                side.observation["active_moves"][row, 0, :, c.MOVE_DISABLED] = 0.0
        if seen.disguised:
            self.disguised += len(truth)
        else:
            self._compare_rows(seen, memory.fields, live)

    def _has(self, told: Mapping[str, Any], side: SideOfBattle, row: int, names: list[str]) -> bool:
        """Whether the true choice is among those that were parsed."""
        request, choice = told["request"], told["choice"]
        if choice.startswith("team "):
            picked = [int(digit) - 1 for digit in choice[5:]]
            action = self.space.preview_action(picked, len(request["side"]["pokemon"]))
            return action is not None and bool(side.consistent[row, action])
        orders = [_order(request, place, part) for place, part in enumerate(choice.split(", "))]
        moves = [
            [self.ids[move] for move in listed] for listed in side.observation["active_move_ids"][row, :SLOTS].tolist()
        ]
        return any(
            all(
                self._means(order, told_order, place, moves[place], names)
                for place, (order, told_order) in enumerate(zip(self.space.orders_of(int(action)), orders, strict=True))
            )
            for action in np.flatnonzero(side.consistent[row, : self.space.joint])
        )

    def _means(self, order: int, told: tuple[str, ...], place: int, moves: list[str], names: list[str]) -> bool:
        """Whether order number `order` is what was told, by names; a move or Pokémon without one may be any."""
        orders = self.space.orders
        move, slot, gimmick = int(orders.move[order]), int(orders.switch[order]), int(orders.gimmick[order])
        if told[0] == "switch":
            return slot >= 0 and names[slot] in (told[1], "")
        if told[0] == "pass" or move < 0:
            return told[0] == "pass" and move < 0 and slot < 0
        _, name, target, used = told
        if name == "":  # the only thing it could do
            return True
        if (self.space.gimmicks[gimmick - 1] if gimmick else "") != used:
            return False
        listed = moves[move]
        same = listed in ("", name) or (listed.startswith("hiddenpower") and name.startswith("hiddenpower"))
        if not same or not listed or self.space.active == 1 or not target:
            return same
        aimed = int(target)
        return int(orders.target[order]) == (aimed if aimed > 0 else 0 if aimed == -1 - place else 3)

    def _compare_rows(self, seen: "_Seen", live: Mapping[str, Array], tracker: Tracker) -> None:
        """Every number of every row, own slots and moves matched by name."""
        parsed = seen.side.observation
        slots = [tracker.names.index(name) if name and name in tracker.names[:TEAM] else -1 for name in seen.names]
        known = [slot for slot in range(TEAM) if slots[slot] >= 0]
        there = [slots[slot] for slot in known]
        items = seen.items()
        clinging = [at for at, slot in enumerate(known) if "stickybarb" in items.get(seen.names[slot], ())]
        for name in ("field", "side", "active", "active_ids", "pokemon", "pokemon_ids"):
            mine, theirs = parsed[name].astype(np.float32), live[name].astype(np.float32)
            if name in ("pokemon", "pokemon_ids"):
                mine = np.concatenate([mine[:, known], mine[:, TEAM:]], axis=1)
                theirs = np.concatenate([theirs[:, there], theirs[:, TEAM:]], axis=1)
            own = slice(len(known)) if name.startswith("pokemon") else slice(1) if name == "side" else slice(SLOTS)
            different = np.abs(mine - theirs) > 1e-6
            if name in _NEVER_SHOWN:
                different[:, own, _NEVER_SHOWN[name]] = False
            for item in set().union(*items.values()) & _LENGTHENED.keys():
                what, columns = _LENGTHENED[item]
                if name == what:
                    different[(slice(None), own, columns) if name == "side" else (slice(None), columns)] = False
            if name == "pokemon_ids":
                _excuse_unknown_sets(different, parsed["pokemon"][:, known], parsed["pokemon_ids"][:, known])
                for at in clinging:  # a Sticky Barb goes over without a word
                    different[:, at, [c.POKEMON_ID_ITEM, c.POKEMON_ID_LAST_ITEM]] = False
            if name == "pokemon":
                for column in (c.POKEMON_ITEM_KNOWN, c.POKEMON_ITEM_HELD, c.POKEMON_ABILITY_KNOWN):
                    different[:, own, column] &= mine[:, own, column] > 0
                different[:, clinging, c.POKEMON_ITEM_KNOWN : c.POKEMON_ITEM_LOST + 1] = False
            if name == "active_ids":
                different[:, own, c.ACTIVE_ID_POKEMON] = False  # compared by the rows themselves
                # Of a foe that has taken the own looks the owner knows the ability as well.
                taken = live["active"][..., c.ACTIVE_TRANSFORMED] > 0
                different[..., c.ACTIVE_ID_ABILITY] &= (mine[..., c.ACTIVE_ID_ABILITY] > 0) | ~taken
                # The lines before its first request a seat reads without knowing its own team yet.
                different[:1, SLOTS:, c.ACTIVE_ID_ABILITY] &= (theirs[:1, SLOTS:, c.ACTIVE_ID_ABILITY] > 0) | ~taken[
                    :1, SLOTS:
                ]
                # What an own ability has become on the field may not show either.
                base = live["pokemon_ids"][..., c.POKEMON_ID_ABILITY]
                who = np.maximum(live["active_ids"][:, own, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1, 0)
                kept = theirs[:, own, c.ACTIVE_ID_ABILITY] == np.take_along_axis(base, who, axis=1)
                different[:, own, c.ACTIVE_ID_ABILITY] &= (mine[:, own, c.ACTIVE_ID_ABILITY] > 0) & kept
            for at in np.argwhere(different):
                self.differences[f"{name} {'foe ' if at[-2] >= own.stop and at.size > 2 else ''}column {at[-1]}"] += 1
        self._compare_moves(seen, live, known, there, tracker)

    def _compare_moves(
        self, seen: "_Seen", live: Mapping[str, Array], known: list[int], there: list[int], tracker: Tracker
    ) -> None:
        """Lists of moves: foes' as they are, own ones by the number of the move."""
        parsed = seen.side.observation
        foes = parsed["move_ids"][:, TEAM:] != live["move_ids"][:, TEAM:]
        self.differences["foe moves"] += int(foes.sum())
        hidden_powers = list(tracker.tables.hidden_powers)
        costs = self._unsure_costs(seen, live, tracker)
        for slot, other in zip(known, there, strict=True):
            mine, theirs = parsed["move_ids"][:, slot], live["move_ids"][:, other]
            shown = (mine > 0) & ~np.isin(mine, hidden_powers)
            found = (mine[:, :, None] == theirs[:, None, :]).any(axis=2)
            self.differences["own moves"] += int((shown & ~found).sum())
            self._compare_columns(
                "own", parsed["moves"][:, slot], live["moves"][:, other], mine, theirs, costs.of(other)
            )
        for place in range(2 * SLOTS):
            mine, theirs = parsed["active_move_ids"][:, place], live["active_move_ids"][:, place]
            shown = (mine > 0) & ~np.isin(mine, hidden_powers)
            if place >= SLOTS:  # who took the own looks before the first request shows nothing of them in play
                shown[np.logical_and.accumulate(live["active"][:, place, c.ACTIVE_TRANSFORMED] > 0)] = False
            found = (mine[:, :, None] == theirs[:, None, :]).any(axis=2)
            what = f"place {place}"
            self.differences[f"moves at {what}"] += int((shown & ~found).sum())
            columns, others = (rows["active_moves"][:, place].copy() for rows in (parsed, live))
            if place < SLOTS and self.format.generation < 5:
                # How many PP a borrowed move could have goes by its place in the model's list, which does not show.
                borrowed = live["active"][:, place, c.ACTIVE_TRANSFORMED] > 0
                for one in (columns, others):
                    one[borrowed, :, c.MOVE_PP] *= one[borrowed, :, c.MOVE_MAX_PP]
                    one[borrowed, :, c.MOVE_MAX_PP] = 1.0
            who = live["active_ids"][:, place, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
            unsure = costs.of(np.maximum(who, 0)) if place < SLOTS else None
            self._compare_columns(what, columns, others, mine, theirs, unsure)
        for row in range(TEAM, 2 * TEAM):
            mine, theirs = parsed["move_ids"][:, row], live["move_ids"][:, row]
            self._compare_columns("foe", parsed["moves"][:, row], live["moves"][:, row], mine, theirs, None)

    def _compare_columns(
        self, whose: str, mine: Array, theirs: Array, numbers: Array, others: Array, unsure: "_Costs | None"
    ) -> None:
        """Columns `float32[r, MOVES, columns]` of moves whose numbers are `int16[r, MOVES]`."""
        rolling = np.isin(numbers, [self.ids.index(move) for move in ("rollout", "iceball")])
        compared = (numbers > 0) & ~_listed_twice(numbers)
        same = (numbers[..., :, None] == others[..., None, :]) & compared[..., :, None]
        for column in range(mine.shape[-1]):
            more = mine[..., :, None, column] - theirs[..., None, :, column]
            different = np.abs(more) > 1e-6
            if column == c.MOVE_PP:
                different &= ~rolling[..., :, None]
            if column == c.MOVE_PP and unsure is not None:
                different &= ~(unsure.paid & (more > 0)) & ~(unsure.spared & (more < 0))
            if column in (c.MOVE_PP, c.MOVE_REVEALED) and unsure is not None:
                different &= ~unsure.used[..., None, :]
            if column == c.MOVE_DISABLED:  # what does not show forbids nothing
                different = more > 1e-6
            self.differences[f"{whose} move column {column}"] += int((same & different).sum())

    def _unsure_costs(self, seen: "_Seen", live: Mapping[str, Array], tracker: Tracker) -> "_Costs":
        """Which PP a log does not tell."""
        rows = len(seen.truth)
        used = np.zeros((rows, TEAM, MOVES), np.bool_)
        paid, spared = np.zeros((rows, TEAM), np.bool_), np.zeros((rows, TEAM), np.bool_)
        for line, name in seen.desynced:
            used[np.array(seen.read) > line, tracker.names.index(name)] = True
        mimic = self.ids.index("mimic")
        for row, place in np.argwhere(live["active"][:, :SLOTS, c.ACTIVE_MIMIC] > 0).tolist():
            who = int(live["active_ids"][row, place, c.ACTIVE_ID_POKEMON]) - 1
            twice = _listed_twice(live["active_move_ids"][row, place])
            if twice.any():
                moves = [mimic, *live["active_move_ids"][row, place][twice].tolist()]
                used[row:, who] |= np.isin(live["move_ids"][row, who], moves)
        for row, told in enumerate(seen.truth):
            entries = told["request"]["side"]["pokemon"]
            for place, part in enumerate(told["choice"].split(", ")):
                if "dynamax" in part or "zmove" in part:
                    paid[row + 1 :, tracker.names.index(entries[place]["ident"][4:])] = True
        if self.space.active > 1:
            pressing = live["active_ids"][:, SLOTS:, c.ACTIVE_ID_ABILITY] == tracker.tables.pressure
            paid[np.logical_or.accumulate(pressing.any(axis=1))] = True
        items = seen.items()
        for entry in seen.truth[0]["request"]["side"]["pokemon"]:
            name = entry["ident"][4:]
            if entry["baseAbility"] == "dancer" and any(item.startswith("choice") for item in items[name]):
                spared[:, tracker.names.index(name)] = True
        species_abilities, abilities = tracker.tables.dex.species_abilities, tracker.tables.dex.abilities
        foes = live["pokemon_ids"][-1, TEAM:, c.POKEMON_ID_SPECIES]
        may_have = [(species_abilities[foes] == abilities[one]).any() for one in ("illusion", "pressure")]
        if abilities["illusion"] and all(may_have):
            spared[:] = True
        return _Costs(used, paid, spared)


@dataclass(frozen=True)
class _Seen:
    """One side of a battle: what it was told and chose, and what was parsed of that."""

    truth: list[dict[str, Any]]
    side: SideOfBattle
    names: list[str]
    """By team slot as parsed."""
    read: list[int]
    """By row: how many lines of the log had been told."""
    desynced: list[tuple[int, str]]
    """Moves by generation 1's Desync Clause: number of the line, name."""
    disguised: bool
    """An own Pokémon was taken for another and the log never said so."""
    foe_disguised: bool

    def items(self) -> dict[str, set[str]]:
        """What each own Pokémon held at any time."""
        held: dict[str, set[str]] = {}
        for told in self.truth:
            for entry in told["request"]["side"]["pokemon"]:
                held.setdefault(entry["ident"][4:], set()).add(entry["item"])
        return held


@dataclass(frozen=True)
class _Costs:
    """Own moves of which a log does not tell what they cost."""

    used: Array
    """`bool[r, TEAM, MOVES]` nor whether they were used: in generation 1 a Pokémon that thaws makes another's move, for
    which some move of its own pays; and who mimics a move that it has has it twice."""
    paid: Array
    """`bool[r, TEAM]` they may have cost more than it seems: which move a Z-move or max move was made of does not show,
    nor whom a move of doubles that fails was to hit, be it one with Pressure."""
    spared: Array
    """`bool[r, TEAM]` or less: bound to another's dance by a Choice item, a Dancer tries its own move in vain; the
    Pressure of an illusion is none."""

    def of(self, slots: Array | int) -> "_Costs":
        """Those of one own Pokémon a row: `bool[r, MOVES]`, and `bool[r, 1, 1]` of the others."""
        rows = np.arange(len(self.used))
        slots = np.minimum(slots, TEAM - 1)
        paid, spared = self.paid[rows, slots], self.spared[rows, slots]
        return _Costs(self.used[rows, slots], paid[:, None, None], spared[:, None, None])


def _mistaken(truth: list[dict[str, Any]], side: SideOfBattle, names: list[str]) -> bool:
    """Whether somebody else stood on the field or fell, at some time, than was parsed: an illusion that never ended."""
    for row, told in enumerate(truth):
        if told["request"].get("teamPreview"):
            continue
        own = side.observation["pokemon"][row, :TEAM]
        fallen = {names[slot] for slot in np.flatnonzero(own[:, c.POKEMON_FAINTED] > 0)}
        here = {names[slot] for slot in np.flatnonzero(own[:, c.POKEMON_ACTIVE] > 0)} - fallen
        entries = told["request"]["side"]["pokemon"]
        truly_fallen = {entry["ident"][4:] for entry in entries if entry["condition"].endswith(" fnt")}
        truly_here = {entry["ident"][4:] for entry in entries if entry["active"]} - truly_fallen
        if (here, fallen) != (truly_here, truly_fallen):
            return True
    return False


def _listed_twice(numbers: Array) -> Array:
    """`bool[..., MOVES]` which of the moves `int16[..., MOVES]` are there twice: by Mimic."""
    return np.asarray(((numbers[..., :, None] == numbers[..., None, :]) & (numbers[..., None, :] > 0)).sum(axis=-1) > 1)


def _desynced(log: str) -> list[tuple[int, int, str]]:
    """Moves that a Pokémon made by the Desync Clause: number of the line, side and name."""
    found, hinted = [], False
    for at, line in enumerate(log.split("\n")):
        if line.startswith("|-hint|In Gen 1, if both players would see the same Pokémon using different moves"):
            hinted = True
        elif line.startswith("|move|"):
            who = line.split("|")[2]
            if hinted:
                found.append((at, int(who[1]) - 1, who[5:]))
            hinted = False
    return found


def _excuse_unknown_sets(different: Array, columns: Array, ids: Array) -> None:
    """An own item, ability or tera type that never shows is no difference."""
    count = columns.shape[1]
    different[:, :count, c.POKEMON_ID_ITEM] &= columns[..., c.POKEMON_ITEM_KNOWN] > 0
    standing = columns[..., c.POKEMON_FAINTED] == 0  # what a mega evolution had before it may not show
    different[:, :count, c.POKEMON_ID_ABILITY] &= (columns[..., c.POKEMON_ABILITY_KNOWN] > 0) & standing
    different[:, :count, c.POKEMON_ID_TERA_TYPE] &= ids[..., c.POKEMON_ID_TERA_TYPE] > 0


def _shown_decisions(decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Decisions without those that leave no line; what was told before one of these is told before the next."""
    shown, before = [], ""
    for told in decisions:
        lines = f"{before}{told['lines']}"
        if _revives_nobody(told):
            before = f"{lines}\n"
        else:
            shown.append(dict(told, lines=lines))
            before = ""
    return shown


def _revives_nobody(told: Mapping[str, Any]) -> bool:
    """A Revival Blessing whose user passes leaves no line."""
    reviving = any(pokemon.get("reviving") for pokemon in told["request"]["side"]["pokemon"])
    return reviving and set(told["choice"].split(", ")) == {"pass"}


def load_ids(tables: str) -> tuple[str, ...]:
    """The ids of moves by number."""
    return Tracker(tables, "p1").tables.dex.moves.ids


def _order(request: Mapping[str, Any], place: int, text: str) -> tuple[str, ...]:
    """One place's part of a choice: ("switch", name), ("pass",) or ("move", id, target, gimmick)."""
    words = text.split()
    if words[0] == "switch":
        return "switch", request["side"]["pokemon"][int(words[1]) - 1]["ident"][4:]
    if words[0] == "pass":
        return ("pass",)
    active = request["active"][place]
    move = active["moves"][int(words[1]) - 1]
    locked = len(active["moves"]) == 1 and "pp" not in move
    target = next((word for word in words[2:] if word.lstrip("+-").isdigit()), "")
    gimmick = next((word for word in words[2:] if not word.lstrip("+-").isdigit()), "")
    return "move", "" if locked else move["id"], target, {"ultra": "mega", "megax": "mega"}.get(gimmick, gimmick)


assert MOVES == 4
