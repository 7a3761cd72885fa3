// Reads a JSON list of match-ups on stdin, writes [[min, max, hits] | null, ...]: what @smogon/calc says of each.
'use strict';
const {calculate, Generations, Pokemon, Move, Field, toID} = require('@smogon/calc');

function side(gen, given) {
  const pokemon = new Pokemon(gen, given.species, {
    level: given.level, item: given.item || undefined, ability: given.ability || undefined, nature: 'Serious',
    evs: given.evs, ivs: given.ivs, boosts: given.boosts, status: given.status || '', teraType: given.tera || undefined,
    abilityOn: false,
  });
  pokemon.originalCurHP = Math.max(1, Math.floor(pokemon.maxHP() * given.left));
  return pokemon;
}

const asked = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const answers = asked.map(match => {
  const gen = Generations.get(match.gen);
  try {
    if (!gen.species.get(match.attacker.id) || !gen.species.get(match.defender.id) || !gen.moves.get(match.move_id)) return null;
    if ([match.attacker, match.defender].some(({item}) => item && !gen.items.get(toID(item)))) return null;
    const move = new Move(gen, match.move, {ability: match.attacker.ability || undefined, item: match.attacker.item || undefined, species: match.attacker.species});
    if (move.category === 'Status') return null;  // in Champions, a move it lacks the facts of: all drawn ones do damage
    const attacker = side(gen, match.attacker);
    const defender = side(gen, match.defender);
    const result = calculate(gen, attacker, defender, move, new Field(match.field));
    let damage = result.damage;
    if (Array.isArray(damage) && Array.isArray(damage[0])) {
      // one row a hit: sum the lowest and the highest
      return [damage.reduce((sum, row) => sum + row[0], 0), damage.reduce((sum, row) => sum + row[row.length - 1], 0), damage.length === 1 ? move.hits : move.hits, defender.maxHP()];
    }
    if (!Array.isArray(damage)) damage = [damage];
    return [damage[0], damage[damage.length - 1], move.hits, defender.maxHP()];
  } catch (error) {
    return null;
  }
});
process.stdout.write(JSON.stringify(answers));
