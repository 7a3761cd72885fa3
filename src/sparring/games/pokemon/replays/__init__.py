"""Human battles: Showdown's spectator logs as both players' first-person episodes. See docs/replays.md.

`download` replays into a `folder`, from Showdown's `site` or from data `sets`; `sources` replays in files, `layouts`
what one looks like there, `splitting` large JSON; `formats` which format a log is of; `timeline` where it holds
decisions, `deeds` what was done there, `teams` by whom, `players` for whom; `known` what a player knew of the own team
all along, `own_team` the rest of it as it probably was; `offers` what a side may have been allowed to do; `parse` both
sides' rows; `episodes` the arrays; `reasons` why a battle is not read; `generate` battles with the truth beside it.
"""
