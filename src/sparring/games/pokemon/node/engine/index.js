// Showdown's battle engine, made faster without changing what it does: required once, before the first battle.
//
// The modules here replace methods of Showdown's classes by ones that give the same results with less work; the tests
// play battles with and without them and compare logs, requests and random numbers. They lean on how Showdown works
// inside, so they refuse any version but the one they were written for.
'use strict';
const VERSION = '0.11.11';
const { version } = require('pokemon-showdown/package.json');
if (version !== VERSION) throw new Error(`the faster engine is for pokemon-showdown ${VERSION}, not ${version}`);

const { Battle } = require('pokemon-showdown/dist/sim/battle');
const { ModdedDex } = require('pokemon-showdown/dist/sim/dex');
const { DexAbilities } = require('pokemon-showdown/dist/sim/dex-abilities');
const { DexConditions } = require('pokemon-showdown/dist/sim/dex-conditions');
const { DexNatures, DexTypes } = require('pokemon-showdown/dist/sim/dex-data');
const { DexItems } = require('pokemon-showdown/dist/sim/dex-items');
const { DexMoves } = require('pokemon-showdown/dist/sim/dex-moves');
const { DexSpecies } = require('pokemon-showdown/dist/sim/dex-species');
const { Pokemon } = require('pokemon-showdown/dist/sim/pokemon');
const { PRNG } = require('pokemon-showdown/dist/sim/prng');
const { remembering } = require('./names');

function replace(owner, { replaced }) {
  for (const name of Object.keys(replaced)) {
    if (typeof owner?.prototype[name] !== 'function') throw new Error(`pokemon-showdown has no ${name} to replace`);
    Object.defineProperty(owner.prototype, name, { value: replaced[name] });
  }
}

for (const table of [DexAbilities, DexConditions, DexItems, DexMoves, DexNatures, DexSpecies, DexTypes]) {
  replace(table, remembering(table));
}
replace(ModdedDex, require('./moves'));
replace(new PRNG('gen5,0000000000000000').rng.constructor, require('./random'));
replace(Battle, require('./events'));
replace(Battle, require('./listing'));
replace(Battle, require('./log'));
replace(Battle, require('./turns'));
replace(Pokemon, require('./pokemon'));
