"""What a log shows of each Pokémon, and what it does not show though it should have: facts, line by line.

The tracker keeps what shows (moves, items, abilities). A `Watcher` reads the same lines beside it and notes what ought
to have shown: no healing by Leftovers at the end of a turn, no announcement of Intimidate on coming in, a second move
in one stay of a Pokémon that a Choice item would have held to the first.

Rows are those of a tracker of player 1: 0 to 5 that player's team, 6 to 11 the other's.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import log

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.belief.facts import (
    Fact,
    HasAbility,
    HasItem,
    HasMove,
    HasTera,
    NotShown,
    OneOf,
    Repeated,
    Weighed,
)
from sparring.games.pokemon.belief.notes import Attack, Known, Listener, Notes, Stay
from sparring.games.pokemon.belief.rules import showing
from sparring.games.pokemon.belief.sets import PokemonSet
from sparring.games.pokemon.columns import ACTIVES, LEVEL_SCALE, MOVES, POKEMON, SLOTS, TEAM
from sparring.games.pokemon.dex import CATEGORIES, MOVE_FLAGS
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.tracker import Tracker
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOVE_IDS_START,
    PLACE_IDS_START,
    PLACE_START,
    POKEMON_IDS_START,
    POKEMON_START,
    SIDE_START,
)
from sparring.games.pokemon.tracking.sources import tags
from sparring.games.pokemon.tracking.tables import parse_condition

_STATUS = CATEGORIES.index("Status")
_CONTACT = MOVE_FLAGS.index("contact")
_PLACES = {f"p{side + 1}{letter}": SLOTS * side + slot for side in range(2) for slot, letter in enumerate("ab")}
_SPARED_BY_MAGIC_GUARD = ("psn", "tox", "brn", "Leech Seed", "Sandstorm", "Hail", "Stealth Rock", "Spikes")


class Watcher:
    """Follows one battle; `facts` says what is known of a Pokémon at any time."""

    def __init__(self, format: Format, listener: Listener | None = None) -> None:
        self.tracker = Tracker(format.tables, "p1", showdown=format.showdown)
        self._listener = listener
        self._rules = showing(format.tables, format.showdown)
        self._generation = self.tracker.tables.dex.generation
        self._notes = [Notes() for _ in range(POKEMON)]
        self._stays: list[Stay | None] = [None] * ACTIVES
        self._forme = [0] * POKEMON
        self._attack: Attack | None = None

    def read(self, lines: Iterable[list[str]]) -> None:
        """Reads lines that are split at `|`."""
        for parts in lines:
            if len(parts) < 2:
                continue
            for handle in (_BEFORE.get(parts[1]), Watcher._track, _AFTER.get(parts[1])):
                if handle is not None:
                    with suppress(LookupError, ValueError):  # the tracker counts lines that make no sense
                        handle(self, parts)

    def _track(self, parts: list[str]) -> None:
        self.tracker.split_lines((parts,))

    def known(self, row: int) -> Known:
        """What has shown of a Pokémon."""
        ids, floats, start = self.tracker.ids, self.tracker.floats, POKEMON_START[row]
        first = MOVE_IDS_START[row]
        species = self._forme[row] or int(ids[POKEMON_IDS_START[row] + c.POKEMON_ID_SPECIES])
        return Known(
            species=species,
            seen=bool(floats[start + c.POKEMON_SEEN]),
            level=round(float(floats[start + c.POKEMON_LEVEL]) * LEVEL_SCALE),
            item=self.tracker.first_items[row],
            ability=self.tracker.first_abilities[row] or self.tracker.tables.only_ability[species],
            moves=tuple(move for move in ids[first : first + MOVES].tolist() if move),
            tera=int(ids[POKEMON_IDS_START[row] + c.POKEMON_ID_TERA_TYPE]),
        )

    def facts(self, row: int) -> list[Fact]:
        """All facts about a Pokémon."""
        known, notes, rules = self.known(row), self._notes[row], self._rules
        powers = frozenset(self.tracker.tables.hidden_powers)
        facts: list[Fact] = [HasMove(powers if move in powers else frozenset((move,))) for move in known.moves]
        if known.tera:
            facts.append(HasTera(known.tera))
        if known.ability:
            facts.append(HasAbility(known.ability))
        elif notes.abilities:
            facts.append(NotShown(abilities=frozenset(notes.abilities)))
        if known.item >= 0:
            facts.append(HasItem(known.item))
        else:
            for spared in set(notes.items.values()):
                items = frozenset(item for item, by in notes.items.items() if by == spared)
                facts.append(NotShown(items=items, spared=spared))
            if notes.repeats:
                facts.append(Repeated(rules.choice, rules.gorilla, notes.repeats))
        facts += notes.facts
        if notes.weighed:
            facts.append(Weighed(notes.weighed))
        return facts

    def noted(self, row: int) -> object:
        """What `facts` are made of beside `known`: equal as long as they are the same."""
        return self._notes[row].content()

    def weigh(self, row: int, likelihoods: Mapping[PokemonSet, float]) -> None:
        """Notes how likely each set made something that was seen of a Pokémon."""
        weighed = self._notes[row].weighed
        for one, likelihood in likelihoods.items():
            weighed[one] = weighed.get(one, 0.0) + log(likelihood)

    def free_to_choose(self, place: int) -> bool:
        """Whether who stands at a place chooses among all its moves: nothing can hold it to its last one."""
        stay = self._stays[place]
        if stay is None or self._active(place, c.ACTIVE_ENCORE):
            return False
        item = int(self.tracker.ids[POKEMON_IDS_START[stay.row] + c.POKEMON_ID_ITEM])
        unbound = item not in self._rules.choice
        if self._item_counts(stay.row):
            unbound = self._rules.choice <= self._notes[stay.row].items.keys()
        return not stay.last_move or unbound

    # What is there now.

    def _row(self, place: int) -> int:
        return int(self.tracker.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_POKEMON]) - 1

    def _here(self, ident: str) -> Stay | None:
        place = _PLACES.get(ident[:3])
        return None if place is None else self._stays[place]

    def _pokemon(self, row: int, column: int) -> float:
        return float(self.tracker.floats[POKEMON_START[row] + column])

    def _field(self, column: int) -> bool:
        return bool(self.tracker.floats[FIELD + column])

    def _side(self, row: int, column: int) -> bool:
        return bool(self.tracker.floats[SIDE_START[row // TEAM] + column])

    def _active(self, place: int, column: int) -> float:
        return float(self.tracker.floats[PLACE_START[place] + column])

    def _item_counts(self, row: int) -> bool:
        """Whether it holds what it began with, nobody knows what that is, and it works."""
        known = self._pokemon(row, c.POKEMON_ITEM_KNOWN) or self._pokemon(row, c.POKEMON_ITEM_LOST)
        return not known and not self._field(c.FIELD_MAGIC_ROOM)

    def _types(self, place: int) -> set[int]:
        start = PLACE_IDS_START[place]
        return {int(self.tracker.ids[start + kind]) for kind in (c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2)}

    def _note(self, row: int, fact: Fact) -> None:
        self._notes[row].facts[fact] = None

    def _no_item(self, row: int, items: frozenset[int], spared: frozenset[int] = frozenset()) -> None:
        if items and self._item_counts(row):
            noted, spared = self._notes[row].items, spared | self._rules.klutz
            noted.update({item: noted.get(item, spared) & spared for item in items})

    def _no_ability(self, row: int, abilities: frozenset[int]) -> None:
        if abilities and not self._pokemon(row, c.POKEMON_ABILITY_KNOWN) and not self._field(c.FIELD_NEUTRALIZING_GAS):
            self._notes[row].abilities |= abilities

    def _others(self, place: int) -> list[int]:
        """Rows that stand on the other side."""
        side = place // SLOTS
        return [row for at in range(ACTIVES) if at // SLOTS != side and (row := self._row(at)) >= 0]

    # Coming and going.

    def before_switch(self, parts: list[str]) -> None:
        """A Pokémon that comes back shows what its bench did to it."""
        self._settle_attack()
        side, name = int(parts[2][1]) - 1, parts[2][5:]
        names = self.tracker.names
        row = next((row for row in range(side * TEAM, side * TEAM + TEAM) if names[row] == name), -1)
        if row < 0 or not self._pokemon(row, c.POKEMON_SEEN) or self._row(_PLACES[parts[2][:3]]) == row:
            return
        left, (now, _, status) = self._pokemon(row, c.POKEMON_HP), parse_condition(parts[4])
        if not left or self._pokemon(row, c.POKEMON_ABILITY_KNOWN):
            return
        if left < 1.0 and self._rules.regenerator:
            if now > left + 0.005:
                self._note(row, OneOf(abilities=frozenset((self._rules.regenerator,))))
            else:
                self._no_ability(row, frozenset((self._rules.regenerator,)))
        was = int(self.tracker.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS])
        if was and status:
            self._no_ability(row, frozenset((self._rules.natural_cure,)))
        elif was:
            self._note(row, OneOf(abilities=frozenset((self._rules.natural_cure,))))

    def after_switch(self, parts: list[str]) -> None:
        """A stay begins: what its ability should do at once is waited for."""
        place = _PLACES[parts[2][:3]]
        row, rules = self._row(place), self._rules
        self._stays[place] = None
        if row < 0:
            return
        idle = {ability for ability, columns in rules.setters.items() if any(map(self._field, columns))}
        rocks = self._side(row, c.SIDE_STEALTH_ROCK)
        self._stays[place] = Stay(row, self._notes[row].copy(), rocks, rules.announced - idle)
        if not self._forme[row]:
            self._forme[row] = int(self.tracker.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_SPECIES])

    def after_replace(self, parts: list[str]) -> None:
        """An illusion ends: what was noted was noted of another."""
        place = _PLACES[parts[2][:3]]
        stay, row = self._stays[place], self._row(place)
        if stay is not None and row >= 0:
            self._notes[stay.row] = stay.before
            self._stays[place] = Stay(row, self._notes[row].copy(), False, frozenset(), entering=False)
            self._forme[row] = self._forme[row] or int(self.tracker.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_SPECIES])
        self._attack = None

    def after_swap(self, parts: list[str]) -> None:
        """Two allies change places."""
        first = _PLACES[parts[2][:3]] // SLOTS * SLOTS
        self._stays[first : first + SLOTS] = reversed(self._stays[first : first + SLOTS])

    def _settle_entrances(self) -> None:
        """Those who came in have shown by now what they show on coming in."""
        rules = self._rules
        for place, stay in enumerate(self._stays):
            if stay is None or not stay.entering:
                continue
            stay.entering = False
            row = stay.row
            if self._row(place) != row:
                continue
            announced = stay.announced
            if not self._others(place):
                announced -= {rules.intimidate}
            self._no_ability(row, announced)
            self._no_item(row, rules.balloon)
            if not self._field(c.FIELD_SUN) and not self._field(c.FIELD_ELECTRIC_TERRAIN):
                self._no_item(row, rules.booster)
            if stay.rocks and self._item_counts(row) and rules.boots:
                self._note(row, OneOf(items=rules.boots, abilities=rules.magic_guard))

    # Moves.

    def before_move(self, parts: list[str]) -> None:
        """A move is chosen: a Choice item would hold its user to the last one."""
        self._settle()
        place = _PLACES[parts[2][:3]]
        stay = self._stays[place]
        if stay is None:
            return
        move = self.tracker.tables.move(parts[3])
        self._attack = Attack(place, stay.row, move)
        source = tags(parts, 4)[0]
        if source or parts[3] == "Struggle" or move in self.tracker.tables.borrowed:
            return
        if self._listener is not None:
            self._listener.moved(place, stay.row, move)
        if self.tracker.tables.dex.move_category[move] == _STATUS:
            self._no_item(stay.row, self._rules.vest)
        free = not self._active(place, c.ACTIVE_ENCORE) and not self._active(place, c.ACTIVE_DYNAMAXED)
        if stay.last_move and free and self._item_counts(stay.row):
            if stay.last_move != parts[3]:
                self._no_item(stay.row, self._rules.choice)
                self._no_ability(stay.row, self._rules.gorilla)
            else:
                self._notes[stay.row].repeats += 1
        stay.last_move = parts[3]

    def before_damage(self, parts: list[str]) -> None:
        """HP are lost: to the move that is being made, or to something that some are safe from."""
        stay = self._here(parts[2])
        if stay is None:
            return
        row, rules, attack = stay.row, self._rules, self._attack
        source = tags(parts, 4)[0]
        if source:
            if source in ("Stealth Rock", "Spikes"):
                stay.rocks = False
                self._no_item(row, rules.boots)
            if source.removeprefix("move: ") in _SPARED_BY_MAGIC_GUARD:
                self._no_ability(row, rules.magic_guard)
            return
        if attack is None or attack.row == row or _PLACES[parts[2][:3]] == attack.place:
            return
        dex = self.tracker.tables.dex
        if self._listener is not None and row not in attack.hit:
            self._listener.hit(attack, _PLACES[parts[2][:3]], row, parse_condition(parts[3])[0])
        attack.hit.add(row)
        if self._pokemon(row, c.POKEMON_HP) >= 1.0 and parse_condition(parts[3])[0] == 0.0:
            self._no_item(row, rules.sash)
        if not rules.may_have(self.known(attack.row).species, rules.mold_breaking):
            self._no_ability(row, rules.absorbing.get(int(dex.move_type[attack.move]), frozenset()))

    def _settle_attack(self) -> None:
        """The move is over: what follows from hitting has shown by now."""
        attack, self._attack = self._attack, None
        if attack is None or not attack.hit:
            return
        rules, dex = self._rules, self.tracker.tables.dex
        user = self._stays[attack.place]
        if user is not None and user.row == attack.row and self._row(attack.place) == attack.row:
            secondary = bool(dex.raw["moves"][dex.moves.ids[attack.move]].get("secondaries"))
            spared = rules.magic_guard | (rules.sheer_force if secondary else frozenset())
            self._no_item(attack.row, rules.life_orb, spared)
        touched = bool(dex.move_flags[attack.move, _CONTACT])
        if touched and not rules.may_have(self.known(attack.row).species, rules.untouched):
            for row in attack.hit:
                self._no_item(row, rules.helmet)
                self._no_ability(row, rules.barbs)

    # Time.

    def _settle(self) -> None:
        self._settle_attack()
        self._settle_entrances()

    def before_other(self, parts: list[str]) -> None:
        """Something else happens: what came before it is over."""
        self._settle()

    def before_mark(self, parts: list[str]) -> None:
        """Choices have been made, or the turn's end begins: how everyone stands now."""
        if len(parts) > 2:
            return
        self._settle_attack()
        for stay in self._stays:
            if stay is not None:
                stay.below_full = self._pokemon(stay.row, c.POKEMON_HP) < 1.0
                stay.healthy = not self.tracker.ids[POKEMON_IDS_START[stay.row] + c.POKEMON_ID_STATUS]
                stay.healed = False

    def before_special(self, parts: list[str]) -> None:
        """A critical hit, or an item that is used up for it: the move does not do what it usually does."""
        if self._attack is not None:
            self._attack.plain = False

    def before_heal(self, parts: list[str]) -> None:
        """HP come back."""
        stay = self._here(parts[2])
        if stay is not None:
            stay.healed = True

    def before_upkeep(self, parts: list[str]) -> None:
        """The turn is over: items and abilities that work then have shown."""
        self._settle()
        rules = self._rules
        for place, stay in enumerate(self._stays):
            if stay is None or self._row(place) != stay.row:
                continue
            row, hp = stay.row, self._pokemon(stay.row, c.POKEMON_HP)
            embargo = self._active(place, c.ACTIVE_EMBARGO) or self._active(place, c.ACTIVE_HEAL_BLOCK)
            if hp <= 0.0 or embargo:
                continue
            if stay.below_full and hp < 1.0 and not stay.healed:
                self._no_item(row, rules.leftovers)
            ill = int(self.tracker.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS])
            if stay.healthy and not ill and not self._field(c.FIELD_MISTY_TERRAIN):
                types = self._types(place)
                self._no_item(row, rules.flame_orb if rules.fire not in types else frozenset())
                self._no_item(row, rules.toxic_orb if types.isdisjoint((rules.poison, rules.steel)) else frozenset())
            if not any(rules.may_have(self.known(foe).species, rules.unnerving) for foe in self._others(place)):
                if hp <= 0.5:
                    self._no_item(row, rules.sitrus)
                if hp <= 0.25:
                    self._no_item(row, rules.pinch)
                if ill:
                    self._no_item(row, rules.lum)
            if stay.turns and self._active(place, c.ACTIVE_BOOST_SPE) < 1.0:
                self._no_ability(row, rules.speed_boost)

    def before_turn(self, parts: list[str]) -> None:
        """A new turn."""
        self._settle()
        if self._listener is not None:
            self._listener.turn()
        for stay in self._stays:
            if stay is not None:
                stay.turns += 1


_BEFORE = {
    "switch": Watcher.before_switch,
    "drag": Watcher.before_switch,
    "move": Watcher.before_move,
    "cant": Watcher.before_other,
    "-damage": Watcher.before_damage,
    "-crit": Watcher.before_special,
    "-enditem": Watcher.before_special,
    "-heal": Watcher.before_heal,
    "": Watcher.before_mark,
    "upkeep": Watcher.before_upkeep,
    "turn": Watcher.before_turn,
}
_AFTER = {
    "switch": Watcher.after_switch,
    "drag": Watcher.after_switch,
    "replace": Watcher.after_replace,
    "swap": Watcher.after_swap,
}
