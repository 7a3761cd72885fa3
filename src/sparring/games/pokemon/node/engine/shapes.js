// Pokémon kept in one shape.
//
// A property that only some Pokémon get, in the order in which things happen to them, gives nearly every one a shape of
// its own, and V8 looks up each access to any of them anew. So all have these from the start. One that is deleted does
// worse: that Pokémon has no shape any more, and whatever code it passes through is slower for all.
'use strict';
const { rewritten } = require('./rewriting');
const { KIT } = require('./handlers');

const replaced = {
  addPokemon: own => function addPokemon(set) {
    const pokemon = own.call(this, set);
    if (!pokemon) return pokemon;
    pokemon.lastMoveTargetLoc = pokemon.lastMoveTargetLoc;
    pokemon.pendingStaleness = pokemon.pendingStaleness;
    pokemon.staleness = pokemon.staleness;
    if (this.battle.gen >= 9) pokemon.terastallized = pokemon.terastallized;
    pokemon[KIT] = undefined;
    return pokemon;
  },

  faintMessages: own => rewritten(own, [
    ['delete pokemon.terastallized;', 'if (pokemon.terastallized) pokemon.terastallized = undefined;'],
    ['(0, import_dex.toID)(pokemon.set.ability)', 'this.toID(pokemon.set.ability)'],
  ]),
};

module.exports = { replaced };
