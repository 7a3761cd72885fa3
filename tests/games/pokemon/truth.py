"""Compares a tracker with the simulator's own Battle object, which `truth.js` dumps at every decision."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sparring.games.pokemon.columns import (
    BASE_STAT_SCALE,
    BOOST_SCALE,
    LEVEL_SCALE,
    PP_SCALE,
    STAT_SCALE,
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
from sparring.games.pokemon.dex import STATUSES, Dex, load_dex
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.setup import installation
from sparring.games.pokemon.tracker import Tracker
from sparring.games.pokemon.tracking.effects import (
    ROOMS,
    SIDE_LAYERS,
    SIDE_TIMED,
    TERRAINS,
    VOLATILES,
    WEATHERS,
)
from sparring.games.pokemon.tracking.tables import parse_condition

BOOSTS: dict[str, int] = {
    "atk": ActiveColumn.BOOST_ATK,
    "def": ActiveColumn.BOOST_DEF,
    "spa": ActiveColumn.BOOST_SPA,
    "spd": ActiveColumn.BOOST_SPD,
    "spe": ActiveColumn.BOOST_SPE,
    "accuracy": ActiveColumn.BOOST_ACCURACY,
    "evasion": ActiveColumn.BOOST_EVASION,
}
VOLATILE_FLAGS = {
    **VOLATILES,
    "perishsong": ActiveColumn.PERISH,
    "partiallytrapped": ActiveColumn.BOUND,
    "trapped": ActiveColumn.BLOCKED,
    "gastroacid": ActiveColumn.ABILITY_SUPPRESSED,
    "mustrecharge": ActiveColumn.RECHARGING,
    "twoturnmove": ActiveColumn.PREPARING,
    "destinybond": ActiveColumn.DESTINY_BOND,
    "grudge": ActiveColumn.GRUDGE,
    "rage": ActiveColumn.RAGE,
    "glaiverush": ActiveColumn.GLAIVE_RUSH,
}
SINGLE_TURN_FLAGS: dict[ActiveColumn, tuple[str, ...]] = {
    ActiveColumn.PROTECTED: (
        *("protect", "maxguard", "kingsshield", "spikyshield", "banefulbunker"),
        *("obstruct", "silktrap", "burningbulwark"),
    ),
    ActiveColumn.ENDURING: ("endure",),
    ActiveColumn.REDIRECTING: ("followme", "ragepowder", "spotlight"),
    ActiveColumn.HELPED: ("helpinghand",),
    ActiveColumn.FLINCH_RISK: ("focuspunch", "shelltrap", "beakblast"),
    ActiveColumn.ROOSTING: ("roost",),
    ActiveColumn.MAGIC_COAT: ("magiccoat",),
}
SIDE_GUARDS = ("quickguard", "wideguard", "craftyshield", "matblock")
for without in ("mimic", "skydrop", "autotomize", "powershift", "slowstart"):  # kept elsewhere or by nobody
    del VOLATILE_FLAGS[without]


def play(
    format: str,
    battles: int,
    seed: int,
    teams: str = "",
    *,
    hidden: bool = False,
    steps: int = 1000,
    moves: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Decision points of seeded battles, as `truth.js` tells them.

    With `hidden`, p2's hidden facts are others; with `moves`, every Pokémon has four of these.
    """
    asked = [format, battles, seed, teams, hidden, steps, list(moves)]
    process = _IDLE.pop() if _IDLE else _start()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(msgspec.json.encode(asked) + b"\n")
    process.stdin.flush()
    for line in process.stdout:
        if line == b"\n":
            _IDLE.append(process)
            return
        yield msgspec.json.decode(line)
    raise AssertionError("truth.js has ended")


_IDLE: list[subprocess.Popen[bytes]] = []
"""Processes that have told all: they have Showdown loaded, and end with this one."""


