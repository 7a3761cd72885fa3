"""What each kind of line of a spectator's log says of a battle's course: one function a kind, in `HANDLERS`.

Each reads a line that is split at `|`, and raises `LookupError` or `ValueError` if that names no place or Pokémon.
"""

from collections.abc import Callable, Mapping

from sparring.core.replays import Rejected
from sparring.games.pokemon.columns import SLOTS, TEAM
from sparring.games.pokemon.replays.course import SIDES, Course
from sparring.games.pokemon.replays.deeds import Deed, Did, Kind
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.tracking.sources import tags
from sparring.games.pokemon.tracking.tables import effect_id

_GIMMICKS = {"-terastallize": "terastallize", "-mega": "mega", "-burst": "mega", "-zpower": "zmove"}
_DRAWING = frozenset(("followme", "ragepowder", "spotlight", "lightningrod", "stormdrain"))
"""Effects that draw moves to another target than was chosen."""
_DESYNC = "In Gen 1, if both players would see the same Pokémon using different moves"
_SMART = frozenset(("Dragon Darts",))
"""Moves that find another target if theirs cannot be hit."""


def _on_player(course: Course, parts: list[str]) -> None:
    if parts[2] in ("p3", "p4"):
        raise Rejected(Reason.GAME_TYPE, "more than two players; singles and doubles can be read")
    course.players.introduce(SIDES[parts[2]], parts)


def _on_teamsize(course: Course, parts: list[str]) -> None:
    course.sides[SIDES[parts[2]]].size = int(parts[3])


def _on_gametype(course: Course, parts: list[str]) -> None:
    if parts[2] not in ("singles", "doubles"):
        raise Rejected(Reason.GAME_TYPE, f"{parts[2]}; singles and doubles can be read")
    course.places = 2 if parts[2] == "doubles" else 1


def _on_gen(course: Course, parts: list[str]) -> None:
    course.generation = int(parts[2])


def _on_clearpoke(course: Course, parts: list[str]) -> None:
    """A team preview begins; a log that was joined again has two of them."""
    if not course.started:
        for side in course.sides:
            side.forget()


def _on_poke(course: Course, parts: list[str]) -> None:
    side = course.sides[SIDES[parts[2]]]
    if len(side.members) == TEAM:
        raise Rejected(Reason.TEAM_SIZE, f"more than {TEAM} Pokémon in a team")
    side.preview(parts[3])


def _on_teampreview(course: Course, parts: list[str]) -> None:
    for side in course.sides:
        side.size = int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else side.size
    course.turns = course.decide(Kind.PREVIEW, course.at + 1, ([None] * SLOTS, [None] * SLOTS))


def _on_start(course: Course, parts: list[str]) -> None:
    course.started = True


def _on_mark(course: Course, parts: list[str]) -> None:
    if len(parts) == 2 and not parts[1]:
        course.mark = course.at
        course.turn_marks += 1
        course.replacing = None


def _on_turn(course: Course, parts: list[str]) -> None:
    if course.turn and not course.turn_marks:
        raise Rejected(Reason.MALFORMED, f"line {course.at + 1}: no empty line marks the choices of turn {course.turn}")
    course.turn = int(parts[2])
    course.turn_marks = 0
    course.ending = False
    course.mover = None
    course.desynced = False
    deeds: list[list[Deed | None] | None] = []
    for side in course.sides:
        told: list[Deed | None] = []
        side.drawn = any(stint is None or stint.out for stint in side.at[: course.places])
        for stint in side.at:
            deed = None if stint is None or stint.out else Deed(by=stint)
            if stint is not None:
                stint.deed = deed
            told.append(deed)
        deeds.append(told)
    course.turns = course.decide(Kind.TURN, course.at + 1, deeds)


def _on_upkeep(course: Course, parts: list[str]) -> None:
    course.ending = True


def _on_switch(course: Course, parts: list[str]) -> None:
    side, place = course.place(parts[2])
    stint = course.arrive(side, parts)
    leaving, side.at[place] = side.at[place], stint
    number = course.sides.index(side)
    if not course.turn:
        if leaving is None:
            side.lead(stint)
        if course.turns is not None and course.turns.kind is Kind.PREVIEW:
            leads = course.turns.deeds[number]
            assert leads is not None
            leads[place] = Deed(Did.SWITCH, stint=stint)
    elif leaving is not None and leaving.out and leaving.member is stint.member and stint.member.revived:
        pass  # revived where it fell, it comes back to its place by itself
    elif parts[1] == "switch":
        deed = None if leaving is None else leaving.deed
        own = deed is not None and deed.did is Did.UNKNOWN and not _called_for(parts)
        if deed is not None and own and (course.turn_marks == 1 or course.still_to_act(leaving)):
            deed.did, deed.stint = Did.SWITCH, stint
            stint.deed = None
        else:
            course.replace(number, place, Deed(Did.SWITCH, stint=stint))
    stint.member.revived = False


