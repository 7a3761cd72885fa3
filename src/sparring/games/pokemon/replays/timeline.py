"""Where a spectator's log holds decisions, and what both sides did there, as far as it shows.

Showdown writes an empty line (a `mark`) whenever choices have been made and it goes on. A player who chose before a
mark had seen the lines before it and nothing else, so decisions are cut at marks: team preview, each turn, and every
replacement inside a turn. Sides that choose at the same mark share a `Decision`; neither sees what the other chose.

What was chosen is read from the lines that follow. Pokémon are followed by `Stint`, from coming in to leaving, so that
neither a swap of places nor an illusion that ends later confuses whose move it was.
"""

from collections.abc import Callable, Sequence

from sparring.core.replays import Rejected
from sparring.games.pokemon.columns import SLOTS, TEAM
from sparring.games.pokemon.replays.deeds import Decision, Deed, Did, Kind, Member, Stint, Timeline
from sparring.games.pokemon.replays.players import Players
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.replays.teams import Team
from sparring.games.pokemon.tracking.sources import tags
from sparring.games.pokemon.tracking.tables import Tables, effect_id

SIDES = {"p1": 0, "p2": 1}


def read_timeline(lines: Sequence[list[str]], tables: Tables) -> Timeline:
    """Reads a log whose `lines` are split at `|`; raises `Rejected` if it is no whole battle."""
    return _Reader(lines, tables).read()


