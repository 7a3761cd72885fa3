"""The team of one side as a log makes it known, and who of it stands where."""

from sparring.core.replays import Rejected
from sparring.games.pokemon.columns import SLOTS, TEAM
from sparring.games.pokemon.replays.deeds import Member, Stint
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.tracking.tables import Tables


class Team:
    """One side's Pokémon. Those of a preview are there from the start, others as they come in."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._by_name: dict[str, list[Member]] = {}
        """Several, where two Pokémon were given the same name."""
        self._previewed = 0
        """How many the preview shows."""
        self._leads: list[Stint] = []
        self.members: list[Member] = []
        self.at: list[Stint | None] = [None] * SLOTS
        """Who stands at each place; it stays after a faint until the next one comes in."""
        self.size = 0
        """How many are brought; 0 if the log does not say."""
        self.drawn = False
        """Moves aimed at this side may have hit another place of it than was chosen, from now to the turn's end."""
        self.corrections: dict[int, list[str] | None] = {}
        """By number of the line; see `Timeline.corrections`."""

    def preview(self, details: str) -> None:
        """The next Pokémon of the preview."""
        self.members.append(Member(len(self.members), details))
        self._previewed = len(self.members)

    def forget(self) -> None:
        """The preview begins again."""
        self.members.clear()
        self._previewed = 0

    def lead(self, stint: Stint) -> None:
        """It comes in before the first turn."""
        self._leads.append(stint)

    def called(self, name: str) -> Member:
        """The Pokémon that has gone by `name` from the first; raises `KeyError`."""
        return self._by_name[name][0]

    def find(self, name: str, details: str) -> Member:
        """The Pokémon that goes by `name`; a new one if the preview did not show it."""
        base, species = self._tables.base_species, self._species(details)
        for known in self._by_name.get(name, ()):
            if base[self._species(known.details)] == base[species]:
                return known
        alike = [
            member
            for member in self.members
            if not member.name and base[self._species(member.details)] == base[species]
        ]
        same_marks = [member for member in alike if _marks(member.details) == _marks(details)]
        if alike:
            found = (same_marks or alike)[0]
        else:
            if len(self.members) >= TEAM:
                raise Rejected(Reason.TEAM_SIZE, "a seventh Pokémon")
            found = Member(len(self.members), details)
            self.members.append(found)
        found.name = name
        if "-*" in found.details:  # the preview hid the forme, which its owner knew
            found.details = details
        self._by_name.setdefault(name, []).append(found)
        return found

    def order(self) -> None:
        """Gives team slots to those that no preview shows: as in a request the leads first, whose order is known then.

        The others came in one after the other, which at the first turn nobody knew: they are ordered by id.
        """
        leads = [stint.member for stint in self._leads]

        def rank(member: Member) -> tuple[int, str, str, str]:
            species = self._tables.dex.species.ids[self._species(member.details)]
            return (leads.index(member) if member in leads else TEAM), species, member.name, member.details

        self.members[self._previewed :] = sorted(self.members[self._previewed :], key=rank)
        for slot, member in enumerate(self.members):
            member.slot = slot

    def _species(self, details: str) -> int:
        return self._tables.details(details)[0]


def _marks(details: str) -> tuple[str, ...]:
    """Level and gender of `Rex, L50, F, shiny`."""
    return tuple(mark for mark in details.split(", ")[1:] if mark in ("M", "F") or mark.startswith("L"))
