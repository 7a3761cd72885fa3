"""Situations that tripped others, scripted in the real simulator; what p1 is told is kept in requests.json.

Run this file with a simulator folder to record them anew:
    python -m tests.games.pokemon.scenarios <folder with node_modules>
"""

import json
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sparring.games.pokemon.actions import gimmicks_of
from sparring.games.pokemon.tracker import Tracker
from tests.games.pokemon.oracle import Oracle

RECORDED = Path(__file__).with_name("requests.json")
WORDS = {
    "mega": ("mega", "megax", "ultra"),
    "megay": ("megay",),
    "zmove": ("zmove",),
    "dynamax": ("dynamax",),
    "terastallize": ("terastallize",),
}


@dataclass(frozen=True)
class Scenario:
    """A battle played up to the decision that matters."""

    format_id: str
    teams: tuple[tuple[str, ...], tuple[str, ...]]
    """Pokémon as "Species @ item [ability]: move, move" with parts left out."""
    play: tuple[tuple[str | None, str | None], ...]
    """Choices of both sides, turn by turn."""
    doubles: bool = False
    bring: int | None = None
    setup: str = ""
    """JavaScript run on the battle after the choices and before the request is taken (HP, sleep turns)."""
    before: dict[int, str] = field(default_factory=dict)
    """JavaScript run before the choices of a turn, by turn index."""


def pack(text: str) -> str:
    """A packed set from "Nick=Species @ item [ability] level: moves"."""
    head, _, moves = text.partition(":")
    level = ability = item = ""
    if " L" in head:
        head, _, level = head.partition(" L")
    if "[" in head:
        head, _, ability = head.partition("[")
        ability = ability.split("]")[0]
    if "@" in head:
        head, _, item = head.partition("@")
    nick, _, species = head.strip().rpartition("=")
    names = ",".join(move.strip() for move in moves.split(","))
    spread = "Serious|85,85,85,85,85,85"
    return f"{nick or species}|{species}|{item.strip()}|{ability.strip()}|{names}|{spread}||||{level.strip()}|"


def grammar(gimmicks: tuple[str, ...], active: int) -> list[str]:
    """Everything a side could write for its slots: the oracle judges each."""
    words = [""] + [f" {word}" for gimmick in gimmicks for word in WORDS[gimmick]]
    targets = [""] if active == 1 else ["", " +1", " +2", " -1", " -2"]
    slot = [f"move {move}{target}{word}" for move in range(1, 5) for target in targets for word in words]
    slot += [f"switch {place}" for place in range(1, 7)]
    if active == 1:
        return slot
    slot.append("pass")
    return [f"{left}, {right}" for left in slot for right in slot]


WALLS = ("Blissey: softboiled, seismictoss, protect, toxic", "Snorlax: rest, bodyslam, protect, earthquake")

