"""A person at the terminal as a player: is told the battle in words, and chooses moves and switches by number."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Arena, Decisions, InputError
from sparring.core.by_hand import Course, Keyboard, Resigned
from sparring.games.pokemon.actions import ActionSpace, action_space
from sparring.games.pokemon.actions.offer import FORCED, KIND, LOCKED, PLACE_AT, PREVIEW, REVIVING, SIZE
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.battle_view import BattleView
from sparring.games.pokemon.damage import DamageEstimate
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.sight import MOVE_COLUMNS, Sight, aligned
from sparring.games.pokemon.simulator import SEAT_NAMES
from sparring.games.pokemon.terminal import print_battle
from sparring.games.pokemon.words import Narrator

_SIDES = ("p1", "p2")
_HELP = """\
Type {allowed}. Other words:
  resign  give the battle up
  quit    leave; so does Ctrl-D
takes: how much of the foe's full HP a hit takes; x2, x0.5: what the foe's types make of it; KO: it knocks the foe out;
?: what the foe has dealt comes back.
hits%: how often the move hits, if not always; PP: how often it can still be used."""
_BACK = -1


class HumanPlayer:
    """Asks for each row's choice until it is legal. `EOFError` from `ask` (the end of the input) goes to the caller."""

    def __init__(
        self,
        settings: PokemonSettings,
        *,
        ask: Callable[[str], str] | None = None,
        tell: Callable[[str], None] = print_battle,
    ) -> None:
        format = find_format(settings.format, settings.showdown)
        dex = load_dex(format.tables, format.showdown)
        self._space: ActionSpace = action_space(format)
        self._estimate = DamageEstimate(format)
        self._sight = Sight(dex, self._space)
        self._ask = ask or Keyboard()
        self._tell = tell
        self._arena: PokemonArena | None = None
        self._seats: dict[tuple[int, int], _Seated] = {}
        self._course: Course | None = None
        self._invited = False

    def sit(self, course: Course) -> None:
        """See `sparring.core.by_hand.Seated`: from now on the battle can be given up."""
        self._course = course

    def attend(self, arena: Arena) -> None:
        """See `sparring.core.Attending`: rows do not say what happened, the arena's protocol lines do."""
        if not isinstance(arena, PokemonArena):
            raise InputError("human: a person can only be asked about battles of this process, without workers")
        self._arena = arena
        arena.listen(self._hear, self._hear_end)

    def act(self, decisions: Decisions) -> Answers:
        """One question a row, or one a Pokémon in doubles, after what has happened since the last."""
        action = np.empty(len(decisions), np.int32)
        for number, key in enumerate(zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True)):
            seated = self._seats.get(key)
            if seated is None or self._arena is None:
                raise InputError("human: a person can only be asked about battles whose arena they attend")
            seated.asked = True
            view = BattleView(decisions.observation, number)
            legal = decisions.legal[number]
            offer = self._arena.tracker(*key).offer
            ranges = self._estimate.ranges(decisions.observation, number)  # compiles before anything is told
            self._narrate(seated)
            if offer[KIND] == PREVIEW:
                action[number] = self._preview(view, offer[SIZE], legal)
            else:
                action[number] = self._orders(view, ranges, offer, legal)
        return Answers(action=action)

    def _hear(self, match: int, seat: int, first: bool, lines: str, request: dict[str, Any]) -> None:
        if first:
            self._seats[match, seat] = _Seated(seat)
        self._seats[match, seat].lines += lines.split("\n")

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

    def _orders(self, view: BattleView, ranges: NDArray[np.float64], offer: bytearray, legal: NDArray[np.bool_]) -> int:
        """The action of a turn, or of a forced switch; a turn has just been announced."""
        if offer[KIND] == FORCED:
            self._tell("")
        for line in self._sight.position(view):
            self._tell(line)
        count = self._space.orders.count
        if self._space.active == 1:
            return self._order(view, ranges, offer, 0, legal[:count], may_go_back=False)
        pairs = legal[: count * count].reshape(count, count)
        lefts: NDArray[np.bool_] = np.asarray(pairs.any(axis=1))
        while True:
            left = self._order(view, ranges, offer, 0, lefts, may_go_back=False)
            right = self._order(view, ranges, offer, 1, pairs[left], may_go_back=int(lefts.sum()) > 1)
            if right != _BACK:
                return left * count + right

    def _order(
        self,
        view: BattleView,
        ranges: NDArray[np.float64],
        offer: bytearray,
        place: int,
        legal: NDArray[np.bool_],
        *,
        may_go_back: bool,
    ) -> int:
        """The order of the Pokémon at `place`; -1 to go back. Where there is no choice, nothing is asked.

        Orders with a gimmick have a number only where the same order without it is not there to add the word to.
        """
        orders = self._space.orders
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
        if len(options) == 1 and not extra:
            name = self._sight.name(view, place, options[0], locked=offer[PLACE_AT[place] + LOCKED])
            if name != "pass":
                self._tell(f"Only one choice: {name}.")
            return options[0]
        words = sorted({gimmick for _, gimmick in extra})
        who = f"For {self._sight.name_of(view.own.active[place])}" if self._space.active > 1 else "You may"
        if offer[KIND] == FORCED:
            who = "Revive" if any(offer[at + REVIVING] for at in PLACE_AT) else "Send in"
        rows = [self._sight.order(view, ranges, offer, place, order) for order in options]
        for row, order in zip(rows, options, strict=True):
            some = [
                word for word in words if (order, word) in extra and sum(of == word for _, of in extra) < len(plain)
            ]
            row += [f"[{word}]" for word in some]
        self._list(who, rows, [int(orders.switch[order]) >= 0 for order in options])
        allowed = f"a number from 1 to {len(options)}"
        allowed += "".join(f", or with {word!r} after a move's number" for word in words)
        allowed += ", or 'back'" if may_go_back else ""
        if words or may_go_back:
            self._tell(f"Type {allowed}.")
        self._invite()
        while True:
            text = self._typed(allowed).lower()
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
            self._tell(f"{text!r} is no choice; type {allowed}, or help.")

    def _list(self, who: str, rows: Sequence[Sequence[str]], switches: Sequence[bool]) -> None:
        """The numbered choices, in columns: what the Pokémon can do, and below it who else can come in."""
        numbered = [[f"  {number:>2}", *row] for number, row in enumerate(rows, 1)]
        stay = [row for row, switch in zip(numbered, switches, strict=True) if not switch]
        leave = [row for row, switch in zip(numbered, switches, strict=True) if switch]
        if stay:
            heading, *lines = aligned([["    ", "", *MOVE_COLUMNS], *stay])
            self._tell(f"{who}:{heading[len(who) + 1 :]}")
            for line in lines:
                self._tell(line)
        if leave:
            self._tell("Or switch to:" if stay else f"{who}:")
            for line in aligned(leave):
                self._tell(line)

    def _preview(self, view: BattleView, size: int, legal: NDArray[np.bool_]) -> int:
        """The action of a team preview: who leads and, where only some are brought, who comes along."""
        leads, space = self._space.active, self._space
        wanted = min(size, len(space.preview.picks[0]) if space.preview else leads)
        self._list("Your team", [self._sight.member(view.own.team[slot]) for slot in range(size)], [True] * size)
        lead = "the lead" if leads == 1 else "the two leads"
        allowed = f"a number from 1 to {size}: {lead}"
        if wanted > 1:
            example = " ".join(map(str, [*range(size, size - leads, -1), *range(1, size)][:wanted]))
            who = f"{lead} first" if wanted > leads else lead
            allowed = f"{wanted} numbers from 1 to {size} with spaces between them, {who}, such as {example}"
        self._tell(f"Type {allowed}; or help.")
        if leads > 1:
            self._tell("Of the two leads, the one that is higher in the list stands on the left.")
        while True:
            text = self._typed(allowed)
            words = text.replace(",", " ").split()
            picked = [int(word) - 1 for word in words if word.isdecimal()]
            if len(picked) == wanted == len(words) == len(set(picked)):
                action = space.preview_action(picked, size)
                if action is not None and legal[action]:
                    return action
            self._tell(f"{text!r} is no choice; type {allowed}; or help.")

    def _invite(self) -> None:
        """Says, below the first list, what to do with it."""
        if self._course is not None and not self._invited:
            self._tell("Type the number of a choice, or help.")
            self._invited = True

    def _typed(self, allowed: str) -> str:
        """What the person types next, unless it is help or a wish to leave; `allowed` says what makes a choice."""
        while True:
            try:
                text = self._ask("Your choice: ").strip()
            except EOFError:
                self._tell("")  # ends the prompt's line
                raise
            match text.lower():
                case "help" | "?":
                    self._tell(_HELP.format(allowed=allowed))
                case "quit":
                    raise EOFError
                case "resign" if self._course is not None:
                    raise Resigned
                case _:
                    return text


class _Seated:
    """What one seat was told."""

    def __init__(self, seat: int) -> None:
        self.narrator = Narrator(dict(zip(_SIDES, SEAT_NAMES, strict=True)), you=_SIDES[seat])
        self.lines: list[str] = []
        self.asked = False


def human_player(settings: PokemonSettings, seed: int) -> HumanPlayer:
    """The built-in player `human`; whoever sits there needs no seed."""
    return HumanPlayer(settings)