def _on_replace(course: Course, parts: list[str]) -> None:
    """An illusion ends: another than was shown came in."""
    side, place = course.place(parts[2])
    stint = side.at[place]
    if stint is None:
        return
    member = stint.member = course.arrive(side, parts).member
    entrance = course.lines[stint.line]
    side.corrections[stint.line] = [*entrance[:2], f"{entrance[2][:5]}{member.name}", parts[3], *entrance[4:]]
    side.corrections[course.at] = None


def _on_faint(course: Course, parts: list[str]) -> None:
    stint = course.stint(parts[2])
    if stint is not None:
        stint.out = True
        course.place(parts[2])[0].drawn = True


def _on_swap(course: Course, parts: list[str]) -> None:
    side, _ = course.place(parts[2])
    side.at.reverse()
    side.drawn = True


def _on_move(course: Course, parts: list[str]) -> None:
    deed = course.deed(parts[2])
    name = parts[3]
    desynced, course.desynced = course.desynced, False
    if course.made_to_move(parts[2]) or deed is None or deed.did is not Did.UNKNOWN:
        return
    if desynced:
        deed.did = Did.MOVE
        side, _ = course.place(parts[2])
        target = parts[4:] or [""]  # nothing is learnt from a move that goes on by itself
        side.corrections[course.at] = [*parts[:4], *target, "[from] lockedmove"]
        return
    source = tags(parts, 5)[0] if len(parts) > 5 else ""
    if source == "lockedmove":
        deed.locked = True
    elif source and course.tables.move(effect_id(source)) != course.tables.move(name):
        return  # called by another move or an ability
    deed.did, deed.move = Did.MOVE, name
    deed.target = parts[4][:3] if len(parts) > 4 and parts[4][2:3] in ("a", "b") else ""
    deed.retargeted = "[spread]" in parts[-1] or name in _SMART
    if deed.target and course.sides[SIDES[deed.target[:2]]].drawn:
        deed.retargeted = True
    course.mover = deed


def _on_cant(course: Course, parts: list[str]) -> None:
    if tags(parts, 4)[1]:  # `|cant|p1a: Rex|ability: Damp|Explosion|[of] p2a: Ann`: what Rex forbade another
        return
    deed = course.deed(parts[2])
    if course.made_to_move(parts[2]) or deed is None or deed.did is not Did.UNKNOWN:
        return
    deed.did = Did.MOVE
    deed.locked = parts[3] == "recharge"
    if len(parts) > 4 and not parts[4].startswith("["):
        deed.move = parts[4]


def _on_gimmick(course: Course, parts: list[str]) -> None:
    deed = course.deed(parts[2])
    if deed is not None:
        deed.gimmick = _GIMMICKS[parts[1]]


def _on_forme(course: Course, parts: list[str]) -> None:
    """`|detailschange|p1a: Rex|Lucario-Mega, M`: before 2014 all that tells of a mega evolution."""
    if parts[2][2:3] in ("a", "b") and "-Mega" in parts[3]:
        deed = course.deed(parts[2])
        if deed is not None:
            deed.gimmick = "mega"


def _on_effect(course: Course, parts: list[str]) -> None:
    """`-start`: Dynamax is a choice; Encore this turn changes what was chosen."""
    effect = effect_id(parts[3])
    if effect == "dynamax":
        deed = course.deed(parts[2])
        if deed is not None:
            deed.gimmick = "dynamax"
    elif effect == "encore":
        deed = course.deed(parts[2])
        if deed is not None and deed.did is Did.UNKNOWN:
            deed.did = Did.MOVE


def _on_turn_effect(course: Course, parts: list[str]) -> None:
    """`-singleturn`: Follow Me and the like draw moves to their user; Instruct has its last move made again."""
    effect = effect_id(parts[3])
    if effect in _DRAWING:
        course.sides[SIDES[parts[2][:2]]].drawn = True
    elif effect == "instruct":
        course.make_move(parts[2])


