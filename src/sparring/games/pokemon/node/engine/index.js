// Showdown's battle engine, made faster without changing what it does: required once, before the first battle.
//
// The modules here replace methods of Showdown's classes by ones that give the same results with less work; the tests
// play battles with and without them and compare logs, requests and random numbers. They lean on how Showdown works
// inside, so they refuse any version but the one they were written for.
'use strict';
const { version } = require('pokemon-showdown/package.json');
const { Battle } = require('pokemon-showdown/dist/sim/battle');
const { ModdedDex } = require('pokemon-showdown/dist/sim/dex');
const { PRNG } = require('pokemon-showdown/dist/sim/prng');
const events = require('./events');
const moves = require('./moves');
const random = require('./random');

const VERSION = '0.11.11';

function replace(owner, methods) {
  for (const name of Object.keys(methods)) {
    if (typeof owner.prototype[name] !== 'function') throw new Error(`pokemon-showdown has no ${owner.name}.${name} to replace`);
    Object.defineProperty(owner.prototype, name, { value: methods[name] });
  }
}

if (version !== VERSION) throw new Error(`the faster engine is for pokemon-showdown ${VERSION}, not ${version}`);
replace(Battle, events.replaced);
replace(ModdedDex, moves.replaced);
replace(new PRNG('gen5,0000000000000000').rng.constructor, random.replaced);
