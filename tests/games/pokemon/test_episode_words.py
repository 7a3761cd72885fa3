"""Battles on disk in words: names of actions as live play has them, kinds of orders, and formats that are gone."""

from collections import Counter

import numpy as np
import pytest

from sparring.core import RandomPlayer
from sparring.core.replays import Filters, Replay
from sparring.games.pokemon.actions.offer import KIND, LOCKED, PLACE_AT, PREVIEW, STRUGGLE
from sparring.games.pokemon.arena import PokemonArena, pokemon_spec
from sparring.games.pokemon.battle_view import BattleView
from sparring.games.pokemon.columns import FieldColumn
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.episode_words import PokemonWords
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.observation import RAW_FIELDS
from sparring.games.pokemon.replays.episodes import read_replays
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.sight import Sight
from sparring.rollout import Collector, everyone
from tests.games.pokemon.replays.logs import battle

FORMATS = ["gen1randombattle", "gen7randombattle", "gen9randomdoublesbattle"]


@pytest.mark.parametrize("format", FORMATS)
def test_orders_are_called_as_in_live_play_where_the_request_is_known(format):
    arena = PokemonArena(PokemonSettings(format=format), matches=1, seed=3)  # one by one: the same every time
    words, player = PokemonWords(arena.spec), RandomPlayer(0)
    space = words._space
    sight = Sight(load_dex(find_format(format).tables), space)
    compared = ended = 0
    try:
        while ended < 8:
            decisions, results = arena.wait()
            ended += len(results)
            for number in range(len(decisions)):
                row = {name: field[number] for name, field in decisions.observation.items()}
                view = BattleView(row)
                legal = decisions.legal[number]
                offer = arena.tracker(int(decisions.match[number]), int(decisions.seat[number])).offer
                assert offer[KIND] != PREVIEW
                if any(offer[at + LOCKED] == STRUGGLE for at in PLACE_AT):
                    continue  # what forbids all moves may not be in the row
                for action in np.flatnonzero(legal)[:8].tolist():
                    among = np.zeros(len(legal), np.bool_)
                    among[action] = True
                    expected = " + ".join(
                        sight.name(view, place, order, locked=offer[PLACE_AT[place] + LOCKED])
                        for place, order in enumerate(space.orders_of(action))
                    )
                    assert words.actions(row, legal, among) == [expected]
                    compared += 1
            if len(decisions):
                arena.act(decisions, player.act(decisions).action)
    finally:
        arena.close()
    assert compared > 500


def random_episodes(format):
    arena = PokemonArena(PokemonSettings(format=format), matches=4, seed=5)
    try:
        return Collector(arena, {"random": RandomPlayer(1)}, everyone(0, 2), record=["random"]).collect(100)
    finally:
        arena.close()


@pytest.mark.parametrize("format", ["gen9randombattle", "gen9vgc2025regi"])
def test_kinds_of_orders_and_species(format):
    episodes = random_episodes(format)
    words = PokemonWords(episodes.spec)
    space = words._space
    expected = Counter()
    for row, action in enumerate(episodes.steps.action.tolist()):
        first = words.position({name: values[row] for name, values in episodes.steps.observation.items()})[0]
        if first == "Team preview":
            expected["preview"] += 1
            continue
        for part in space.describe(action).split("; "):
            kind = part.split()[0]
            if kind == "switch" and "replacement" in first:
                kind = "replacement"
            expected["terastallize" if part.endswith("terastallize") else kind] += 1
    assert words.kinds(episodes) == expected
    assert {"move", "switch", "replacement"} <= set(expected)
    assert ("preview" in expected) == (space.preview is not None)
    species = words.named(episodes)["species"]
    assert species.total() == 6 * len(episodes)
    assert max(species.values()) <= len(episodes)


def test_a_choice_is_a_move_a_switch_a_replacement_or_a_preview():
    words = PokemonWords(pokemon_spec(PokemonSettings(format="gen9vgc2025regi")))
    space = words._space
    told = [space.describe(action) for action in range(space.joint)]
    moves = [number for number, text in enumerate(told) if "switch" not in text and text.count("move") == 2]
    switches = [number for number, text in enumerate(told) if "switch" in text]
    chosen = np.zeros((6, space.actions), np.bool_)
    field = np.zeros((6, RAW_FIELDS["field"].shape[0]), np.float32)
    chosen[0, moves[:3]] = True
    chosen[1, switches[:3]] = True
    chosen[2, [moves[0], switches[0]]] = True
    chosen[3, switches[0]] = True
    field[3, FieldColumn.FORCED] = 1
    chosen[4, space.joint] = True
    field[4, FieldColumn.PREVIEW] = 1
    chosen[5, next(number for number in switches if "move" in told[number])] = True
    kinds = words.choice_kinds({"field": field}, chosen)
    named = [words.choices[kind] if kind >= 0 else "open" for kind in kinds.tolist()]
    assert named == ["move", "switch", "open", "replacement", "preview", "switch"]


@pytest.mark.parametrize("format", ["gen9randombattle", "gen9vgc2025regi"])
def test_kinds_of_choices_are_those_of_the_orders_in_play(format):
    episodes = random_episodes(format)
    words = PokemonWords(episodes.spec)
    chosen = np.eye(episodes.spec.actions, dtype=np.bool_)[episodes.steps.action]
    kinds = words.choice_kinds(episodes.steps.observation, chosen)
    for row, action in enumerate(episodes.steps.action.tolist()):
        first = words.position({name: values[row] for name, values in episodes.steps.observation.items()})[0]
        if first == "Team preview":
            expected = "preview"
        elif "replacement" in first:
            expected = "replacement"
        else:
            expected = "switch" if "switch" in words._space.describe(action) else "move"
        assert words.choices[kinds[row]] == expected


def test_many_ways_to_bring_a_team_and_many_pairs_are_summed_up():
    words = PokemonWords(pokemon_spec(PokemonSettings(format="gen9vgc2025regi")))
    row = {name: np.zeros(field.shape, field.dtype) for name, field in RAW_FIELDS.items()}
    row["field"][FieldColumn.PREVIEW] = row["field"][FieldColumn.GENERATION] = 1
    legal = np.zeros(words._space.actions, np.bool_)
    legal[words._space.joint :] = True
    ways, lead, bring = words.actions(row, legal, legal)
    assert ways == "90 ways"
    assert lead == "lead 2 of slot 1, slot 2, slot 3, slot 4, slot 5, slot 6"
    assert bring.startswith("bring 2 of slot 1")
    legal[words._space.joint + 1 :] = False
    assert words.actions(row, legal, legal) == ["lead slot 1, slot 2, bring slot 3, slot 4"]


def test_a_format_that_is_gone_has_words_too():
    log = battle("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|", "|upkeep", "|turn|2", gen=7, kind="doubles")
    log = log.replace("[Gen 7] Doubles Custom Game", "[Gen 7] Long Gone Doubles")
    ((name, episodes),) = read_replays([Replay("a", log)], Filters(), {}).episodes.items()
    assert name == "gen7longgonedoubles"
    words = PokemonWords(episodes.spec)
    row = {field: values[0] for field, values in episodes.steps.observation.items()}
    assert "Turn 1" in words.position(row)
    assert episodes.unpack_legal()[0].sum() > 8
    pairs, left, right = words.actions(row, episodes.unpack_legal()[0], episodes.unpack_legal()[0])
    assert pairs.endswith(" pairs")
    assert left.startswith("Mew: ")
    assert "Psychic and zmove" not in left  # it has a name of its own
    assert right.startswith("Gyarados: ")
