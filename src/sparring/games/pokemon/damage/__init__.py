"""Expected damage, chances to faint, and who moves first: the estimate behind the `full` observation.

`estimate` reads observation rows; `formula`, `power` and `stats` are the games' rules, one attack at a time;
`combatant` the rows they work on; `effects` and `tables` what they look up.
"""

from sparring.games.pokemon.damage.estimate import DAMAGE_FIELDS, DamageEstimate

__all__ = ["DAMAGE_FIELDS", "DamageEstimate"]
