"""Human battles: Showdown's spectator logs as both players' first-person episodes. See docs/replays.md.

`sources` replays in files; `timeline` where a log holds decisions, and `deeds` what was done there; `known` what a
player knew of the own team all along; `offers` what a side may have been allowed to do; `parse` both sides' rows;
`episodes` the arrays; `reasons` why a battle is not read; `generate` battles with the truth beside the log.
"""
