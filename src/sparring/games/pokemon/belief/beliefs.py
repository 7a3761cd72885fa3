"""What both teams of a battle probably are, as its lines are read."""

from collections.abc import Iterable

from sparring.games.pokemon.belief.choosing import Habit
from sparring.games.pokemon.belief.evidence import Watcher
from sparring.games.pokemon.belief.notes import Attack, Known
from sparring.games.pokemon.belief.posterior import Posterior, infer
from sparring.games.pokemon.belief.rules import showing
from sparring.games.pokemon.belief.sets import SetPool
from sparring.games.pokemon.belief.weighing import Hit, Likelihoods, Snapshot, Weighing, relative
from sparring.games.pokemon.columns import SLOTS
from sparring.games.pokemon.formats import Format


class Beliefs:
    """The posteriors of both teams, as far as lines have been read."""

    def __init__(self, format: Format, pool: SetPool, *, weighing: Weighing | None = None) -> None:
        """`weighing` has damage and the order of moves count too; it may serve many battles of the format."""
        self.pool = pool
        self._weighing = weighing if format.active == 1 else None
        self._rules = showing(format.tables, format.showdown)
        self.watcher = Watcher(format, None if self._weighing is None else self)
        self._first: tuple[int, int, int, Snapshot] | None = None
        """Who moved first this turn (place, row, move), and how things stood then."""
        self._asked: Snapshot | None = None
        """How things stood as this turn's moves were chosen."""
        self._habits = Habit(), Habit()
        """Of both players."""
        self._compared: set[tuple[object, ...]] = set()
        """Comparisons of speed that have been made, and choices: made again they say nothing new."""
        self._found: dict[int, tuple[object, Posterior]] = {}
        """By row: what was known at the last question, and the answer."""

    def read(self, lines: Iterable[list[str]]) -> None:
        """Reads lines that are split at `|`."""
        self.watcher.read(lines)

    def of(self, row: int) -> Posterior | None:
        """Of the Pokémon in `row` (see `evidence`); None while nobody has shown there."""
        known = self.watcher.known(row)
        if not known.species:
            return None
        state = (known, self.watcher.noted(row))
        before = self._found.get(row)
        if before is not None and before[0] == state:
            return before[1]
        candidates = self.pool.candidates(known.species, known.level, forme_shown=known.seen)
        found = infer(candidates, self.watcher.facts(row), known)
        self._found[row] = (state, found)
        return found

    # What the watcher tells of moves.

    def turn(self) -> None:
        """See `Listener`."""
        self._first = None
        self._asked = Snapshot(self.watcher.tracker)

    def moved(self, place: int, row: int, move: int) -> None:
        """See `Listener`: the choice tells what its user has, the second move of a turn who was faster."""
        self._choose(place, row, move)
        self._compare(place, row, move)

    def _choose(self, place: int, row: int, move: int) -> None:
        snapshot, foe = self._asked, SLOTS - place
        if snapshot is None or snapshot.row(place) != row or snapshot.row(foe) < 0 or self._weighing is None:
            return
        key = (row, snapshot.row(foe), *snapshot.strength(place, foe))
        both = self.of(row), self.of(snapshot.row(foe))
        if key in self._compared or both[0] is None or both[1] is None or not self.watcher.free_to_choose(place):
            return
        self._compared.add(key)
        choice = self._weighing.choice(snapshot, move, (place, foe), (both[0], both[1]))
        if choice is not None:
            habit = self._habits[place // SLOTS]
            self.watcher.weigh(row, relative(choice.sets, choice.weights, habit.likelihood(choice)))
            habit.learn(choice)

    def _compare(self, place: int, row: int, move: int) -> None:
        if self._first is None:
            self._first = (place, row, move, Snapshot(self.watcher.tracker))
            return
        first_place, first_row, first_move, snapshot = self._first
        known = self.watcher.known(row), self.watcher.known(first_row)
        priority = self.watcher.tracker.tables.dex.move_priority
        if (
            first_place // SLOTS == place // SLOTS
            or snapshot.row(place) != row
            or priority[first_move] != priority[move]
            or any(self._jumps_the_queue(one, used) for one, used in zip(known, (move, first_move), strict=True))
        ):
            return
        key = (first_row, row, *snapshot.pace(first_place), *snapshot.pace(place), *snapshot.field_pace())
        both = self.of(first_row), self.of(row)
        if key in self._compared or both[0] is None or both[1] is None or self._weighing is None:
            return
        self._compared.add(key)
        self._note((first_row, row), self._weighing.order(snapshot, (first_place, place), (both[0], both[1])))

    def hit(self, attack: Attack, place: int, row: int, after: float) -> None:
        """See `Listener`: how much a move did tells of both."""
        snapshot = Snapshot(self.watcher.tracker)
        before = snapshot.hp(place)
        both = self.of(attack.row), self.of(row)
        if not attack.plain or not before or both[0] is None or both[1] is None or self._weighing is None:
            return
        hit = Hit(attack.move, before, after)
        self._note((attack.row, row), self._weighing.damage(snapshot, hit, (attack.place, place), (both[0], both[1])))

    def _note(self, rows: tuple[int, int], likelihoods: tuple[Likelihoods, Likelihoods] | None) -> None:
        for row, by_set in zip(rows, likelihoods or (), strict=False):
            self.watcher.weigh(row, by_set)

    def _jumps_the_queue(self, known: Known, move: int) -> bool:
        """Whether something else than speed may decide when it moves."""
        return move in self._rules.moves_out_of_order or self._rules.may_have(
            known.species, self._rules.abilities_out_of_order
        )
