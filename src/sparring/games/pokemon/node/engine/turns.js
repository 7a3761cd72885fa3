// The end of a turn, without copying every move of every active Pokémon.
//
// `endTurn` is long and only two of its lines are slow, so those lines are replaced in its own source. A line that is
// not there exactly once, or a source that needs more than its `this`, is an error when the replacement is made.
'use strict';

/** A method of Showdown's with some lines of its source replaced. */
function rewritten(method, lines) {
  let source = method.toString();
  if (/\bimport_/.test(source)) throw new Error(`pokemon-showdown's ${method.name} uses what its module imports`);
  for (const [line, replacement] of lines) {
    if (source.split(line).length !== 2) throw new Error(`pokemon-showdown's ${method.name} lacks the line: ${line}`);
    source = source.replace(line, () => replacement);
  }
  return new Function(`'use strict';return ({${source}}).${method.name}`)();
}

const replaced = {
  endTurn: own => rewritten(own, [
    // A copy is only needed where a callback could change it.
    [
      'const activeMove = this.dex.getActiveMove(moveSlot.id);',
      `const move = this.dex.moves.get(moveSlot.id);
      const activeMove = move.onDisableMove === undefined ? move : this.dex.getActiveMove(move);`,
    ],
    // Few abilities may trap; for others the rules and types that come next need not be asked.
    [
      'const ability = this.dex.abilities.get(abilityName);',
      `const ability = this.dex.abilities.get(abilityName);
      if (ability.onFoeMaybeTrapPokemon === undefined && !this.debugMode) continue;`,
    ],
  ]),
};

module.exports = { replaced };
