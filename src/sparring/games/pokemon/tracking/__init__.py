"""The parts of the battle tracker.

`layout` where things lie in the arrays; `view` one side's state, kept in them; `places` who comes and goes;
`tables` and `effects` what protocol text means; `*_lines` and `request` what lines and requests change.
"""