SCENARIOS = {
    "switch order kept": Scenario(
        "gen9customgame",
        (("Pikachu: surf", "Eevee: tackle", "Mew: psychic", "Ditto: transform"), WALLS),
        (("team 1234", "team 12"), ("switch 3", "move 3"), ("switch 2", "move 3"), ("switch 4", "move 3")),
    ),
    "transform": Scenario(
        "gen9customgame",
        (("Ditto: transform", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 1", "move 1")),
    ),
    "gen 1 transform": Scenario(
        "gen1customgame",
        (("Ditto: transform", "Eevee: tackle"), ("Chansey: softboiled, seismictoss, sing, thunderwave",)),
        (("team 12", "team 1"), ("move 1", "move 1")),
    ),
    "mimic": Scenario(
        "gen4customgame",
        (("Mew: tackle, mimic, psychic, recover", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 1", "move 1"), ("move 2", "move 1")),
    ),
    "encore, gen 9": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), ("Whimsicott [Prankster]: encore, splash",)),
        (("team 12", "team 1"), ("move 3", "move 2"), ("move 1", "move 1")),
    ),
    "encore, gen 4": Scenario(
        "gen4customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), ("Umbreon: encore, splash",)),
        (("team 12", "team 1"), ("move 3", "move 2"), ("move 3", "move 1")),
    ),
    "choice lock": Scenario(
        "gen9customgame",
        (("Snorlax @ choiceband: tackle, rest, bodyslam, curse", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 3", "move 1")),
    ),
    "trapped": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), ("Umbreon: meanlook, splash",)),
        (("team 12", "team 1"), ("move 1", "move 1")),
    ),
    "maybe trapped": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), ("Gothitelle [Frisk]: splash",)),
        (("team 12", "team 1"),),
    ),
    "maybe trapped, and is": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), ("Gothitelle [Shadow Tag]: splash",)),
        (("team 12", "team 1"),),
    ),
    "imprison": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), ("Mew: imprison, rest, curse, splash",)),
        (("team 12", "team 1"), ("move 1", "move 1")),
    ),
    "recharge": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, hyperbeam, bodyslam, curse", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 2", "move 1")),
        before={1: "battle.forceRandomChance = true;"},
    ),
    "struggle": Scenario(
        "gen9customgame",
        (("Snorlax: rest, curse, amnesia, yawn", "Eevee: tackle"), ("Umbreon [Prankster]: taunt, splash",)),
        (("team 12", "team 1"), ("move 2", "move 1")),
    ),
    "locked rampage": Scenario(
        "gen9customgame",
        (("Dragonite: roost, dragondance, outrage, tackle", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 3", "move 1")),
    ),
    "two-turn move": Scenario(
        "gen9customgame",
        (("Dragonite: roost, fly, outrage, tackle", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 2", "move 1")),
    ),
    "move called by another": Scenario(
        "gen9customgame",
        (("Snorlax L60: splash, copycat", "Eevee: tackle"), ("Shuckle L50: protect, outrage",)),
        (("team 12", "team 1"), ("move 1", "move 2"), ("move 2", "move 1")),
    ),
    "gen 1 asleep": Scenario(
        "gen1customgame",
        (("Snorlax: tackle, rest, bodyslam, amnesia", "Eevee: tackle"), ("Jynx: splash",)),
        (("team 12", "team 1"), ("move 1", "move 1")),
        setup="battle.p1.active[0].setStatus('slp', battle.p2.active[0]); battle.makeRequest('move');",
    ),
    "gen 1 wrapped": Scenario(
        "gen1customgame",
        (("Snorlax: tackle, rest, bodyslam, amnesia", "Eevee: tackle"), ("Dragonite: wrap",)),
        (("team 12", "team 1"), ("move 2", "move 1")),
        before={1: "battle.forceRandomChance = true;"},
    ),
    "gen 1 wrapping": Scenario(
        "gen1customgame",
        (("Dragonite: agility, wrap, surf", "Eevee: tackle"), ("Snorlax: splash",)),
        (("team 12", "team 1"), ("move 2", "move 1")),
        before={1: "battle.forceRandomChance = true;"},
    ),
    "forced switch": Scenario(
        "gen9customgame",
        (("Electrode: explosion", "Eevee: tackle", "Mew: psychic"), WALLS),
        (("team 123", "team 12"), ("move 1", "move 1")),
    ),
    "revival blessing": Scenario(
        "gen9customgame",
        (("Electrode: explosion", "Rabsca: revivalblessing", "Mew: psychic"), WALLS),
        (("team 123", "team 12"), ("move 1", "move 1"), ("switch 2", None), ("move 1", "move 1")),
    ),
    "revival blessing, nobody else": Scenario(
        "gen9customgame",
        (("Electrode: explosion", "Rabsca: revivalblessing"), WALLS),
        (("team 12", "team 12"), ("move 1", "move 1"), ("switch 2", None), ("move 1", "move 1")),
    ),
    "tera offered": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 3", "move 1")),
    ),
    "tera used": Scenario(
        "gen9customgame",
        (("Snorlax: tackle, rest, bodyslam, curse", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 3 terastallize", "move 1")),
    ),
    "z-move past a taunt": Scenario(
        "gen7customgame",
        (
            ("Snorlax @ normaliumz: bodyslam, curse, earthquake, yawn", "Eevee: tackle"),
            ("Umbreon [Prankster]: taunt, splash",),
        ),
        (("team 12", "team 1"), ("move 1", "move 1")),
    ),
    "mega offered": Scenario(
        "gen6customgame",
        (("Charizard @ charizarditex: flareblitz, roost", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"),),
    ),
    "burst or z": Scenario(
        "gen7customgame",
        (("Necrozma-Dusk-Mane @ ultranecroziumz: photongeyser, earthquake, calmmind", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"),),
    ),
    "dynamaxed": Scenario(
        "gen8customgame",
        (("Snorlax @ choiceband: tackle, rest, bodyslam, curse", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 3 dynamax", "move 1")),
    ),
    "choice locked, dynamax still open": Scenario(
        "gen8customgame",
        (("Snorlax @ choiceband: tackle, rest, bodyslam, curse", "Eevee: tackle"), WALLS),
        (("team 12", "team 12"), ("move 3", "move 1")),
    ),
    "own illusion": Scenario(
        "gen9customgame",
        (("Zoroark [Illusion]: darkpulse", "Eevee: tackle", "Mew: psychic"), WALLS),
        (("team 123", "team 12"), ("switch 2", "move 3"), ("switch 2", "move 3")),
    ),
    "two of one name": Scenario(
        "gen9customgame",
        (("Mew: psychic", "Twin=Eevee: tackle", "Twin=Pikachu: surf", "Twin=Snorlax: rest"), WALLS),
        (("team 1234", "team 12"), ("switch 3", "move 3"), ("switch 4", "move 3")),
    ),
    "doubles, plain": Scenario(
        "gen9doublescustomgame",
        (
            ("Snorlax: bodyslam, helpinghand, earthquake, acupressure", "Mew: coaching, aurasphere", "Eevee: tackle"),
            WALLS,
        ),
        (("team 123", "team 12"),),
        doubles=True,
    ),
    "doubles, two gimmicks": Scenario(
        "gen7doublescustomgame",
        (
            (
                "Charizard @ charizarditex: flareblitz, roost",
                "Snorlax @ normaliumz: bodyslam, protect",
                "Eevee: tackle",
            ),
            WALLS,
        ),
        (("team 123", "team 12"),),
        doubles=True,
    ),
    "doubles, mega beside burst": Scenario(
        "gen7doublescustomgame",
        (
            (
                "Charizard @ charizarditex: flareblitz, roost",
                "Necrozma-Dusk-Mane @ ultranecroziumz: photongeyser, calmmind",
            ),
            WALLS,
        ),
        (("team 12", "team 12"),),
        doubles=True,
    ),
    "doubles, dynamaxed": Scenario(
        "gen8doublescustomgame",
        (("Snorlax: bodyslam, protect", "Mew: aurasphere, protect", "Eevee: tackle"), WALLS),
        (("team 123", "team 12"), ("move 1 +1 dynamax, move 2", "move 1, move 3")),
        doubles=True,
    ),
    "doubles, both must switch": Scenario(
        "gen9doublescustomgame",
        (("Electrode: explosion", "Voltorb: explosion", "Eevee: tackle", "Mew: psychic", "Ditto: transform"), WALLS),
        (("team 12345", "team 12"), ("move 1, move 1", "move 3, move 3")),
        doubles=True,
        before={1: "battle.p1.active[1].hp = 1;"},
    ),
    "doubles, one reserve for two slots": Scenario(
        "gen9doublescustomgame",
        (("Electrode: explosion", "Voltorb: explosion", "Eevee: tackle"), WALLS),
        (("team 123", "team 12"), ("move 1, move 1", "move 3, move 3")),
        doubles=True,
        before={1: "battle.p1.active[1].hp = 1;"},
    ),
    "doubles, one slot must switch": Scenario(
        "gen9doublescustomgame",
        (("Gengar: healingwish", "Mew: psychic", "Eevee: tackle", "Ditto: transform"), WALLS),
        (("team 1234", "team 12"), ("move 1, move 1 +2", "move 3, move 3")),
        doubles=True,
    ),
    "doubles, fainted slot": Scenario(
        "gen9doublescustomgame",
        (("Electrode: explosion", "Gengar: shadowball, protect"), WALLS),
        (("team 12", "team 12"), ("move 1, move 2", "move 3, move 3")),
        doubles=True,
    ),
    "doubles, commander": Scenario(
        "gen9doublescustomgame",
        (("Tatsugiri [Commander]: dracometeor", "Dondozo: wavecrash, protect", "Eevee: tackle"), WALLS),
        (("team 123", "team 12"),),
        doubles=True,
    ),
    "doubles, ally switch": Scenario(
        "gen9doublescustomgame",
        (("Gardevoir: allyswitch, psychic", "Eevee: tackle, protect", "Mew: surf"), WALLS),
        (("team 123", "team 12"), ("move 1, move 2", "move 3, move 3")),
        doubles=True,
    ),
    "doubles, revive the ally": Scenario(
        "gen9doublescustomgame",
        (("Electrode: explosion", "Rabsca [Telepathy]: revivalblessing", "Mew: psychic"), WALLS),
        (("team 123", "team 12"), ("move 1, move 1", "move 3, move 3")),
        doubles=True,
    ),
    "doubles, revive with nobody behind": Scenario(
        "gen9doublescustomgame",
        (("Electrode: explosion", "Rabsca [Telepathy]: revivalblessing"), WALLS),
        (("team 12", "team 12"), ("move 1, move 1", "move 3, move 3")),
        doubles=True,
    ),
}


@cache
def requests() -> dict[str, Any]:
    """What p1 is told in each scenario."""
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    return recorded


def asked(name: str) -> Tracker:
    """A tracker that has read all of a scenario, up to the decision that matters."""
    tracker = Tracker(int(SCENARIOS[name].format_id[3]), "p1")
    for lines, request in requests()[name]["steps"]:
        tracker.lines(lines)
        if request is not None:
            tracker.request(request)
    assert not tracker.unknown
    return tracker


def record(simulator: Path) -> dict[str, Any]:
    """Plays every scenario and returns what p1 is told, and every choice Showdown takes, with what it understood.

    `steps` are the lines and the request (if p1 must choose) of each decision; the last is the one that matters.
    """
    recorded = {}
    with Oracle(simulator) as oracle:
        for name, scenario in SCENARIOS.items():
            state = oracle.start(scenario.format_id, 7, ["]".join(map(pack, team)) for team in scenario.teams])
            steps = [state]
            for turn, (left, right) in enumerate(scenario.play):
                if turn == 0 and "teamPreview" not in steps[0]["requests"][0]:
                    continue  # the older generations have none
                if turn in scenario.before:
                    oracle.run(scenario.before[turn])
                state = oracle.choose(left, right)
                assert state["errors"] == ["", ""], (name, turn, state["errors"])
                steps.append(state)
            if scenario.setup:
                steps.append(oracle.run(scenario.setup + "return state();"))
            assert steps[-1]["requests"][0] is not None, (name, state)
            choices = grammar(gimmicks_of(scenario.format_id), 1 + scenario.doubles)
            judged = zip(choices, oracle.judge(0, choices), strict=True)
            recorded[name] = {
                "steps": [[step["lines"][0], step["requests"][0]] for step in steps],
                "choices": {choice: [v, what] for choice, (v, what) in judged if v != "invalid"},
            }
    return recorded


if __name__ == "__main__":
    found = record(Path(sys.argv[1]))
    for name, entry in found.items():
        taken = [choice for choice, (verdict, _) in entry["choices"].items() if verdict == "ok"]
        print(f"{name}: {len(taken)} taken: {taken[:14]}")
    RECORDED.write_text(json.dumps(found, separators=(",", ":")) + "\n")