class _Reader:
    """Reads one log, line by line."""

    def __init__(self, lines: Sequence[list[str]], tables: Tables) -> None:
        self.lines = lines
        self.tables = tables
        self.sides = (Team(tables), Team(tables))
        self.players = Players()
        self.decisions: list[Decision] = []
        self.transforms = False
        self.generation = 0
        self.places = 1
        self.turn = 0
        self.turns: Decision | None = None
        """The decision of this turn, or of the team preview."""
        self.replacing: Decision | None = None
        """The decision that the last mark answered, if it was about replacements."""
        self.mark = -1
        self.turn_marks = 0
        """Marks since the turn began: after the first, switches are the turn's own; later they replace."""
        self.ending = False
        """The turn's end has been told: who has fainted is replaced now."""
        self.started = False
        self.mover: Deed | None = None
        """The deed that the last move carried out."""
        self.desynced = False
        """The next move is one that its user was not told and need not even have; see `on_hint`."""
        self.at = 0

    def read(self) -> Timeline:
        handlers = _HANDLERS
        for at, parts in enumerate(self.lines):
            handler = handlers.get(parts[1]) if len(parts) > 1 else None
            if handler is not None:
                self.at = at
                try:
                    handler(self, parts)
                except (LookupError, ValueError) as error:
                    raise Rejected(Reason.MALFORMED, f"line {at + 1}: {'|'.join(parts)[:80]!r}") from error
        if self.players.winner is None:
            raise Rejected(Reason.UNFINISHED, "no winner is named")
        if not self.started:
            raise Rejected(Reason.UNFINISHED, "the battle never began")
        self._drop_unanswered()
        for side in self.sides:
            side.order()
        return Timeline(
            generation=self.generation,
            places=self.places,
            teams=(self.sides[0].members, self.sides[1].members),
            sizes=[side.size or len(side.members) for side in self.sides],
            names=self.players.names,
            ratings=self.players.ratings,
            decisions=self.decisions,
            corrections=(self.sides[0].corrections, self.sides[1].corrections),
            transforms=self.transforms,
            winner=self.players.winner,
            forfeited=self.players.forfeited,
            turns=self.turn,
        )

    def _drop_unanswered(self) -> None:
        """Leaves out a last turn of which the log shows nothing: the battle was given up."""
        if not self.decisions or self.turns is not self.decisions[-1] or self.turns.kind is not Kind.TURN:
            return
        deeds = [deed for side in self.turns.deeds for deed in side or () if deed is not None]
        shown = any(deed.did is not Did.UNKNOWN or deed.gimmick for deed in deeds)
        if not shown and not any(len(parts) > 1 and _happens(parts[1]) for parts in self.lines[self.turns.line :]):
            self.decisions.pop()

    # Before the battle.

    def on_player(self, parts: list[str]) -> None:
        if parts[2] in ("p3", "p4"):
            raise Rejected(Reason.GAME_TYPE, "more than two players; singles and doubles can be read")
        self.players.introduce(SIDES[parts[2]], parts)

    def on_teamsize(self, parts: list[str]) -> None:
        self.sides[SIDES[parts[2]]].size = int(parts[3])

    def on_gametype(self, parts: list[str]) -> None:
        if parts[2] not in ("singles", "doubles"):
            raise Rejected(Reason.GAME_TYPE, f"{parts[2]}; singles and doubles can be read")
        self.places = 2 if parts[2] == "doubles" else 1

    def on_gen(self, parts: list[str]) -> None:
        self.generation = int(parts[2])

    def on_clearpoke(self, parts: list[str]) -> None:
        """A team preview begins; a log that was joined again has two of them."""
        if not self.started:
            for side in self.sides:
                side.forget()

    def on_poke(self, parts: list[str]) -> None:
        side = self.sides[SIDES[parts[2]]]
        if len(side.members) == TEAM:
            raise Rejected(Reason.TEAM_SIZE, f"more than {TEAM} Pokémon in a team")
        side.preview(parts[3])

    def on_teampreview(self, parts: list[str]) -> None:
        for side in self.sides:
            side.size = int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else side.size
        self.turns = self._decide(Kind.PREVIEW, self.at + 1, ([None] * SLOTS, [None] * SLOTS))

    def on_start(self, parts: list[str]) -> None:
        self.started = True

    # Time.

    def on_mark(self, parts: list[str]) -> None:
        if len(parts) == 2 and not parts[1]:
            self.mark = self.at
            self.turn_marks += 1
            self.replacing = None

    def on_turn(self, parts: list[str]) -> None:
        if self.turn and not self.turn_marks:
            raise Rejected(Reason.MALFORMED, f"line {self.at + 1}: no empty line marks the choices of turn {self.turn}")
        self.turn = int(parts[2])
        self.turn_marks = 0
        self.ending = False
        self.mover = None
        self.desynced = False
        deeds: list[list[Deed | None] | None] = []
        for side in self.sides:
            told: list[Deed | None] = []
            side.drawn = any(stint is None or stint.out for stint in side.at[: self.places])
            for stint in side.at:
                deed = None if stint is None or stint.out else Deed(by=stint)
                if stint is not None:
                    stint.deed = deed
                told.append(deed)
            deeds.append(told)
        self.turns = self._decide(Kind.TURN, self.at + 1, deeds)

    def on_upkeep(self, parts: list[str]) -> None:
        self.ending = True

    def _decide(self, kind: Kind, line: int, deeds: "Sequence[list[Deed | None] | None]") -> Decision:
        decision = Decision(kind, line, list(deeds), self.turn)
        self.decisions.append(decision)
        return decision

    # Coming and going.

    def on_switch(self, parts: list[str]) -> None:
        side, place = self._where(parts[2])
        stint = self._arrive(side, parts)
        leaving, side.at[place] = side.at[place], stint
        number = self.sides.index(side)
        if not self.turn:
            if leaving is None:
                side.lead(stint)
            if self.turns is not None and self.turns.kind is Kind.PREVIEW:
                leads = self.turns.deeds[number]
                assert leads is not None
                leads[place] = Deed(Did.SWITCH, stint=stint)
        elif leaving is not None and leaving.out and leaving.member is stint.member and stint.member.revived:
            pass  # revived where it fell, it comes back to its place by itself
        elif parts[1] == "switch":
            deed = None if leaving is None else leaving.deed
            own = deed is not None and deed.did is Did.UNKNOWN and not _called_for(parts)
            if deed is not None and own and (self.turn_marks == 1 or self._still_to_act(leaving)):
                deed.did, deed.stint = Did.SWITCH, stint
                stint.deed = None
            else:
                self._replace(number, place, Deed(Did.SWITCH, stint=stint))
        stint.member.revived = False

    def _still_to_act(self, stint: Stint | None) -> bool:
        """Whether the turn's own choice is still to be carried out, though another was replaced in the middle of it."""
        return stint is not None and not stint.out and not stint.ejected and not self.ending

    def _replace(self, number: int, place: int, deed: Deed) -> None:
        """A replacement that was chosen before the last mark."""
        if self.replacing is None:
            self.replacing = self._decide(Kind.REPLACE, self.mark, (None, None))
        deeds = self.replacing.deeds[number]
        if deeds is None:
            now = self.ending or self.generation <= _REPLACED_AT_ONCE
            deeds = self.replacing.deeds[number] = [
                Deed(Did.PASS, asked=now) if stint is not None and stint.out else None
                for stint in self.sides[number].at
            ]
        deeds[place] = deed

    def _arrive(self, side: Team, parts: list[str]) -> Stint:
        member = self._member(side, parts)
        member.brought = True
        return Stint(member, self.at, member)

    def _member(self, side: Team, parts: list[str]) -> Member:
        """The Pokémon that a line shows."""
        try:
            return side.find(parts[2][5:], parts[3])
        except Rejected as rejected:
            raise Rejected(rejected.reason, f"line {self.at + 1}: {rejected.detail}") from None

    def on_replace(self, parts: list[str]) -> None:
        side, place = self._where(parts[2])
        stint = side.at[place]
        if stint is None:
            return
        member = self._member(side, parts)
        member.brought = True
        stint.member = member
        entrance = self.lines[stint.line]
        side.corrections[stint.line] = [*entrance[:2], f"{entrance[2][:5]}{member.name}", parts[3], *entrance[4:]]
        side.corrections[self.at] = None

    def on_faint(self, parts: list[str]) -> None:
        side, place = self._where(parts[2])
        stint = side.at[place]
        if stint is not None:
            stint.out = True
            side.drawn = True

    def on_swap(self, parts: list[str]) -> None:
        side, _ = self._where(parts[2])
        side.at.reverse()
        side.drawn = True

    # What was done.

    def on_move(self, parts: list[str]) -> None:
        deed = self._deed(parts[2])
        name = parts[3]
        desynced, self.desynced = self.desynced, False
        if self._made_to_move(parts[2]) or deed is None or deed.did is not Did.UNKNOWN:
            return
        if desynced:
            deed.did = Did.MOVE
            side, _ = self._where(parts[2])
            target = parts[4:] or [""]  # nothing is learnt from a move that goes on by itself
            side.corrections[self.at] = [*parts[:4], *target, "[from] lockedmove"]
            return
        source = tags(parts, 5)[0] if len(parts) > 5 else ""
        if source == "lockedmove":
            deed.locked = True
        elif source and self.tables.move(effect_id(source)) != self.tables.move(name):
            return  # called by another move or an ability
        deed.did, deed.move = Did.MOVE, name
        deed.target = parts[4][:3] if len(parts) > 4 and parts[4][2:3] in ("a", "b") else ""
        deed.retargeted = "[spread]" in parts[-1] or name in _SMART
        if deed.target and self.sides[SIDES[deed.target[:2]]].drawn:
            deed.retargeted = True
        self.mover = deed

    def on_cant(self, parts: list[str]) -> None:
        deed = self._deed(parts[2])
        if self._made_to_move(parts[2]) or deed is None or deed.did is not Did.UNKNOWN:
            return
        deed.did = Did.MOVE
        deed.locked = parts[3] == "recharge"
        if len(parts) > 4 and not parts[4].startswith("["):
            deed.move = parts[4]

    def _made_to_move(self, ident: str) -> bool:
        """Whether what a Pokémon does now is another's doing."""
        side, place = self._where(ident)
        stint = side.at[place]
        made = stint is not None and stint.made_to_move
        if stint is not None:
            stint.made_to_move = False
        return made

    def _make_move(self, ident: str) -> None:
        side, place = self._where(ident)
        stint = side.at[place]
        if stint is not None:
            stint.made_to_move = True

    def _deed(self, ident: str) -> Deed | None:
        side, place = self._where(ident)
        stint = side.at[place]
        return None if stint is None else stint.deed

    def on_gimmick(self, parts: list[str]) -> None:
        deed = self._deed(parts[2])
        if deed is not None:
            deed.gimmick = _GIMMICKS[parts[1]]

    def on_effect(self, parts: list[str]) -> None:
        """`-start`: Dynamax is a choice; Encore this turn changes what was chosen."""
        effect = effect_id(parts[3])
        if effect == "dynamax":
            deed = self._deed(parts[2])
            if deed is not None:
                deed.gimmick = "dynamax"
        elif effect == "encore":
            deed = self._deed(parts[2])
            if deed is not None and deed.did is Did.UNKNOWN:
                deed.did = Did.MOVE

    def on_turn_effect(self, parts: list[str]) -> None:
        """`-singleturn`: Follow Me and the like draw moves to their user; Instruct has its last move made again."""
        effect = effect_id(parts[3])
        if effect in _DRAWING:
            self.sides[SIDES[parts[2][:2]]].drawn = True
        elif effect == "instruct":
            self._make_move(parts[2])

    def on_activate(self, parts: list[str]) -> None:
        """`-activate`: Pursuit catches a Pokémon on its way out; Storm Drain draws the move that is being made; a
        Dancer joins in, which the line of its move does not say if that fails."""
        effect = effect_id(parts[3]) if len(parts) > 3 else ""
        if effect == "pursuit":
            deed = self._deed(parts[2])
            if deed is not None and deed.did is Did.UNKNOWN:
                deed.did = Did.SWITCH
        elif effect == "dancer":
            self._make_move(parts[2])
        elif effect in ("emergencyexit", "wimpout"):
            self._eject(parts[2])
        elif effect in _DRAWING:
            self.sides[SIDES[parts[2][:2]]].drawn = True
            if self.mover is not None:
                self.mover.retargeted = True

    def on_transform(self, parts: list[str]) -> None:
        self.transforms = True

    def on_hint(self, parts: list[str]) -> None:
        """`-hint`: in generation 1 a Pokémon that thaws before it acts makes the move that its side chose last, be it
        another Pokémon's, and some move of its own pays for that."""
        if len(parts) > 2 and parts[2].startswith(_DESYNC):
            self.desynced = True

    def on_heal(self, parts: list[str]) -> None:
        """`|-heal|p1: Rex|50/100|[from] move: Revival Blessing`: the replacement that brings nobody in."""
        if len(parts) > 4 and parts[2][2] == ":" and "Revival Blessing" in parts[4]:
            number = SIDES[parts[2][:2]]
            side = self.sides[number]
            member = side.called(parts[2][4:])
            told = [None if stint is None else stint.deed for stint in side.at]
            place = told.index(self.mover) if self.mover in told else 0
            self._replace(number, place, Deed(Did.SWITCH, member=member))
            member.revived = True

    def on_item(self, parts: list[str]) -> None:
        """`|-item|p1a: Rex|Choice Scarf|[from] move: Trick`: what came just now binds only from the next move on."""
        if len(parts) > 4 and parts[4].startswith("[from]") and parts[2][2:3] in ("a", "b"):
            side, place = self._where(parts[2])
            stint = side.at[place]
            if stint is not None:
                stint.member.given.add(parts[3])

    def on_enditem(self, parts: list[str]) -> None:
        if parts[3] in ("Eject Button", "Eject Pack"):
            self._eject(parts[2])

    def _eject(self, ident: str) -> None:
        side, place = self._where(ident)
        stint = side.at[place]
        if stint is not None:
            stint.ejected = True

    # How it ended.

    def on_win(self, parts: list[str]) -> None:
        self.players.win(parts[2])

    def on_tie(self, parts: list[str]) -> None:
        self.players.winner = -1

    def on_message(self, parts: list[str]) -> None:
        if len(parts) > 2:
            self.players.announce(parts[2])

    def on_raw(self, parts: list[str]) -> None:
        if len(parts) > 2:
            self.players.rate(parts[2])

    def _where(self, ident: str) -> tuple[Team, int]:
        return self.sides[SIDES[ident[:2]]], "ab".index(ident[2])


