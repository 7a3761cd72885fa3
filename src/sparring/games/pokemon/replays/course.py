"""A battle while its log is read: who stands where, which decisions were asked, which of them are being answered."""

from collections.abc import Sequence

from sparring.core.replays import Rejected
from sparring.games.pokemon.replays.deeds import Decision, Deed, Did, Kind, Stint
from sparring.games.pokemon.replays.players import Players
from sparring.games.pokemon.replays.teams import Team
from sparring.games.pokemon.tracking.tables import Tables

SIDES = {"p1": 0, "p2": 1}
_REPLACED_AT_ONCE = 3
"""Up to this generation who faints is replaced at once, later at the turn's end."""


class Course:
    """What `handlers` write down, line by line."""

    def __init__(self, lines: Sequence[list[str]], tables: Tables) -> None:
        self.lines = lines
        self.tables = tables
        self.at = 0
        """The line that is being read."""
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
        """The next move is one that its user was not told and need not even have: generation 1's Desync Clause."""

    # Who stands where.

    def place(self, ident: str) -> tuple[Team, int]:
        """The side and the place of `p2a: Rex`; raises `LookupError` or `ValueError` if it is none."""
        return self.sides[SIDES[ident[:2]]], "ab".index(ident[2])

    def stint(self, ident: str) -> Stint | None:
        """Who stands there, or fell there; None while nobody has come in."""
        side, place = self.place(ident)
        return side.at[place]

    def arrive(self, side: Team, parts: list[str]) -> Stint:
        """The Pokémon that the line shows comes in, or turns out to have come in."""
        try:
            member = side.find(parts[2][5:], parts[3])
        except Rejected as rejected:
            raise Rejected(rejected.reason, f"line {self.at + 1}: {rejected.detail}") from None
        member.brought = True
        return Stint(member, self.at, member)

    # What was chosen.

    def decide(self, kind: Kind, line: int, deeds: Sequence[list[Deed | None] | None]) -> Decision:
        """Sides had to choose when the lines before `line` had been told."""
        decision = Decision(kind, line, list(deeds), self.turn)
        self.decisions.append(decision)
        return decision

    def replace(self, number: int, place: int, deed: Deed) -> None:
        """A replacement that side `number` chose before the last mark."""
        if self.replacing is None:
            self.replacing = self.decide(Kind.REPLACE, self.mark, (None, None))
        deeds = self.replacing.deeds[number]
        if deeds is None:
            now = self.ending or self.generation <= _REPLACED_AT_ONCE
            deeds = self.replacing.deeds[number] = [
                Deed(Did.PASS, asked=now) if stint is not None and stint.out else None
                for stint in self.sides[number].at
            ]
        deeds[place] = deed

    def deed(self, ident: str) -> Deed | None:
        """What the Pokémon there was told this turn."""
        stint = self.stint(ident)
        return None if stint is None else stint.deed

    def still_to_act(self, stint: Stint | None) -> bool:
        """Whether the turn's own choice is still to be carried out, though another was replaced in the middle of it."""
        return stint is not None and not stint.out and not stint.ejected and not self.ending

    def made_to_move(self, ident: str) -> bool:
        """Whether what a Pokémon does now is another's doing; what it does next is its own again."""
        stint = self.stint(ident)
        if stint is None:
            return False
        made, stint.made_to_move = stint.made_to_move, False
        return made

    def make_move(self, ident: str) -> None:
        """The next thing that a Pokémon does is another's doing."""
        stint = self.stint(ident)
        if stint is not None:
            stint.made_to_move = True

    def eject(self, ident: str) -> None:
        """A Pokémon will leave before it acts."""
        stint = self.stint(ident)
        if stint is not None:
            stint.ejected = True