def _start() -> subprocess.Popen[bytes]:
    found = installation()
    script = str(Path(__file__).parent / "truth.js")
    return subprocess.Popen(
        [found.node, script], env=found.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


class Checker:
    """Follows battles with a tracker a side and collects every difference from the truth."""

    def __init__(self, tables: int | str) -> None:
        self.tables = tables
        self.dex: Dex = load_dex(tables)
        self.generation = self.dex.generation
        self.rows = ObservationRows(1)
        self.battle = -1
        self.trackers: list[Tracker] = []
        self.disguised: list[set[str]] = [set(), set()]
        self.borrowers: list[set[str]] = [set(), set()]
        self.resting: list[set[str]] = [set(), set()]
        self.within_turn = False
        self.early_bird = False
        self.decisions = 0
        self.compared = 0
        self.differences: list[str] = []
        self.unknown: dict[str, int] = {}

    def step(self, point: dict[str, Any]) -> None:
        """Feeds one decision point to both trackers and compares them."""
        if point["battle"] != self.battle:
            self.battle = point["battle"]
            self.trackers = [Tracker(self.tables, side) for side in ("p1", "p2")]
            self.disguised = [set(), set()]
            self.borrowers = [set(), set()]
            self.resting = [set(), set()]
        truth = point["truth"]
        self.within_turn = any("forceSwitch" in (seen["request"] or {}) for seen in point["sides"])
        sleepers = [pokemon["baseAbility"] for side in truth["sides"] for pokemon in side["pokemon"]]
        self.early_bird = "earlybird" in sleepers  # perhaps another has it by now
        for number, side in enumerate(truth["sides"]):
            for pokemon in side["pokemon"]:
                current = [move["id"] for move in pokemon["currentMoves"]]
                if len(set(current)) < len(current):  # by Mimic: which of the two it uses is not told
                    self.borrowers[number].add(pokemon["name"])
                if pokemon["ability"] == "regenerator":  # perhaps by Trace
                    self.resting[number].add(pokemon["name"])
                if pokemon["illusion"] is not None:
                    self.disguised[number] |= {pokemon["name"], side["pokemon"][pokemon["illusion"]]["name"]}
        for line in point["sides"][0]["lines"]:
            if "Regenerator" in line:  # by Skill Swap, perhaps to leave in the same turn
                for side, name in re.findall(r"\bp([12])[ab]: ([^|]*)", line):
                    self.resting[int(side) - 1].add(name)
            if line.startswith("|move|"):
                _, _, ident, name, *_ = line.split("|")
                move = self.dex.raw["moves"].get(to_id(name), {})
                if move.get("isMax") or move.get("isZ") or name.startswith("Z-"):  # whose PP it takes is not told
                    self.borrowers[int(ident[1]) - 1].add(ident[5:])
        for number, (tracker, seen) in enumerate(zip(self.trackers, point["sides"], strict=True)):
            tracker.lines(seen["lines"])
            if seen["request"] is not None:
                tracker.request(seen["request"])
            if point["ended"]:
                for kind, count in tracker.unknown.items():
                    self.unknown[kind] = self.unknown.get(kind, 0) + count
                continue
            self.decisions += 1
            tracker.write(self.rows, 0)
            where = f"battle {self.battle} step {point['step']} turn {truth['turn']} p{number + 1}"
            self._compare(where, tracker, number, truth, seen["request"])

    def _same(self, where: str, what: str, ours: Any, theirs: Any) -> None:
        self.compared += 1
        close = abs(ours - theirs) < 1e-4 if isinstance(theirs, float) else ours == theirs
        if not close:
            self.differences.append(f"{where}: {what} is {ours}, truly {theirs}")

    def _compare(self, where: str, tracker: Tracker, number: int, truth: dict[str, Any], request: Any) -> None:
        fields = {name: array[0] for name, array in self.rows.fields.items()}
        preview = "teamPreview" in request
        names = tracker.names
        for side in (0, 1):
            told = truth["sides"][number ^ side]
            conditions = told["conditions"]
            self._compare_side(f"{where} {'foe' if side else 'own'}", fields["side"][side], told, conditions)
            occupied = [0, 0]
            for pokemon in told["pokemon"]:
                hidden = pokemon["name"] in self.disguised[number ^ side]
                row = pokemon["index"] if side == 0 else self._foe_row(names, pokemon["name"])
                label = f"{where} {'foe' if side else 'own'} {pokemon['name']}"
                if row is not None and not (side == 1 and hidden):
                    rested = side == 1 and not pokemon["active"] and pokemon["name"] in self.resting[number ^ side]
                    self._compare_pokemon(label, fields, row, pokemon, side, preview, rested)
                    if self._pp_told(pokemon, side, number, truth, request):
                        whole = side == 0 and not pokemon["transformed"]
                        self._compare_moves(
                            label, fields["move_ids"][row], fields["moves"][row], pokemon["moves"], whole=whole
                        )
                if pokemon["active"]:
                    position = pokemon["position"]
                    occupied[position] = 1
                    place = 2 * side + position
                    self._compare_active(label, fields, place, row, pokemon, side, hidden)
                    if not hidden and self._pp_told(pokemon, side, number, truth, request):
                        self._compare_moves(
                            f"{label} now",
                            fields["active_move_ids"][place],
                            fields["active_moves"][place],
                            pokemon["currentMoves"],
                            whole=side == 0,
                        )
            for position in (0, 1):
                present = fields["active"][2 * side + position][ActiveColumn.PRESENT]
                self._same(where, f"place {2 * side + position} occupied", int(present), occupied[position])
        self._compare_field(where, fields["field"], truth)

    def _pp_told(self, pokemon: dict[str, Any], side: int, number: int, truth: dict[str, Any], request: Any) -> bool:
        """Whether a side can know the PP of a Pokémon's moves: a request with moves tells it, else lines must."""
        if side == 0 and "active" in request and pokemon["active"]:
            offered = request["active"][pokemon["position"]]
            if offered is not None and "pp" in offered["moves"][0]:  # a locked move comes alone and without PP
                return True
        if pokemon["name"] in self.borrowers[number ^ side]:
            return False
        # Pressure is not announced in generation 3, and a move that fails at once hides its target in doubles.
        doubles = len(truth["sides"][0]["slotConditions"]) > 1
        feared = any(foe["baseAbility"] == "pressure" for team in truth["sides"] for foe in team["pokemon"])
        return not (feared and (doubles or self.generation == 3))

    @staticmethod
    def _foe_row(names: list[str], name: str) -> int | None:
        rows = [row for row in range(TEAM, 2 * TEAM) if names[row] == name]
        return rows[0] if rows else None

    def _compare_pokemon(
        self,
        where: str,
        fields: dict[str, Any],
        row: int,
        truth: dict[str, Any],
        side: int,
        preview: bool,
        rested: bool,
    ) -> None:
        dex = self.dex
        columns, ids = fields["pokemon"][row], fields["pokemon_ids"][row]
        self._same(where, "fainted", bool(columns[PokemonColumn.FAINTED]), truth["fainted"])
        self._same(where, "active", bool(columns[PokemonColumn.ACTIVE]), truth["active"] and not preview)
        if truth["fainted"]:
            self._same(where, "hp", float(columns[PokemonColumn.HP]), 0.0)
            return
        species = self._species(truth["baseSpecies"] if truth["transformed"] else truth["species"])
        self._same(where, "species", dex.species.ids[ids[PokemonId.SPECIES]], species)
        stats = np.round(columns[PokemonColumn.BASE_HP :][:6] * BASE_STAT_SCALE).astype(int).tolist()
        self._same(where, "base stats", stats, dex.species_stats[ids[PokemonId.SPECIES]].tolist())
        self._same(where, "level", round(float(columns[PokemonColumn.LEVEL]) * LEVEL_SCALE), truth["level"])
        if side == 0:
            self._same(where, "hp", float(columns[PokemonColumn.HP]), truth["hp"] / truth["maxhp"])
            self._same(where, "max hp", round(float(columns[PokemonColumn.MAX_HP]) * STAT_SCALE), truth["maxhp"])
            for stat, column in (("atk", PokemonColumn.STAT_ATK), ("spe", PokemonColumn.STAT_SPE)):
                self._same(where, stat, round(float(columns[column]) * STAT_SCALE), truth["stats"][stat])
            self._same(where, "item", dex.items.ids[ids[PokemonId.ITEM]], truth["item"])
            ability = truth["baseAbility"] if self.generation > 2 else ""
            self._same(where, "ability", dex.abilities.ids[ids[PokemonId.ABILITY]], ability)
        else:
            if not rested:
                self._same(where, "hp", float(columns[PokemonColumn.HP]), float(parse_condition(truth["shown"])[0]))
            if columns[PokemonColumn.ITEM_KNOWN]:
                self._same(where, "item", dex.items.ids[ids[PokemonId.ITEM]], truth["item"])
            elif columns[PokemonColumn.ITEM_HELD]:
                self._same(where, "an item held", bool(truth["item"]), True)
            if columns[PokemonColumn.ABILITY_KNOWN]:
                self._same(where, "ability", dex.abilities.ids[ids[PokemonId.ABILITY]], truth["baseAbility"])
        self._same(where, "status", STATUSES[ids[PokemonId.STATUS]], truth["status"])
        if truth["status"] == "slp" and self.generation > 3 and not self.early_bird:
            state = truth["statusState"]
            slept = round(float(columns[PokemonColumn.SLEEP_TURNS]) * TURN_SCALE)
            if "startTime" in state:
                self._same(where, "turns asleep", slept, state["startTime"] - state["time"])
        if truth["status"] == "tox" and self.generation > 2 and truth["active"]:
            grown = round(float(columns[PokemonColumn.TOXIC_TURNS]) * TURN_SCALE)
            self._same(where, "turns poisoned", grown, truth["statusState"]["stage"])
        self._same(where, "tera", bool(columns[PokemonColumn.TERASTALLIZED]), bool(truth["terastallized"]))
        if ids[PokemonId.TERA_TYPE]:
            self._same(where, "tera type", dex.types.ids[ids[PokemonId.TERA_TYPE]], truth["teraType"].lower())

    def _compare_moves(self, where: str, ids: Any, columns: Any, truth: list[dict[str, Any]], *, whole: bool) -> None:
        told = {self._move(move["id"]): move for move in truth}
        if len(told) < len(truth):  # the same move twice, by Mimic
            return
        ours = [self._move(self.dex.moves.ids[number]) for number in ids if number]
        if whole:
            self._same(where, "moves", ours, [self._move(move["id"]) for move in truth])
        for move, column in zip(ours, columns, strict=False):
            self._same(where, f"{move} known rightly", move in told, True)
            if move in told and not (self.generation == 2 and not whole and move == "rollout"):  # goes on unmarked
                most = float(column[MoveColumn.MAX_PP]) * PP_SCALE
                left = round(float(column[MoveColumn.PP]) * most)
                # What Mimic gets in generation 1 may have more PP than its most; ours stops there.
                self._same(where, f"pp of {move}", left, min(told[move]["pp"], told[move]["maxpp"]))
                if not where.endswith("now"):
                    self._same(where, f"most pp of {move}", round(most), told[move]["maxpp"])

    def _species(self, id: str) -> str:
        """As players are told: cosmetic formes and Battle Bond are not."""
        return self.dex.species.ids[self.dex.species[id.removesuffix("bond") if id == "greninjabond" else id]]

    @staticmethod
    def _move(id: str) -> str:
        return "hiddenpower" if id.startswith("hiddenpower") else id

    def _compare_active(
        self,
        where: str,
        fields: dict[str, Any],
        place: int,
        row: int | None,
        truth: dict[str, Any],
        side: int,
        hidden: bool,
    ) -> None:
        dex = self.dex
        ids, columns = fields["active_ids"][place], fields["active"][place]
        if not hidden:
            self._same(where, "row on the field", int(ids[ActiveId.POKEMON]) - 1, row)
            species = self._species(truth["species"])
            self._same(where, "species now", dex.species.ids[ids[ActiveId.SPECIES]], species)
            types = [dex.types.ids[number] for number in ids[[ActiveId.TYPE_1, ActiveId.TYPE_2]] if number]
            if "roost" not in truth["volatiles"]:
                self._same(where, "types now", types, [name.lower() for name in truth["types"] if name != "???"])
            added = dex.types.ids[ids[ActiveId.TYPE_3]]
            self._same(where, "added type", added, truth["addedType"].lower())
            if ids[ActiveId.ABILITY]:
                self._same(where, "ability now", dex.abilities.ids[ids[ActiveId.ABILITY]], truth["ability"])
        elif side == 1:
            seeming = int(ids[ActiveId.POKEMON]) - 1
            shown = float(parse_condition(truth["shown"])[0])
            if not fields["field"][
                FieldColumn.DOUBLES
            ]:  # in doubles it may have stood beside its model, both in one row
                self._same(where, "hp of a disguise", float(fields["pokemon"][seeming][PokemonColumn.HP]), shown)
        for stat, column in BOOSTS.items():
            self._same(where, f"{stat} boost", round(float(columns[column]) * BOOST_SCALE), truth["boosts"][stat])
        volatiles = truth["volatiles"]
        for id, column in VOLATILE_FLAGS.items():
            if id == "twoturnmove" and self.within_turn:  # lasts to the end of the second turn
                continue
            if id == "mustrecharge" and side == 1 and id not in volatiles and self._may_rouse(fields, place ^ 2):
                continue
            self._same(where, id, bool(columns[column]), id in volatiles)
        for flag, ids_of_flag in SINGLE_TURN_FLAGS.items():
            there = any(id in volatiles for id in ids_of_flag)
            if flag == ActiveColumn.FLINCH_RISK:  # Showdown goes on with it after the move
                there = there and not truth["acted"]
            self._same(where, flag.name.lower(), bool(columns[flag]), there)
        if truth["activeTurns"] > 1:  # Showdown aims at one that left and came back, too
            self._same(where, "aimed at", bool(columns[ActiveColumn.LOCK_ON]), truth["aimedAt"])
        self._same(where, "stall", bool(columns[ActiveColumn.PROTECT_TURNS]), "stall" in volatiles)
        for id, column in (("perishsong", ActiveColumn.PERISH_TURNS), ("dynamax", ActiveColumn.DYNAMAX_TURNS)):
            if id in volatiles and "duration" in volatiles[id]:
                self._same(
                    where, f"turns of {id}", round(float(columns[column]) * TURN_SCALE), volatiles[id]["duration"]
                )
        if "stockpile" in volatiles:
            layers = round(float(columns[ActiveColumn.STOCKPILE]) * 3)
            self._same(where, "stockpile layers", layers, volatiles["stockpile"]["layers"])
        for id in ("protosynthesis", "quarkdrive"):
            if id in volatiles:
                column = ActiveColumn[f"PARADOX_{volatiles[id]['bestStat'].upper()}"]
                self._same(where, f"{id} raises", float(columns[column]), 1.0)
        self._same(where, "transformed", bool(columns[ActiveColumn.TRANSFORMED]), truth["transformed"])
        turns = min(truth["activeTurns"], 8)
        self._same(where, "turns on the field", round(float(columns[ActiveColumn.ACTIVE_TURNS]) * TURN_SCALE), turns)
        if self.generation > 2:
            last = dex.moves.ids[ids[ActiveId.LAST_MOVE]]
            handed = self.generation == 4 and not last  # Showdown hands on the move that brought a replacement
            if not last.startswith("max") and not handed:  # max moves are remembered before abilities change their type
                self._same(where, "last move", self._move(last), self._move(truth["lastMove"]))

    def _may_rouse(self, fields: dict[str, Any], place: int) -> bool:
        """Whether the last move at `place` may have spared its target the rest, by a flinch that no line tells."""
        move = self.dex.raw["moves"].get(self.dex.moves.ids[fields["active_ids"][place][ActiveId.LAST_MOVE]], {})
        effects = move.get("secondaries") or ()
        return self.generation == 1 and any(effect.get("volatileStatus") == "flinch" for effect in effects)

    def _compare_side(self, where: str, columns: Any, truth: dict[str, Any], conditions: dict[str, Any]) -> None:
        self._compare_slots(where, columns, truth)
        self._same(where, "Pokémon left", round(float(columns[SideColumn.REMAINING]) * TEAM), truth["left"])
        guarded = any(id in conditions for id in SIDE_GUARDS)
        self._same(where, "side guarded", bool(columns[SideColumn.SIDE_PROTECTED]), guarded)
        for id, (column, most) in SIDE_LAYERS.items():
            layers = conditions[id].get("layers", 1) if id in conditions else 0
            self._same(where, id, round(float(columns[column]) * most), layers)
        for id, (flag, turns, _, item) in SIDE_TIMED.items():
            if id.startswith("gmax"):
                continue
            self._same(where, id, bool(columns[flag]), id in conditions)
            if id in conditions:
                self._span(where, id, float(columns[turns]), conditions[id]["duration"], bool(item))

    def _compare_slots(self, where: str, columns: Any, truth: dict[str, Any]) -> None:
        for slot, conditions in enumerate(truth["slotConditions"]):
            self._same(where, f"wish at {slot}", bool(columns[SideColumn.WISH_LEFT + slot]), "wish" in conditions)
            coming = "healingwish" in conditions or "lunardance" in conditions
            self._same(where, f"healing wish at {slot}", bool(columns[SideColumn.HEAL_NEXT_LEFT + slot]), coming)
            future = (SideColumn.FUTURE_SIGHT_LEFT, SideColumn.FUTURE_SIGHT_RIGHT)[slot]
            self._same(where, f"future sight at {slot}", bool(columns[future]), "futuremove" in conditions)

    def _span(self, where: str, what: str, ours: float, theirs: int, extendable: bool) -> None:
        """Turns left; where an unseen item may stretch them, ours may be 3 short."""
        left = round(ours * TURN_SCALE)
        self._same(where, f"turns of {what}", left if not extendable or left != theirs - 3 else theirs, theirs)

    def _compare_field(self, where: str, columns: Any, truth: dict[str, Any]) -> None:
        for id, (column, span, _) in WEATHERS.items():
            if id == "snow":
                continue
            self._same(where, id, bool(columns[column]), truth["weather"] == id)
            if truth["weather"] == id and span and truth["weatherState"].get("duration"):
                self._span(
                    where, id, float(columns[FieldColumn.WEATHER_TURNS]), truth["weatherState"]["duration"], True
                )
        for id, column in TERRAINS.items():
            self._same(where, id, bool(columns[column]), truth["terrain"] == id)
            if truth["terrain"] == id:
                self._span(
                    where, id, float(columns[FieldColumn.TERRAIN_TURNS]), truth["terrainState"]["duration"], True
                )
        self._same(where, "fairylock", bool(columns[FieldColumn.FAIRY_LOCK]), "fairylock" in truth["pseudoWeather"])
        for id, (flag, turns) in ROOMS.items():
            self._same(where, id, bool(columns[flag]), id in truth["pseudoWeather"])
            if id in truth["pseudoWeather"]:
                self._span(where, id, float(columns[turns]), truth["pseudoWeather"][id]["duration"], False)