def _called_for(parts: list[str]) -> bool:
    """Whether a move asked for a switch: `[from] Parting Shot`, be it one that the Pokémon only threw back."""
    return any(part.startswith("[from]") for part in parts[5:])


def _happens(kind: str) -> bool:
    """Whether lines of a kind tell of the battle: choices were made, even if what hurts itself never gets to act."""
    return kind == "faint" or (kind.startswith("-") and kind not in ("-message", "-hint"))


_GIMMICKS = {"-terastallize": "terastallize", "-mega": "mega", "-burst": "mega", "-zpower": "zmove"}
_DRAWING = frozenset(("followme", "ragepowder", "spotlight", "lightningrod", "stormdrain"))
"""Effects that draw moves to another target than was chosen."""
_DESYNC = "In Gen 1, if both players would see the same Pokémon using different moves"
_REPLACED_AT_ONCE = 3
"""Up to this generation who faints is replaced at once, later at the turn's end."""
_SMART = frozenset(("Dragon Darts",))
"""Moves that find another target if theirs cannot be hit."""

_HANDLERS: dict[str, Callable[[_Reader, list[str]], None]] = {
    "": _Reader.on_mark,
    "player": _Reader.on_player,
    "teamsize": _Reader.on_teamsize,
    "gametype": _Reader.on_gametype,
    "gen": _Reader.on_gen,
    "clearpoke": _Reader.on_clearpoke,
    "poke": _Reader.on_poke,
    "teampreview": _Reader.on_teampreview,
    "start": _Reader.on_start,
    "turn": _Reader.on_turn,
    "upkeep": _Reader.on_upkeep,
    "switch": _Reader.on_switch,
    "drag": _Reader.on_switch,
    "replace": _Reader.on_replace,
    "faint": _Reader.on_faint,
    "swap": _Reader.on_swap,
    "move": _Reader.on_move,
    "cant": _Reader.on_cant,
    **dict.fromkeys(_GIMMICKS, _Reader.on_gimmick),
    "-start": _Reader.on_effect,
    "-singleturn": _Reader.on_turn_effect,
    "-activate": _Reader.on_activate,
    "-transform": _Reader.on_transform,
    "-hint": _Reader.on_hint,
    "-heal": _Reader.on_heal,
    "-item": _Reader.on_item,
    "-enditem": _Reader.on_enditem,
    "win": _Reader.on_win,
    "tie": _Reader.on_tie,
    "-message": _Reader.on_message,
    "message": _Reader.on_message,
    "raw": _Reader.on_raw,
}
"""Handlers by kind of line; all other kinds say nothing of choices."""
