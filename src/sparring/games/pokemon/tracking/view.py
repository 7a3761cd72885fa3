"""One side's view of a battle, kept as the flat arrays of the observation, and what lines change in a Pokémon of it.

`layout` says what rows, places and sides are and where they lie; `places` moves Pokémon on the field. The arrays are
`array.array`: writing one number costs a third of a numpy scalar write, and numpy sees the same memory when a whole row
is copied out.
"""

from array import array
from collections import Counter
from typing import Any

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions.offer import WIDTH
from sparring.games.pokemon.columns import ACTIVES, LEVEL_SCALE, MOVES, POKEMON, PP_SCALE, SLOTS, TEAM
from sparring.games.pokemon.observation import FLOAT_COUNT, ID_COUNT
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOVE_IDS_START,
    MOVE_WIDTH,
    MOVES_START,
    PLACE_IDS_START,
    POKEMON_IDS_START,
    POKEMON_START,
    SIDE_START,
    TURN,
)
from sparring.games.pokemon.tracking.tables import OwnSet, load_tables, parse_condition


class View:
    """The state. Handlers of lines and requests write to it through these methods or straight into the arrays."""

    def __init__(self, tables: int | str, side: str, showdown: str) -> None:
        self.tables = load_tables(tables, showdown)
        self.generation = self.tables.dex.generation
        self.floats: array[float] = array("f", bytes(4 * FLOAT_COUNT))
        self.ids: array[int] = array("h", bytes(2 * ID_COUNT))
        self.offer = bytearray(WIDTH)
        """What the side may do now, as the last request says; see `actions.offer`."""
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
        self.looks: list[str] = [""] * POKEMON
        """The details that each row was last described by; "" if they must be read anew."""
        self.rows_by_name: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self.shared_names: set[str] = set()
        """Names that more than one Pokémon of a side goes by."""
        self.timers: dict[int, float] = {}
        """Float columns that change by so much at each turn's end."""
        self.longer: dict[int, float] = {}
        """Countdowns that may prove longer: what they start again from when they reach 0."""
        self.passing_flags: dict[int, int] = {}
        """Float columns that are 0 again after so many turns' ends."""
        self.ability_changed: list[bool] = [False] * ACTIVES
        self.locked: list[bool] = [False] * ACTIVES
        """The last request offered nothing but to go on with a move (own places)."""
        self.mover = -1
        """The place that used the last move."""
        self.used = 0
        """The last move."""
        self.target = -1
        """The place it was aimed at."""
        self.striking = False
        """A Future Sight or Doom Desire is striking: the turn's end has begun."""
        self.blocked_by: list[int] = [-1] * ACTIVES
        """The place whose Pokémon must stay for the one here to be blocked."""
        self.aims: dict[int, tuple[int, int]] = {}
        """The place that the Pokémon at a place has locked on to, and for how many more turns' ends."""
        self.passing: int = -1
        """The place whose Pokémon is using Baton Pass."""
        self.shedding: bool = False
        self.dancing: int = -1
        """The place whose Pokémon joins in a dance."""
        self.promised = -1
        """The place whose Pokémon is giving itself up for the next one."""
        self.desynced = False
        """The next move is not the one that its Pokémon was told: nobody learns from it what that one has."""
        self.stolen = 0
        """The item that the last move took from its holder and used: it works for another."""
        self.fainted: list[int] = [0, 0]
        self.picked = 0
        """How many of each team are brought, where team preview says so."""
        self.arrivals: list[tuple[array[float], array[int], array[float], array[int]] | None] = [None] * ACTIVES
        """What was known of each place's row before it came in: an illusion may end."""
        self.requests = 0
        self.own_rows: dict[str, int] = {}
        """Row by `ident` of the own Pokémon that requests list; empty if that is to be worked out anew."""
        self.entries: list[dict[str, Any]] = [{}] * TEAM
        """What the last request said of each own row; empty where all of it must be written anew."""
        self.conditions: list[str] = [""] * TEAM
        """HP and status of own rows, as the last line or request gave them; "" where the next request must."""
        self.sets: list[OwnSet | None] = [None] * TEAM
        self.first_items: list[int] = [-1] * POKEMON
        """What each Pokémon held as the battle began, 0 for nothing; -1 while that is unknown."""
        self.first_abilities: list[int] = [0] * POKEMON
        """The ability each Pokémon had as the battle began; 0 while that is unknown."""
        self.sheets: set[int] = set()
        """Rows whose moves a team sheet lists, in the Pokémon's own order."""
        self.turn = 0
        self.winner: str | None = None
        self.ended = False
        self.unknown: Counter[str] = Counter()
        self.floats[FIELD + c.FIELD_GENERATION] = self.generation / 9

    # Who is meant.

    def place(self, ident: str) -> int:
        """The place that `p1a: Name` names; -1 if it is none of ours."""
        return self.places.get(ident[:3], -1)

    def standing(self, ident: str) -> int:
        """The place that `p1a: Name` names if a Pokémon stands there, else -1."""
        place = self.places.get(ident[:3], -1)
        if place >= 0 and not self.ids[PLACE_IDS_START[place]]:
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
        known = self.rows_by_name[side].get(name)
        if known is not None and self.looks[known] == details and name not in self.shared_names:
            return known
        species, level, male, female, _ = self.tables.details(details)
        base = self.tables.base_species
        if known is not None and name not in self.shared_names and base[self.forme[known]] == base[species]:
            return known
        best, best_score = -1, -1
        for row in range(side * TEAM, side * TEAM + TEAM):
            start = POKEMON_START[row]
            if not self.floats[start + c.POKEMON_KNOWN]:
                if best < 0:
                    best, best_score = row, 0
                continue
            named = self.names[row]
            if (named and named != name) or base[self.forme[row]] != base[species]:
                continue
            score = 1 + 32 * (named == name) + 16 * (self.forme[row] == species)
            score += 8 * (abs(self.floats[start + c.POKEMON_LEVEL] * LEVEL_SCALE - level) < 0.5)
            score += (
                4 * (self.floats[start + c.POKEMON_MALE] == male) * (self.floats[start + c.POKEMON_FEMALE] == female)
            )
            score += 2 * (not self.floats[start + c.POKEMON_FAINTED]) + (row not in self.active)
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
        if row < TEAM:
            self.own_rows = {}
        rows = self.rows_by_name[row // TEAM]
        if rows.setdefault(name, row) != row:
            self.shared_names.add(name)
            rows[name] = row

    # What a Pokémon is.

    def describe(self, row: int, details: str) -> None:
        """Writes species, level, gender and tera of a row, from a line's details."""
        if self.looks[row] == details:
            return
        species, level, male, female, tera = self.tables.details(details)
        self.looks[row] = details
        start = POKEMON_START[row]
        floats = self.floats
        if not floats[start + c.POKEMON_KNOWN]:
            floats[start + c.POKEMON_KNOWN] = 1.0
            floats[start + c.POKEMON_HP] = 1.0
        floats[start + c.POKEMON_LEVEL] = level / LEVEL_SCALE
        floats[start + c.POKEMON_MALE] = male
        floats[start + c.POKEMON_FEMALE] = female
        if tera:
            floats[start + c.POKEMON_TERASTALLIZED] = 1.0
            self.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_TERA_TYPE] = tera
        if self.forme[row] != species:  # else a change that ends on leaving may be in force
            self.forme[row] = species
            self.set_species(row, species)

    def set_species(self, row: int, species: int) -> None:
        """Writes what follows from a species: base stats, types, an ability where there is only one."""
        ids = POKEMON_IDS_START[row]
        if self.ids[ids + c.POKEMON_ID_SPECIES] == species:
            return
        self.ids[ids + c.POKEMON_ID_SPECIES] = species
        first, second = self.tables.types[species]
        self.ids[ids + c.POKEMON_ID_TYPE_1] = first
        self.ids[ids + c.POKEMON_ID_TYPE_2] = second
        start = POKEMON_START[row]
        self.floats[start + c.POKEMON_BASE_HP : start + c.POKEMON_BASE_HP + 6] = self.tables.base_stats[species]
        ability = self.tables.only_ability[species]
        if ability:
            self.ids[ids + c.POKEMON_ID_ABILITY] = ability
            self.floats[start + c.POKEMON_ABILITY_KNOWN] = 1.0

    def set_condition(self, row: int, text: str) -> None:
        """HP and status as a line or a request gives them."""
        fraction, _, status = parse_condition(text)
        start = POKEMON_START[row]
        floats = self.floats
        floats[start + c.POKEMON_HP] = fraction
        if fraction and floats[start + c.POKEMON_FAINTED]:
            floats[start + c.POKEMON_FAINTED] = 0.0
        if self.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS] != status:
            self.set_status(row, status)
        if row < TEAM:
            self.conditions[row] = text if fraction else ""

    def set_status(self, row: int, status: int) -> None:
        """A status begins or ends (0)."""
        if row < TEAM:
            self.conditions[row] = ""
        self.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS] = status
        start = POKEMON_START[row]
        self.floats[start + c.POKEMON_SLEEP_TURNS] = 0.0
        self.floats[start + c.POKEMON_TOXIC_TURNS] = 0.0

    def status_turns(self, row: int) -> tuple[int, float, float]:
        """A row's status and for how long it has been asleep or badly poisoned."""
        start = POKEMON_START[row]
        status = self.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS]
        return status, self.floats[start + c.POKEMON_SLEEP_TURNS], self.floats[start + c.POKEMON_TOXIC_TURNS]

    def faint(self, row: int) -> None:
        """A Pokémon is down."""
        self.looks[row] = ""
        start = POKEMON_START[row]
        if not self.floats[start + c.POKEMON_FAINTED]:
            self.floats[start + c.POKEMON_FAINTED] = 1.0
            self.floats[start + c.POKEMON_TERASTALLIZED] = 0.0
            self.count_fainted(row // TEAM, 1)
        self.floats[start + c.POKEMON_HP] = 0.0
        self.floats[start + c.POKEMON_ACTIVE] = 0.0
        self.set_status(row, 0)

    def count_fainted(self, side: int, change: int) -> None:
        """One more (or, revived, one fewer) Pokémon of a side is down."""
        self.fainted[side] += change
        start = SIDE_START[side]
        size = self.floats[start + c.SIDE_TEAM_SIZE]
        self.floats[start + c.SIDE_REMAINING] = max(0.0, min(1.0, size - self.fainted[side] / TEAM))

    def reveal_ability(self, row: int, ability: int) -> None:
        """A Pokémon shows the ability it has now."""
        if row < 0 or not ability:
            return
        place = self.active.index(row) if row in self.active else -1
        if place >= 0 and self.ids[PLACE_IDS_START[place]]:
            now = PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY
            if self.ability_changed[place]:
                self.ids[now] = self.ids[now] or ability
                return
            self.ids[now] = ability
        if not self.floats[POKEMON_START[row] + c.POKEMON_ABILITY_KNOWN]:
            self.first_abilities[row] = ability
        self.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_ABILITY] = ability
        self.floats[POKEMON_START[row] + c.POKEMON_ABILITY_KNOWN] = 1.0

    def change_ability(self, place: int, ability: int) -> None:
        """The ability of the Pokémon at `place` is another one until it leaves; 0 if nobody was told which."""
        self.ability_changed[place] = True
        self.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY] = ability

    def reveal_item(self, row: int, item: int) -> None:
        """A Pokémon holds `item`."""
        if row < 0 or not item:
            return
        start = POKEMON_START[row]
        if not self.floats[start + c.POKEMON_ITEM_KNOWN]:
            self.first_items[row] = item
        self.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_ITEM] = item
        self.floats[start + c.POKEMON_ITEM_KNOWN] = 1.0
        self.floats[start + c.POKEMON_ITEM_HELD] = 1.0
        self.floats[start + c.POKEMON_ITEM_LOST] = 0.0

    def lose_item(self, row: int, item: int) -> None:
        """A Pokémon no longer holds `item` (0: whatever it was), nor any other."""
        if row < 0:
            return
        ids = POKEMON_IDS_START[row]
        self.ids[ids + c.POKEMON_ID_LAST_ITEM] = item or self.ids[ids + c.POKEMON_ID_ITEM]
        self.ids[ids + c.POKEMON_ID_ITEM] = 0
        start = POKEMON_START[row]
        if item and not self.floats[start + c.POKEMON_ITEM_KNOWN]:
            self.first_items[row] = item
        self.floats[start + c.POKEMON_ITEM_KNOWN] = 1.0
        self.floats[start + c.POKEMON_ITEM_HELD] = 0.0
        self.floats[start + c.POKEMON_ITEM_LOST] = 1.0

    def tell_set(self, row: int, other: "View") -> None:
        """Tells another view of the same battle what `row` had as the battle began, as far as it has shown."""
        listed = self.ids[MOVE_IDS_START[row] : MOVE_IDS_START[row] + MOVES].tolist()
        for place in range(MOVES) if row in self.sheets else self.tables.by_id(listed):
            if listed[place]:
                other.learn_move(row, listed[place])
        other.reveal_ability(row, self.first_abilities[row])
        other.reveal_item(row, max(0, self.first_items[row]))
        other.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_TERA_TYPE] = self.ids[
            POKEMON_IDS_START[row] + c.POKEMON_ID_TERA_TYPE
        ]

    # Moves.

    def learn_move(self, row: int, move: int) -> int:
        """Index of `move` in a row's list, added if there is room; -1 if there is none."""
        ids = self.ids
        start = MOVE_IDS_START[row]
        listed = ids[start : start + MOVES].tolist()
        if move in listed:
            return listed.index(move)
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
        self.ids[MOVE_IDS_START[row] + index] = move
        start = MOVES_START[row] + index * MOVE_WIDTH
        floats = self.floats
        floats[start + c.MOVE_KNOWN] = 1.0
        floats[start + c.MOVE_PP] = 1.0
        floats[start + c.MOVE_MAX_PP] = self.tables.max_pp[move] / PP_SCALE
        floats[POKEMON_START[row] + c.POKEMON_MOVES_KNOWN] = (index + 1) / MOVES

    def spend_pp(self, start: int, amount: float) -> None:
        """Takes `amount` PP from the move whose columns start at `start` (gives, if negative)."""
        floats = self.floats
        most = floats[start + c.MOVE_MAX_PP] * PP_SCALE
        if most:
            # PP are whole numbers: rounding keeps float32 errors from adding up.
            left = round((floats[start + c.MOVE_PP] - amount / most) * most) / most
            floats[start + c.MOVE_PP] = left if 0.0 < left < 1.0 else 1.0 if left > 0.0 else 0.0

    def pp_left(self, start: int) -> int:
        """PP of the move whose columns start at `start`."""
        return round(self.floats[start + c.MOVE_PP] * self.floats[start + c.MOVE_MAX_PP] * PP_SCALE)

    # Time.

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
