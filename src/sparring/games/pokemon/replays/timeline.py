"""Where a spectator's log holds decisions, and what both sides did there, as far as it shows.

Showdown writes an empty line (a `mark`) whenever choices have been made and it goes on. A player who chose before a
mark had seen the lines before it and nothing else, so decisions are cut at marks: team preview, each turn, and every
replacement inside a turn. Sides that choose at the same mark share a `Decision`; neither sees what the other chose.

What was chosen is read from the lines that follow. Pokémon are followed by `Stint`, from coming in to leaving, so that
neither a swap of places nor an illusion that ends later confuses whose move it was.
"""

from collections.abc import Sequence

from sparring.core.replays import Rejected
from sparring.games.pokemon.replays.course import Course
from sparring.games.pokemon.replays.deeds import Did, Kind, Timeline
from sparring.games.pokemon.replays.handlers import HANDLERS
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.tracking.tables import Tables


def read_timeline(lines: Sequence[list[str]], tables: Tables) -> Timeline:
    """Reads a log whose `lines` are split at `|`; raises `Rejected` if it is no whole battle."""
    course = Course(lines, tables)
    for at, parts in enumerate(lines):
        handler = HANDLERS.get(parts[1]) if len(parts) > 1 else None
        if handler is not None:
            course.at = at
            try:
                handler(course, parts)
            except (LookupError, ValueError) as error:
                raise Rejected(Reason.MALFORMED, f"line {at + 1}: {'|'.join(parts)[:80]!r}") from error
    if course.players.winner is None:
        raise Rejected(Reason.UNFINISHED, "no winner is named")
    if not course.started:
        raise Rejected(Reason.UNFINISHED, "the battle never began")
    _drop_unanswered(course)
    for side in course.sides:
        side.order()
    return Timeline(
        generation=course.generation,
        places=course.places,
        teams=(course.sides[0].members, course.sides[1].members),
        sizes=[side.size or len(side.members) for side in course.sides],
        names=course.players.names,
        ratings=course.players.ratings,
        decisions=course.decisions,
        corrections=(course.sides[0].corrections, course.sides[1].corrections),
        transforms=course.transforms,
        winner=course.players.winner,
        forfeited=course.players.forfeited,
        turns=course.turn,
    )


def _drop_unanswered(course: Course) -> None:
    """Leaves out a last turn of which the log shows nothing: the battle was given up."""
    last = course.turns
    if not course.decisions or last is not course.decisions[-1] or last.kind is not Kind.TURN:
        return
    deeds = [deed for side in last.deeds for deed in side or () if deed is not None]
    shown = any(deed.did is not Did.UNKNOWN or deed.gimmick for deed in deeds)
    if not shown and not any(len(parts) > 1 and _happens(parts[1]) for parts in course.lines[last.line :]):
        course.decisions.pop()


def _happens(kind: str) -> bool:
    """Whether lines of a kind tell of the battle: choices were made, even if what hurts itself never gets to act."""
    return kind == "faint" or (kind.startswith("-") and kind not in ("-message", "-hint"))
