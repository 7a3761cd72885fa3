// Pokémon kept in one shape.
//
// A property that only some Pokémon get, in the order in which things happen to them, gives nearly every one a shape of
// its own, and V8 looks up each access to any of them anew. So all have these from the start.
'use strict';
const { KIT } = require('./handlers');

const replaced = {
  addPokemon: own => function addPokemon(set) {
    const pokemon = own.call(this, set);
    if (!pokemon) return pokemon;
    pokemon.lastMoveTargetLoc = pokemon.lastMoveTargetLoc;
    pokemon.pendingStaleness = pokemon.pendingStaleness;
    pokemon.staleness = pokemon.staleness;
    pokemon[KIT] = undefined;
    return pokemon;
  },
};

module.exports = { replaced };
