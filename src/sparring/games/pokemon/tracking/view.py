"""One side's view of a battle, kept as the flat arrays of the observation, and the changes that lines make to it.

A `row` is a Pokémon (0..5 own, 6..11 foes), a `place` a spot on the field (own left, own right, foe left, foe right),
a `side` 0 (own) or 1 (foe). The arrays are `array.array`: writing one number costs a third of a numpy scalar write,
and numpy sees the same memory when a whole row is copied out.
"""

from array import array
from collections import Counter
from typing import Any

from sparring.games.pokemon.columns import (
    ACTIVES,
    LEVEL_SCALE,
    MOVES,
    POKEMON,
    PP_SCALE,
    SLOTS,
    TEAM,
    TURN_SCALE,
    ActiveColumn,
    ActiveId,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.observation import FLOAT_COUNT, FLOAT_OFFSETS, ID_COUNT, ID_OFFSETS
from sparring.games.pokemon.tracking.effects import PASSED
from sparring.games.pokemon.tracking.tables import load_tables, parse_condition

TURN = 1.0 / TURN_SCALE
"""One turn in a `*_TURNS` column."""

_POKEMON, _POKEMON_WIDTH = FLOAT_OFFSETS["pokemon"], len(PokemonColumn)
_MOVES, _MOVES_WIDTH = FLOAT_OFFSETS["moves"], MOVES * len(MoveColumn)
_ACTIVE, _ACTIVE_WIDTH = FLOAT_OFFSETS["active"], len(ActiveColumn)
_ACTIVE_MOVES = FLOAT_OFFSETS["active_moves"]
_SIDE, _SIDE_WIDTH = FLOAT_OFFSETS["side"], len(SideColumn)
FIELD = FLOAT_OFFSETS["field"]
"""Start of the field's columns."""
_POKEMON_IDS, _POKEMON_IDS_WIDTH = ID_OFFSETS["pokemon_ids"], len(PokemonId)
_MOVE_IDS = ID_OFFSETS["move_ids"]
_ACTIVE_IDS, _ACTIVE_IDS_WIDTH = ID_OFFSETS["active_ids"], len(ActiveId)
_ACTIVE_MOVE_IDS = ID_OFFSETS["active_move_ids"]

_MOVE_WIDTH = len(MoveColumn)
_NO_ACTIVE = array("f", bytes(4 * _ACTIVE_WIDTH))
_NO_ACTIVE_IDS = array("h", bytes(2 * _ACTIVE_IDS_WIDTH))
_NO_MOVES = array("f", bytes(4 * _MOVES_WIDTH))
_NO_MOVE_IDS = array("h", bytes(2 * MOVES))
# Plain integers where most lines pass: members of an enum cost more to reach.
_A_BLOCKED = int(ActiveColumn.BLOCKED)
_A_PRESENT = int(ActiveColumn.PRESENT)
_A_SUBSTITUTE = int(ActiveColumn.SUBSTITUTE)
_A_TYPES_CHANGED = int(ActiveColumn.TYPES_CHANGED)
_AI_ABILITY = int(ActiveId.ABILITY)
_AI_POKEMON = int(ActiveId.POKEMON)
_AI_SPECIES = int(ActiveId.SPECIES)
_AI_TYPE_1 = int(ActiveId.TYPE_1)
_AI_TYPE_2 = int(ActiveId.TYPE_2)
_AI_TYPE_3 = int(ActiveId.TYPE_3)
_F_GENERATION = int(FieldColumn.GENERATION)
_M_KNOWN = int(MoveColumn.KNOWN)
_M_MAX_PP = int(MoveColumn.MAX_PP)
_M_PP = int(MoveColumn.PP)
_P_ABILITY_KNOWN = int(PokemonColumn.ABILITY_KNOWN)
_P_ACTIVE = int(PokemonColumn.ACTIVE)
_P_BASE_HP = int(PokemonColumn.BASE_HP)
_P_FAINTED = int(PokemonColumn.FAINTED)
_P_FEMALE = int(PokemonColumn.FEMALE)
_P_HP = int(PokemonColumn.HP)
_P_ITEM_HELD = int(PokemonColumn.ITEM_HELD)
_P_ITEM_KNOWN = int(PokemonColumn.ITEM_KNOWN)
_P_ITEM_LOST = int(PokemonColumn.ITEM_LOST)
_P_KNOWN = int(PokemonColumn.KNOWN)
_P_LEVEL = int(PokemonColumn.LEVEL)
_P_MALE = int(PokemonColumn.MALE)
_P_MOVES_KNOWN = int(PokemonColumn.MOVES_KNOWN)
_P_SEEN = int(PokemonColumn.SEEN)
_P_SLEEP_TURNS = int(PokemonColumn.SLEEP_TURNS)
_P_TERASTALLIZED = int(PokemonColumn.TERASTALLIZED)
_P_TOXIC_TURNS = int(PokemonColumn.TOXIC_TURNS)
_PI_ABILITY = int(PokemonId.ABILITY)
_PI_ITEM = int(PokemonId.ITEM)
_PI_LAST_ITEM = int(PokemonId.LAST_ITEM)
_PI_SPECIES = int(PokemonId.SPECIES)
_PI_STATUS = int(PokemonId.STATUS)
_PI_TERA_TYPE = int(PokemonId.TERA_TYPE)
_PI_TYPE_1 = int(PokemonId.TYPE_1)
_PI_TYPE_2 = int(PokemonId.TYPE_2)
_S_REMAINING = int(SideColumn.REMAINING)
_S_TEAM_SIZE = int(SideColumn.TEAM_SIZE)


class View:
    """The state. Handlers of lines and requests write to it through these methods or straight into the arrays."""

    def __init__(self, generation: int, side: str) -> None:
        self.generation = generation
        self.tables = load_tables(generation)
        self.floats: array[float] = array("f", bytes(4 * FLOAT_COUNT))
        self.ids: array[int] = array("h", bytes(2 * ID_COUNT))
        self.sides: dict[str, int] = {side: 0, "p2" if side == "p1" else "p1": 1}
        self.places: dict[str, int] = {
            f"{name}{letter}": SLOTS * number + slot
            for name, number in self.sides.items()
            for slot, letter in enumerate("ab")
        }
        self.active: list[int] = [-1] * ACTIVES
        """The row at each place; it stays after a faint until the next one comes in."""
        self.names: list[str] = [""] * POKEMON
        self.forme: list[int] = [0] * POKEMON
        """Species to go back to when leaving the field."""
        self.rows_by_name: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self.shared_names: set[str] = set()
        """Names that more than one Pokémon of a side goes by."""
        self.timers: dict[int, float] = {}
        """Float columns that change by so much at each turn's end."""
        self.longer: dict[int, float] = {}
        """Countdowns that may prove longer: what they start again from when they reach 0."""
        self.turn_flags: list[int] = []
        """Float columns that are 0 again when the turn is over."""
        self.ability_changed: list[bool] = [False] * ACTIVES
        self.locked: list[bool] = [False] * ACTIVES
        """The last request offered nothing but to go on with a move (own places)."""
        self.mover = -1
        """The place that used the last move."""
        self.target = -1
        """The place it was aimed at."""
        self.blocked_by: list[int] = [-1] * ACTIVES
        """The place whose Pokémon must stay for the one here to be blocked."""
        self.passing: int = -1
        """The place whose Pokémon is using Baton Pass."""
        self.shedding: bool = False
        self.promised = -1
        """The place whose Pokémon is giving itself up for the next one."""
        self.stolen = 0
        """The item that the last move took from its holder and used: it works for another."""
        self.fainted: list[int] = [0, 0]
        self.arrivals: list[tuple[array[float], array[int], array[float], array[int]] | None] = [None] * ACTIVES
        """What was known of each place's row before it came in: an illusion may end."""
        self.requests = 0
        self.team_order: list[int] = []
        """Row of each Pokémon of the last request, in its order."""
        self.entries: list[dict[str, Any]] = [{}] * TEAM
        """What the last request said of each own row."""
        self.turn = 0
        self.winner: str | None = None
        self.ended = False
        self.unknown: Counter[str] = Counter()
        self.floats[FIELD + _F_GENERATION] = generation / 9

    # Where things lie in the arrays.

    @staticmethod
    def pokemon(row: int) -> int:
        """Start of a row's `PokemonColumn`s."""
        return _POKEMON + row * _POKEMON_WIDTH

    @staticmethod
    def pokemon_ids(row: int) -> int:
        """Start of a row's `PokemonId`s."""
        return _POKEMON_IDS + row * _POKEMON_IDS_WIDTH

    @staticmethod
    def move_ids(row: int) -> int:
        """Start of a row's move numbers."""
        return _MOVE_IDS + row * MOVES

    @staticmethod
    def moves(row: int) -> int:
        """Start of a row's `MoveColumn`s."""
        return _MOVES + row * _MOVES_WIDTH

    @staticmethod
    def place_columns(place: int) -> int:
        """Start of a place's `ActiveColumn`s."""
        return _ACTIVE + place * _ACTIVE_WIDTH

    @staticmethod
    def place_ids(place: int) -> int:
        """Start of a place's `ActiveId`s."""
        return _ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH

    @staticmethod
    def place_move_ids(place: int) -> int:
        """Start of a place's move numbers."""
        return _ACTIVE_MOVE_IDS + place * MOVES

    @staticmethod
    def place_moves(place: int) -> int:
        """Start of a place's `MoveColumn`s."""
        return _ACTIVE_MOVES + place * _MOVES_WIDTH

    @staticmethod
    def side_columns(side: int) -> int:
        """Start of a side's `SideColumn`s."""
        return _SIDE + side * _SIDE_WIDTH

    # Who is meant.

    def place(self, ident: str) -> int:
        """The place that `p1a: Name` names; -1 if it is none of ours."""
        return self.places.get(ident[:3], -1)

    def standing(self, ident: str) -> int:
        """The place that `p1a: Name` names if a Pokémon stands there, else -1."""
        place = self.places.get(ident[:3], -1)
        if place >= 0 and not self.ids[_ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH]:
            return -1
        return place

    def row(self, ident: str) -> int:
        """The Pokémon that `p1a: Name` or `p1: Name` names; -1 if unknown."""
        place = self.places.get(ident[:3])
        if place is not None:
            return self.active[place]
        side = self.sides.get(ident[:2])
        return -1 if side is None else self.rows_by_name[side].get(ident[4:], -1)

    def find_row(self, side: int, name: str, details: str) -> int:
        """The row of the Pokémon that shows itself as `name` with `details`; a fresh one if it is new."""
        species, level, male, female, _ = self.tables.details(details)
        base = self.tables.base_species
        known = self.rows_by_name[side].get(name)
        if known is not None and name not in self.shared_names and base[self.forme[known]] == base[species]:
            return known
        best, best_score = -1, -1
        for row in range(side * TEAM, side * TEAM + TEAM):
            start = self.pokemon(row)
            if not self.floats[start + _P_KNOWN]:
                if best < 0:
                    best, best_score = row, 0
                continue
            named = self.names[row]
            if (named and named != name) or base[self.forme[row]] != base[species]:
                continue
            score = 1 + 32 * (named == name) + 16 * (self.forme[row] == species)
            score += 8 * (abs(self.floats[start + _P_LEVEL] * LEVEL_SCALE - level) < 0.5)
            score += 4 * (self.floats[start + _P_MALE] == male) * (self.floats[start + _P_FEMALE] == female)
            score += 2 * (not self.floats[start + _P_FAINTED]) + (row not in self.active)
            if score > best_score:
                best, best_score = row, score
        if best < 0:
            self.unknown["switch: a seventh Pokémon"] += 1
            best = side * TEAM + TEAM - 1
        self.name_row(best, name)
        return best

    def name_row(self, row: int, name: str) -> None:
        """From now on `name` means `row`."""
        self.names[row] = name
        rows = self.rows_by_name[row // TEAM]
        if rows.setdefault(name, row) != row:
            self.shared_names.add(name)
            rows[name] = row

    # What a Pokémon is.

    def describe(self, row: int, details: str) -> None:
        """Writes species, level, gender and tera of a row, from a line's details."""
        species, level, male, female, tera = self.tables.details(details)
        start = _POKEMON + row * _POKEMON_WIDTH
        floats = self.floats
        if not floats[start + _P_KNOWN]:
            floats[start + _P_KNOWN] = 1.0
            floats[start + _P_HP] = 1.0
        floats[start + _P_LEVEL] = level / LEVEL_SCALE
        floats[start + _P_MALE] = male
        floats[start + _P_FEMALE] = female
        if tera:
            floats[start + _P_TERASTALLIZED] = 1.0
            self.ids[_POKEMON_IDS + row * _POKEMON_IDS_WIDTH + _PI_TERA_TYPE] = tera
        if self.forme[row] != species:  # else a change that ends on leaving may be in force
            self.forme[row] = species
            self.set_species(row, species)

    def set_species(self, row: int, species: int) -> None:
        """Writes what follows from a species: base stats, types, an ability where there is only one."""
        ids = _POKEMON_IDS + row * _POKEMON_IDS_WIDTH
        if self.ids[ids + _PI_SPECIES] == species:
            return
        self.ids[ids + _PI_SPECIES] = species
        first, second = self.tables.types[species]
        self.ids[ids + _PI_TYPE_1] = first
        self.ids[ids + _PI_TYPE_2] = second
        start = _POKEMON + row * _POKEMON_WIDTH
        self.floats[start + _P_BASE_HP : start + _P_BASE_HP + 6] = self.tables.base_stats[species]
        ability = self.tables.only_ability[species]
        if ability:
            self.ids[ids + _PI_ABILITY] = ability
            self.floats[start + _P_ABILITY_KNOWN] = 1.0

    def set_condition(self, row: int, text: str) -> None:
        """HP and status as a line or a request gives them."""
        fraction, _, status = parse_condition(text)
        start = _POKEMON + row * _POKEMON_WIDTH
        floats = self.floats
        floats[start + _P_HP] = fraction
        if fraction and floats[start + _P_FAINTED]:
            floats[start + _P_FAINTED] = 0.0
        if self.ids[_POKEMON_IDS + row * _POKEMON_IDS_WIDTH + _PI_STATUS] != status:
            self.set_status(row, status)

    def set_status(self, row: int, status: int) -> None:
        """A status begins or ends (0)."""
        self.ids[_POKEMON_IDS + row * _POKEMON_IDS_WIDTH + _PI_STATUS] = status
        start = _POKEMON + row * _POKEMON_WIDTH
        self.floats[start + _P_SLEEP_TURNS] = 0.0
        self.floats[start + _P_TOXIC_TURNS] = 0.0

    def status_turns(self, row: int) -> tuple[int, float, float]:
        """A row's status and for how long it has been asleep or badly poisoned."""
        start = _POKEMON + row * _POKEMON_WIDTH
        status = self.ids[_POKEMON_IDS + row * _POKEMON_IDS_WIDTH + _PI_STATUS]
        return status, self.floats[start + _P_SLEEP_TURNS], self.floats[start + _P_TOXIC_TURNS]

    def faint(self, row: int) -> None:
        """A Pokémon is down."""
        start = _POKEMON + row * _POKEMON_WIDTH
        if not self.floats[start + _P_FAINTED]:
            self.floats[start + _P_FAINTED] = 1.0
            self.floats[start + _P_TERASTALLIZED] = 0.0
            self.count_fainted(row // TEAM, 1)
        self.floats[start + _P_HP] = 0.0
        self.floats[start + _P_ACTIVE] = 0.0
        self.set_status(row, 0)

    def count_fainted(self, side: int, change: int) -> None:
        """One more (or, revived, one fewer) Pokémon of a side is down."""
        self.fainted[side] += change
        start = self.side_columns(side)
        size = self.floats[start + _S_TEAM_SIZE]
        self.floats[start + _S_REMAINING] = max(0.0, size - self.fainted[side] / TEAM)

    def reveal_ability(self, row: int, ability: int) -> None:
        """A Pokémon shows the ability it has now."""
        if row < 0 or not ability:
            return
        place = self.active.index(row) if row in self.active else -1
        if place >= 0 and self.ids[_ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH]:
            now = _ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH + _AI_ABILITY
            if self.ability_changed[place]:
                self.ids[now] = self.ids[now] or ability
                return
            self.ids[now] = ability
        self.ids[_POKEMON_IDS + row * _POKEMON_IDS_WIDTH + _PI_ABILITY] = ability
        self.floats[_POKEMON + row * _POKEMON_WIDTH + _P_ABILITY_KNOWN] = 1.0

    def change_ability(self, place: int, ability: int) -> None:
        """The ability of the Pokémon at `place` is another one until it leaves; 0 if nobody was told which."""
        self.ability_changed[place] = True
        self.ids[_ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH + _AI_ABILITY] = ability

    def reveal_item(self, row: int, item: int) -> None:
        """A Pokémon holds `item`."""
        if row < 0 or not item:
            return
        self.ids[_POKEMON_IDS + row * _POKEMON_IDS_WIDTH + _PI_ITEM] = item
        start = _POKEMON + row * _POKEMON_WIDTH
        self.floats[start + _P_ITEM_KNOWN] = 1.0
        self.floats[start + _P_ITEM_HELD] = 1.0
        self.floats[start + _P_ITEM_LOST] = 0.0

    def lose_item(self, row: int, item: int) -> None:
        """A Pokémon no longer holds `item` (0: whatever it was), nor any other."""
        if row < 0:
            return
        ids = _POKEMON_IDS + row * _POKEMON_IDS_WIDTH
        self.ids[ids + _PI_LAST_ITEM] = item or self.ids[ids + _PI_ITEM]
        self.ids[ids + _PI_ITEM] = 0
        start = _POKEMON + row * _POKEMON_WIDTH
        self.floats[start + _P_ITEM_KNOWN] = 1.0
        self.floats[start + _P_ITEM_HELD] = 0.0
        self.floats[start + _P_ITEM_LOST] = 1.0

    # Moves.

    def learn_move(self, row: int, move: int) -> int:
        """Index of `move` in a row's list, added if there is room; -1 if there is none."""
        ids = self.ids
        start = _MOVE_IDS + row * MOVES
        for index in range(MOVES):
            if ids[start + index] == move:
                return index
        listed = ids[start : start + MOVES]
        if move in self.tables.hidden_powers:  # lines do not tell its type, requests do
            for index, other in enumerate(listed):
                if other in self.tables.hidden_powers:
                    return index
        if 0 not in listed:
            return -1
        index = listed.index(0)
        self.write_move(row, index, move)
        return index

    def write_move(self, row: int, index: int, move: int) -> None:
        """Puts a move with full PP into a row's list."""
        self.ids[_MOVE_IDS + row * MOVES + index] = move
        start = _MOVES + row * _MOVES_WIDTH + index * _MOVE_WIDTH
        floats = self.floats
        floats[start + _M_KNOWN] = 1.0
        floats[start + _M_PP] = 1.0
        floats[start + _M_MAX_PP] = self.tables.max_pp[move] / PP_SCALE
        floats[_POKEMON + row * _POKEMON_WIDTH + _P_MOVES_KNOWN] = (index + 1) / MOVES

    def spend_pp(self, start: int, amount: float) -> None:
        """Takes `amount` PP from the move whose columns start at `start` (gives, if negative)."""
        floats = self.floats
        most = floats[start + _M_MAX_PP] * PP_SCALE
        if most:
            left = floats[start + _M_PP] - amount / most
            # PP are whole numbers: rounding keeps float32 errors from adding up.
            floats[start + _M_PP] = min(1.0, max(0.0, round(left * most) / most))

    def show_moves(self, place: int) -> None:
        """Copies the list of the Pokémon at `place` to the place's own."""
        row = self.active[place]
        self.ids[_ACTIVE_MOVE_IDS + place * MOVES : _ACTIVE_MOVE_IDS + (place + 1) * MOVES] = self.ids[
            _MOVE_IDS + row * MOVES : _MOVE_IDS + (row + 1) * MOVES
        ]
        self.floats[_ACTIVE_MOVES + place * _MOVES_WIDTH : _ACTIVE_MOVES + (place + 1) * _MOVES_WIDTH] = self.floats[
            _MOVES + row * _MOVES_WIDTH : _MOVES + (row + 1) * _MOVES_WIDTH
        ]

    # The field.

    def clear_place(self, place: int) -> None:
        """Nothing stands at `place` and nothing lasts there."""
        start = _ACTIVE + place * _ACTIVE_WIDTH
        end = start + _ACTIVE_WIDTH
        self.floats[start:end] = _NO_ACTIVE
        ids = _ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH
        self.ids[ids : ids + _ACTIVE_IDS_WIDTH] = _NO_ACTIVE_IDS
        self.ids[_ACTIVE_MOVE_IDS + place * MOVES : _ACTIVE_MOVE_IDS + (place + 1) * MOVES] = _NO_MOVE_IDS
        self.floats[_ACTIVE_MOVES + place * _MOVES_WIDTH : _ACTIVE_MOVES + (place + 1) * _MOVES_WIDTH] = _NO_MOVES
        for column in [column for column in self.timers if start <= column < end]:
            del self.timers[column]
        self.ability_changed[place] = False
        self.locked[place] = False
        self.blocked_by[place] = -1
        for other, blocker in enumerate(self.blocked_by):
            if blocker == place:
                self.floats[_ACTIVE + other * _ACTIVE_WIDTH + _A_BLOCKED] = 0.0
                self.blocked_by[other] = -1

    def leave(self, place: int) -> None:
        """Whoever is at `place` goes back, in its own forme."""
        row = self.active[place]
        self.vacate(place)
        if row >= 0:
            self.floats[_POKEMON + row * _POKEMON_WIDTH + _P_TOXIC_TURNS] = 0.0
            self.set_species(row, self.forme[row])
        self.clear_place(place)

    def vacate(self, place: int) -> None:
        """Whoever is at `place` is there no more (an illusion beside its model is there twice)."""
        row = self.active[place]
        self.active[place] = -1
        if row >= 0 and row not in self.active:
            self.floats[_POKEMON + row * _POKEMON_WIDTH + _P_ACTIVE] = 0.0

    def enter(self, place: int, row: int) -> None:
        """A Pokémon comes to `place`, which must be clear."""
        self.active[place] = row
        start = _POKEMON + row * _POKEMON_WIDTH
        self.floats[start + _P_ACTIVE] = 1.0
        self.floats[start + _P_SEEN] = 1.0
        self.floats[_ACTIVE + place * _ACTIVE_WIDTH + _A_PRESENT] = 1.0
        self.show_identity(place)
        self.show_moves(place)

    def show_identity(self, place: int) -> None:
        """Copies species, ability and types of the Pokémon at `place` to the place."""
        row = self.active[place]
        theirs = _POKEMON_IDS + row * _POKEMON_IDS_WIDTH
        ours = _ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH
        ids = self.ids
        ids[ours + _AI_POKEMON] = row + 1
        ids[ours + _AI_SPECIES] = ids[theirs + _PI_SPECIES]
        ids[ours + _AI_ABILITY] = ids[theirs + _PI_ABILITY]
        self.show_types(place)

    def show_types(self, place: int) -> None:
        """Types that count at `place`: those of the species there, or the tera type."""
        row = self.active[place]
        theirs = _POKEMON_IDS + row * _POKEMON_IDS_WIDTH
        ours = _ACTIVE_IDS + place * _ACTIVE_IDS_WIDTH
        ids = self.ids
        first, second = self.tables.types[ids[ours + _AI_SPECIES]]
        tera = ids[theirs + _PI_TERA_TYPE]
        if (
            tera
            and self.floats[_POKEMON + row * _POKEMON_WIDTH + _P_TERASTALLIZED]
            and self.tables.dex.types.ids[tera] != "stellar"
        ):
            first, second = tera, 0
        ids[ours + _AI_TYPE_1] = first
        ids[ours + _AI_TYPE_2] = second
        ids[ours + _AI_TYPE_3] = 0
        self.floats[_ACTIVE + place * _ACTIVE_WIDTH + _A_TYPES_CHANGED] = 0.0

    def switch(self, place: int, row: int, *, passing: str) -> None:
        """Whoever is at `place` makes room for `row`; `passing` is what it hands on: "all", "substitute" or ""."""
        kept: list[tuple[int, float, float | None]] = []
        if passing:
            start = _ACTIVE + place * _ACTIVE_WIDTH
            for column in PASSED if passing == "all" else (_A_SUBSTITUTE,):
                value = self.floats[start + column]
                if value or start + column in self.timers:
                    kept.append((start + column, value, self.timers.get(start + column)))
        blocked = self.blocked_by.copy() if passing == "all" and self.generation < 5 else []
        self.leave(place)
        self.enter(place, row)
        for other, blocker in enumerate(blocked):  # before generation 5, blocking is handed on as well
            if blocker >= 0 and place in (other, blocker):
                self.blocked_by[other] = blocker
                self.floats[_ACTIVE + other * _ACTIVE_WIDTH + _A_BLOCKED] = 1.0
        for index, value, step in kept:
            self.floats[index] = value
            if step is not None:
                self.timers[index] = step

    def start_timer(self, column: int, turns: float, step: int, *, longer: float = 0.0) -> None:
        """A `*_TURNS` column starts at `turns` and changes by `step` turns at each turn's end."""
        self.floats[column] = turns * TURN
        self.timers[column] = step * TURN
        if longer:
            self.longer[column] = longer * TURN
        else:
            self.longer.pop(column, None)

    def stop_timer(self, column: int) -> None:
        """A `*_TURNS` column is 0 again."""
        self.floats[column] = 0.0
        self.timers.pop(column, None)
        self.longer.pop(column, None)

    def remember(self, place: int, row: int) -> None:
        """Keeps what is known of `row` before it shows itself at `place`."""
        start, ids = self.pokemon(row), self.pokemon_ids(row)
        moves, move_ids = self.moves(row), self.move_ids(row)
        self.arrivals[place] = (
            self.floats[start : start + _POKEMON_WIDTH],
            self.ids[ids : ids + _POKEMON_IDS_WIDTH],
            self.floats[moves : moves + _MOVES_WIDTH],
            self.ids[move_ids : move_ids + MOVES],
        )

    def recall(self, place: int, row: int) -> None:
        """Gives `row` back what `remember` kept: it never was at `place`."""
        kept = self.arrivals[place]
        if kept is None:
            return
        start, ids = self.pokemon(row), self.pokemon_ids(row)
        moves, move_ids = self.moves(row), self.move_ids(row)
        columns, numbers, move_columns, move_numbers = kept
        if columns[_P_KNOWN]:
            self.floats[start : start + _POKEMON_WIDTH] = columns
            self.ids[ids : ids + _POKEMON_IDS_WIDTH] = numbers
        else:  # its looks are real even if it was not there: an illusion copies a teammate
            looks = [(column, self.floats[start + column]) for column in (_P_KNOWN, _P_LEVEL, _P_MALE, _P_FEMALE)]
            self.floats[start : start + _POKEMON_WIDTH] = columns
            self.ids[ids : ids + _POKEMON_IDS_WIDTH] = numbers
            for column, value in looks:
                self.floats[start + column] = value
            self.floats[start + _P_HP] = 1.0
            self.set_species(row, self.forme[row])
        self.floats[moves : moves + _MOVES_WIDTH] = move_columns
        self.ids[move_ids : move_ids + MOVES] = move_numbers
