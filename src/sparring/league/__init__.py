"""Who plays whom, with what result, and how strong each player is.

`entrants` players by name; `seating` names to players and an arena; `evaluation` matches that are counted; `by_hand`
a person against a player; `selfplay` matches that are stored; `serve` named players behind a policy server.

`ledger` rated matches in a file; `rated` what goes into it; `exchange` to and from other files; `counts` results by
pair; `ratings` the model; `subsets` ratings by seat, team set, opening; `intransitivity` what ratings cannot show;
`team_ratings` mixed teams; `standings` all of these together.

`bouts` pairs of matches between two; `schedules` who meets whom; `sprt` when a difference is certain; `tournament` all
of these together.
"""

from typing import TYPE_CHECKING

from sparring.core.lazy import lazy_dir, lazy_names

if TYPE_CHECKING:
    from sparring.league.entrants import Entrant, Style
    from sparring.league.evaluation import evaluate
    from sparring.league.seating import Seating
else:
    _ENTRANTS = "sparring.league.entrants"
    __getattr__ = lazy_names(
        __name__,
        {
            "Entrant": _ENTRANTS,
            "Style": _ENTRANTS,
            "evaluate": "sparring.league.evaluation",
            "Seating": "sparring.league.seating",
        },
    )

__all__ = ["Entrant", "Seating", "Style", "evaluate"]
__dir__ = lazy_dir(__name__, __all__)
