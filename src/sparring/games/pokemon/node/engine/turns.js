// The end of a turn, without copying every move of every active Pokémon.
'use strict';
const { rewritten } = require('./rewriting');

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