def _on_activate(course: Course, parts: list[str]) -> None:
    """`-activate`: Pursuit catches a Pokémon on its way out; Storm Drain draws the move that is being made; a
    Dancer joins in, which the line of its move does not say if that fails."""
    effect = effect_id(parts[3]) if len(parts) > 3 else ""
    if effect == "pursuit":
        deed = course.deed(parts[2])
        if deed is not None and deed.did is Did.UNKNOWN:
            deed.did = Did.SWITCH
    elif effect == "dancer":
        course.make_move(parts[2])
    elif effect in ("emergencyexit", "wimpout"):
        course.eject(parts[2])
    elif effect in _DRAWING:
        course.sides[SIDES[parts[2][:2]]].drawn = True
        if course.mover is not None:
            course.mover.retargeted = True


def _on_transform(course: Course, parts: list[str]) -> None:
    course.transforms = True


def _on_hint(course: Course, parts: list[str]) -> None:
    """`-hint`: in generation 1 a Pokémon that thaws before it acts makes the move that its side chose last, be it
    another Pokémon's, and some move of its own pays for that."""
    if len(parts) > 2 and parts[2].startswith(_DESYNC):
        course.desynced = True


def _on_heal(course: Course, parts: list[str]) -> None:
    """`|-heal|p1: Rex|50/100|[from] move: Revival Blessing`: the replacement that brings nobody in."""
    if len(parts) > 4 and parts[2][2] == ":" and "Revival Blessing" in parts[4]:
        number = SIDES[parts[2][:2]]
        side = course.sides[number]
        member = side.called(parts[2][4:])
        told = [None if stint is None else stint.deed for stint in side.at]
        place = told.index(course.mover) if course.mover in told else 0
        course.replace(number, place, Deed(Did.SWITCH, member=member))
        member.revived = True


def _on_item(course: Course, parts: list[str]) -> None:
    """`|-item|p1a: Rex|Choice Scarf|[from] move: Trick`: what came just now binds only from the next move on."""
    if len(parts) > 4 and parts[4].startswith("[from]") and parts[2][2:3] in ("a", "b"):
        stint = course.stint(parts[2])
        if stint is not None:
            stint.member.given.add(parts[3])


def _on_enditem(course: Course, parts: list[str]) -> None:
    if parts[3] in ("Eject Button", "Eject Pack"):
        course.eject(parts[2])


def _on_win(course: Course, parts: list[str]) -> None:
    course.players.win(parts[2])


def _on_tie(course: Course, parts: list[str]) -> None:
    course.players.winner = -1


def _on_message(course: Course, parts: list[str]) -> None:
    if len(parts) > 2:
        course.players.announce(parts[2])


def _on_raw(course: Course, parts: list[str]) -> None:
    if len(parts) > 2:
        course.players.rate(parts[2])


def _called_for(parts: list[str]) -> bool:
    """Whether a move asked for a switch: `[from] Parting Shot`, be it one that the Pokémon only threw back."""
    return any(part.startswith("[from]") for part in parts[5:])


HANDLERS: Mapping[str, Callable[[Course, list[str]], None]] = {
    "": _on_mark,
    "player": _on_player,
    "teamsize": _on_teamsize,
    "gametype": _on_gametype,
    "gen": _on_gen,
    "clearpoke": _on_clearpoke,
    "poke": _on_poke,
    "teampreview": _on_teampreview,
    "start": _on_start,
    "turn": _on_turn,
    "upkeep": _on_upkeep,
    "switch": _on_switch,
    "drag": _on_switch,
    "replace": _on_replace,
    "faint": _on_faint,
    "swap": _on_swap,
    "move": _on_move,
    "cant": _on_cant,
    **dict.fromkeys(_GIMMICKS, _on_gimmick),
    "detailschange": _on_forme,
    "-formechange": _on_forme,
    "-start": _on_effect,
    "-singleturn": _on_turn_effect,
    "-activate": _on_activate,
    "-transform": _on_transform,
    "-hint": _on_hint,
    "-heal": _on_heal,
    "-item": _on_item,
    "-enditem": _on_enditem,
    "win": _on_win,
    "tie": _on_tie,
    "-message": _on_message,
    "message": _on_message,
    "raw": _on_raw,
}
"""Handlers by kind of line; all other kinds say nothing of choices."""
