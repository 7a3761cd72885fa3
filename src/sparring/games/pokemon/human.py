"""A person at the terminal as a player: is told the battle in words, and chooses moves and switches by number."""

import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Arena, Decisions, InputError
from sparring.games.pokemon.actions import ActionSpace, TeamSlots, action_space
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.damage import DamageEstimate
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.sight import Row, Sight
from sparring.games.pokemon.simulator import SEAT_NAMES
from sparring.games.pokemon.words import Narrator

_SIDES = ("p1", "p2")
_BACK = -1


class _HasFormat(Protocol):
    @property
    def format(self) -> str:
        """The id or name of the format."""
        ...


def print_wrapped(text: str) -> None:
    """Prints; on a terminal that is too narrow a line goes on below the beginning of its last column."""
    width = shutil.get_terminal_size().columns
    for line in text.split("\n"):
        if len(line) <= width or not sys.stdout.isatty():
            print(line)
            continue
        columns = [found.end() for found in re.finditer(r"(^|\S)  +", line) if found.end() <= width - 30]
        print(textwrap.fill(line, width, subsequent_indent=" " * (columns or [2])[-1]))


class HumanPlayer:
    """Asks for each row's choice until it is legal. `EOFError` from `ask` (the end of the input) goes to the caller."""

    def __init__(
        self, settings: _HasFormat, *, ask: Callable[[str], str] = input, tell: Callable[[str], None] | None = None
    ) -> None:
        format = find_format(settings.format)
        dex = load_dex(format.generation)
        self._space: ActionSpace = action_space(format)
        self._estimate = DamageEstimate(format)
        self._sight = Sight(dex, self._space)
        self._ask = ask
        self._tell = tell or print_wrapped
        self._seats: dict[tuple[int, int], _Seated] = {}

    def attend(self, arena: Arena) -> None:
        """See `sparring.core.Attending`: rows do not say what happened, the arena's protocol lines do."""
        if not isinstance(arena, PokemonArena):
            raise InputError("human: a person can only be asked about battles of this process, without workers")
        arena.listen(self._hear, self._hear_end)

    def act(self, decisions: Decisions) -> Answers:
        """One question a row, or one a Pokémon in doubles, after what has happened since the last."""
        action = np.empty(len(decisions), np.int32)
        for number, key in enumerate(zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True)):
            seated = self._seats.get(key)
            if seated is None:
                raise InputError("human: a person can only be asked about battles whose arena they attend")
            seated.asked = True
            self._narrate(seated)
            row = {name: field[number] for name, field in decisions.observation.items()}
            legal = decisions.legal[number]
            if "teamPreview" in seated.request:
                action[number] = self._preview(seated, legal)
            else:
                ranges = self._estimate.ranges(decisions.observation, number)
                action[number] = self._orders(seated, row, ranges, legal)
        return Answers(action=action)

    def _hear(self, match: int, seat: int, first: bool, lines: str, request: dict[str, Any]) -> None:
        if first:
            self._seats[match, seat] = _Seated(seat)
        self._seats[match, seat].hear(lines, request)

    def _hear_end(self, match: int, lines: tuple[str, str]) -> None:
        for seat in range(len(lines)):
            seated = self._seats.pop((match, seat), None)
            if seated is not None and seated.asked:
                seated.lines += lines[seat].split("\n")
                self._narrate(seated)

    def _narrate(self, seated: "_Seated") -> None:
        """What the seat was told since the last time, but for who won: whoever started the match says that."""
        for line in seated.lines:
            told = "" if line.startswith(("|win|", "|tie")) else seated.narrator.tell(line)
            if told:
                self._tell(f"\n{told}" if line.startswith("|turn|") else f"  {told}" if line[1] == "-" else told)
        seated.lines.clear()

    def _orders(self, seated: "_Seated", row: Row, ranges: NDArray[np.float64], legal: NDArray[np.bool_]) -> int:
        """The action of a turn, or of a forced switch."""
        self._tell("")
        for line in self._sight.position(row):
            self._tell(line)
        count = self._space.orders.count
        if self._space.active == 1:
            return self._order(seated, row, ranges, 0, legal[:count], may_go_back=False)
        pairs = legal[: count * count].reshape(count, count)
        lefts: NDArray[np.bool_] = np.asarray(pairs.any(axis=1))
        while True:
            left = self._order(seated, row, ranges, 0, lefts, may_go_back=False)
            right = self._order(seated, row, ranges, 1, pairs[left], may_go_back=int(lefts.sum()) > 1)
            if right != _BACK:
                return left * count + right

    def _order(
        self,
        seated: "_Seated",
        row: Row,
        ranges: NDArray[np.float64],
        place: int,
        legal: NDArray[np.bool_],
        *,
        may_go_back: bool,
    ) -> int:
        """The order of the Pokémon at `place`; -1 to go back. Where there is no choice, nothing is asked.

        Orders with a gimmick have a number only where the same order without it is not there to add the word to.
        """
        orders, request = self._space.orders, seated.request
        plain = {
            (int(orders.move[order]), int(orders.target[order])): int(order)
            for order in np.flatnonzero(legal & (orders.gimmick == 0) & (orders.move >= 0))
        }
        options, extra = [], dict[tuple[int, str], int]()
        for order in np.flatnonzero(legal).tolist():
            gimmick = int(orders.gimmick[order])
            base = plain.get((int(orders.move[order]), int(orders.target[order]))) if gimmick else None
            if base is None:
                options.append(order)
            else:
                extra[base, self._space.gimmicks[gimmick - 1]] = order
        texts = [self._sight.order(row, ranges, request, seated.order, place, order) for order in options]
        if len(options) == 1 and not extra:
            if texts[0] != "pass":
                self._tell(f"Only one choice: {texts[0]}")
            return options[0]
        words = sorted({gimmick for _, gimmick in extra})
        who = f"For {self._sight.name_at(row, place)}" if self._space.active > 1 else "You may"
        if "forceSwitch" in request:
            who = "Revive" if any(entry.get("reviving") for entry in request["side"]["pokemon"]) else "Send in"
        self._tell(f"{who}:")
        for number, (order, text) in enumerate(zip(options, texts, strict=True), 1):
            some = [
                word for word in words if (order, word) in extra and sum(of == word for _, of in extra) < len(plain)
            ]
            self._tell(f"  {number:>2}  {text}{''.join(f' [{word}]' for word in some)}")
        allowed = f"a number from 1 to {len(options)}"
        allowed += "".join(f", or with {word!r} after a move's number" for word in words)
        allowed += ", or 'back'" if may_go_back else ""
        if words or may_go_back:
            self._tell(f"Type {allowed}.")
        while True:
            text = self._typed().lower()
            if may_go_back and text == "back":
                return _BACK
            number_text, _, word = text.partition(" ")
            if number_text.isdecimal() and 1 <= int(number_text) <= len(options):
                order = options[int(number_text) - 1]
                named = [gimmick for gimmick in words if word and gimmick.startswith(word.strip())]
                if not word:
                    return order
                if named and (order, named[0]) in extra:
                    return extra[order, named[0]]
            self._tell(f"{text!r} is no choice; type {allowed}.")

    def _preview(self, seated: "_Seated", legal: NDArray[np.bool_]) -> int:
        """The action of a team preview: who leads and, where only some are brought, who comes along."""
        team = seated.request["side"]["pokemon"]
        leads, space = self._space.active, self._space
        wanted = min(len(team), len(space.preview.picks[0]) if space.preview else leads)
        self._tell("Your team:")
        for number, entry in enumerate(team, 1):
            self._tell(f"  {number:>2}  {self._sight.member(entry)}")
        allowed = f"{wanted} different number{'' if wanted == 1 else 's'} from 1 to {len(team)}"
        if wanted > 1:
            allowed += f", apart from each other, the {'lead' if leads == 1 else 'leads'} first"
        self._tell(f"Type who {'comes along' if wanted > leads else 'leads'}: {allowed}.")
        while True:
            text = self._typed()
            picked = [int(word) - 1 for word in text.replace(",", " ").split() if word.isdecimal()]
            if len(picked) == wanted == len(text.replace(",", " ").split()) == len(set(picked)):
                action = self._preview_action(picked, len(team))
                if action is not None and legal[action]:
                    return action
            self._tell(f"{text!r} is no choice; type {allowed}.")

    def _typed(self) -> str:
        """What the person types next; at the end of the input the prompt's line is ended too."""
        try:
            return self._ask("Your choice: ").strip()
        except EOFError:
            self._tell("")
            raise

    def _preview_action(self, picked: Sequence[int], size: int) -> int | None:
        """The action that brings the team slots `picked`; order within leads and within the rest does not matter."""
        space, leads = self._space, sorted(picked[: self._space.active])
        if space.preview is None:
            action = 0
            for slot in leads:
                action = action * space.orders.count + space.orders.first_switch + slot
            return action
        missing = range(size, len(space.preview.picks[0]))  # a small team brings all it has
        pick = (*leads, *sorted([*picked[self._space.active :], *missing]))
        if pick not in space.preview.picks:
            return None
        return int(space.orders.count**space.active) + space.preview.picks.index(pick)


class _Seated:
    """What one seat was told and is asked."""

    def __init__(self, seat: int) -> None:
        self.narrator = Narrator(dict(zip(_SIDES, SEAT_NAMES, strict=True)), you=_SIDES[seat])
        self.lines: list[str] = []
        self.request: dict[str, Any] = {}
        self.order: list[int] = []
        """The team slot of each Pokémon of the request."""
        self.asked = False
        self._slots = TeamSlots()

    def hear(self, lines: str, request: dict[str, Any]) -> None:
        """New lines, and the request that ends them."""
        self.lines += lines.split("\n")
        self.request = request
        self.order = self._slots.order(request)


def human_player(settings: _HasFormat, seed: int) -> HumanPlayer:
    """The built-in player `human`; whoever sits there needs no seed."""
    return HumanPlayer(settings)
