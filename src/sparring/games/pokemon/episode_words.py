"""Battles on disk in words: what a side saw, what it could do and did; see `sparring.core.words`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Episodes, GameSpec, InputError
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import ActionSpace, action_space, gimmicks_of
from sparring.games.pokemon.actions.offer import CALLED, FIGHT, RECHARGE, STRUGGLE
from sparring.games.pokemon.battle_view import BattleView
from sparring.games.pokemon.columns import SLOTS, TEAM, Status
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.sight import Sight, aligned

Row = Mapping[str, Array]
"""The fields of one decision's observation."""

_MOST_NAMES = 8
"""More pairs of orders, or ways to bring a team, than this are told by what they are made of."""


class PokemonWords:
    """The words for battles of one format."""

    def __init__(self, spec: GameSpec) -> None:
        id = str(spec.settings["format"])
        self._space = _space(id, spec.actions)
        try:
            dex = load_dex(find_format(id).tables)
        except InputError:  # a format that the simulator no longer has
            dex = load_dex(int(id[3]) if id[3:4].isdigit() else 9)
        self._sight = Sight(dex, self._space)
        self._switches = _switches(self._space)

    def position(self, row: Row, *, seat: int = 0, before: Row | None = None) -> list[str]:
        """The turn, the field and both sides; in team preview the own team."""
        view = BattleView(row)
        field = view.field
        if field.preview:
            members = aligned([self._sight.member(pokemon) for pokemon in view.own.team if pokemon.species])
            foes = [self._sight.species(pokemon) for pokemon in view.foe.team]
            return ["Team preview", "You:", *(f"  {member}" for member in members), f"Foe: {_listed(foes)}"]
        asked = "a replacement is asked for" if field.forced else ""
        return [", ".join(filter(None, (f"Turn {field.turn}", asked))), *self._sight.position(view)]

    def actions(self, row: Row, legal: NDArray[np.bool_], among: NDArray[np.bool_], *, seat: int = 0) -> list[str]:
        """Names of actions; many pairs of orders are told as what each Pokémon may do."""
        numbers = np.flatnonzero(among).tolist()
        if row["field"][c.FIELD_PREVIEW]:
            return self._previews(row, numbers)
        names = [self._names(row, place, legal) for place in range(self._space.active)]
        if self._space.active == 1:
            return [names[0][action] for action in numbers]
        count = self._space.orders.count
        if len(numbers) <= _MOST_NAMES:
            return [f"{names[0][action // count]} + {names[1][action % count]}" for action in numbers]
        pairs = among[: self._space.joint].reshape(count, count)
        orders = [np.flatnonzero(pairs.any(axis=1 - place)).tolist() for place in range(SLOTS)]
        return [f"{len(numbers)} pairs"] + [
            f"{self._sight.name_of(active) or 'nobody'}: {_listed(names[place][one] for one in orders[place])}"
            for place, active in enumerate(BattleView(row).own.active)
        ]

    def kinds(self, episodes: Episodes) -> Counter[str]:
        """Orders by kind (in doubles two an action): moves, gimmicks, switches, replacements, passes, previews."""
        field, action = episodes.steps.observation["field"], episodes.steps.action
        known, preview = action >= 0, field[:, c.FIELD_PREVIEW] > 0
        counts = Counter({"preview": int((known & preview).sum())})
        orders = self._space.orders
        names = ("move", "switch", "replacement", "pass", *self._space.gimmicks)
        kind = np.select([orders.switch >= 0, orders.move < 0, orders.gimmick > 0], [1, 3, 3 + orders.gimmick], 0)
        chosen = action[known & ~preview]
        forced = field[known & ~preview, c.FIELD_FORCED] > 0
        for place in [chosen] if self._space.active == 1 else divmod(chosen, orders.count):
            kinds = np.where((kind[place] == 1) & forced, 2, kind[place])
            for name, number in zip(names, np.bincount(kinds, minlength=len(names)).tolist(), strict=True):
                counts[name] += number
        return +counts

    @property
    def choices(self) -> Sequence[str]:
        """Moves, switches, replacements of Pokémon that fainted or had to leave, and team previews."""
        return ("move", "switch", "replacement", "preview")

    def choice_kinds(self, observation: Mapping[str, Array], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """`intp[r]` the kind of each choice; in doubles a pair of orders is a switch if one of them is."""
        switches = (chosen & self._switches).any(axis=1)
        moves = (chosen & ~self._switches).any(axis=1)
        field = observation["field"]
        preview, forced = field[:, c.FIELD_PREVIEW] > 0, field[:, c.FIELD_FORCED] > 0
        kinds: NDArray[np.intp] = np.select([preview, forced, moves & switches, switches], [3, 2, -1, 1], 0)
        return kinds

    def named(self, episodes: Episodes) -> Mapping[str, Counter[str]]:
        """The species of the own team, as it was at the first decision."""
        teams = episodes.steps.observation["pokemon_ids"][episodes.starts, :TEAM, c.POKEMON_ID_SPECIES]
        found: Counter[str] = Counter()
        for team in teams.tolist():
            found.update({self._sight.named(number) for number in team if number})
        return {"species": found}

    def _names(self, row: Row, place: int, legal: NDArray[np.bool_]) -> list[str]:
        """The names of all orders of a place."""
        orders = self._space.orders
        pairs = legal[: self._space.joint].reshape(orders.count, -1)
        allowed: NDArray[np.bool_] = np.asarray(pairs.any(axis=1 - place))
        only = int((orders.move[allowed] >= 0).sum()) == 1
        locked = _outside(row, place) if only else 0
        view = BattleView(row)
        return [self._sight.name(view, place, order, locked=locked) for order in range(orders.count)]

    def _previews(self, row: Row, actions: list[int]) -> list[str]:
        picks = [self._pick(action) for action in actions]
        leads = self._space.active
        team = BattleView(row).own.team
        name = [self._sight.species(pokemon) or f"slot {slot + 1}" for slot, pokemon in enumerate(team)]
        if len(picks) > _MOST_NAMES:
            first = sorted({slot for pick in picks for slot in pick[:leads]})
            behind = sorted({slot for pick in picks for slot in pick[leads:]})
            told = [f"{len(picks)} ways", f"lead {leads} of {_listed(name[slot] for slot in first)}"]
            more = len(picks[0]) - leads
            return [*told, f"bring {more} of {_listed(name[slot] for slot in behind)}"] if more else told
        return [
            f"lead {_listed(name[slot] for slot in pick[:leads])}"
            + (f", bring {_listed(name[slot] for slot in pick[leads:])}" if pick[leads:] else "")
            for pick in picks
        ]

    def _pick(self, action: int) -> tuple[int, ...]:
        """The team slots that an action of team preview names, the leads first."""
        space = self._space
        if space.preview is not None and action >= space.joint:
            return space.preview.picks[action - space.joint]
        return tuple(int(space.orders.switch[order]) for order in space.orders_of(action))


def _outside(row: Row, place: int) -> int:
    """What a Pokémon with one order left does outside of its list of moves, as offers say it; 0 if it uses a move."""
    active, at = row["active"][place], int(row["active_ids"][place, c.ACTIVE_ID_POKEMON]) - 1
    known = row["active_move_ids"][place] > 0
    if active[c.ACTIVE_RECHARGING]:
        return RECHARGE
    if row["active_ids"][place, c.ACTIVE_ID_PREPARED_MOVE]:
        return CALLED
    if known.any() and not row["active_moves"][place, known, c.MOVE_PP].any():
        return STRUGGLE
    helpless = active[c.ACTIVE_BOUND] or row["pokemon_ids"][at, c.POKEMON_ID_STATUS] in (Status.SLEEP, Status.FREEZE)
    return FIGHT if helpless and round(float(row["field"][c.FIELD_GENERATION]) * 9) == 1 else 0


def _switches(space: ActionSpace) -> NDArray[np.bool_]:
    """`bool[actions]` which actions send somebody in."""
    switch = space.orders.switch >= 0
    pairs = switch if space.active == 1 else (switch[:, None] | switch).reshape(-1)
    return np.concatenate((pairs, np.zeros(space.actions - space.joint, np.bool_)))


def _space(format: str, actions: int) -> ActionSpace:
    """The action space of a format, which the simulator may no longer have: then the one with as many actions."""
    try:
        return action_space(find_format(format))
    except InputError:
        for active in (1, 2):
            for bring in (None, *range(active, TEAM)):
                space = ActionSpace(active, gimmicks_of(format), bring=bring)
                if space.actions == actions:
                    return space
        raise InputError(f"{format}: {actions} actions are those of no kind of battle") from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name for name in names if name)
