// The methods of Showdown's classes that the faster engine replaces, each with what else of Showdown it stands in for:
// methods whose work the replacement does itself instead of calling them. `Class#name` is a method, `Class.name` a
// function of the class or module itself.
//
// A replacement is right only for the sources it was written for. `sources.json` holds their hashes, one a name:
//     NODE_PATH=.../node_modules node methods.js > sources.json
// writes it anew for the installed package, after the replacements have been compared with what changed in it.
'use strict';
const crypto = require('crypto');
const { version } = require('pokemon-showdown/package.json');

const FILES = {
  Battle: 'sim/battle',
  DexAbilities: 'sim/dex-abilities',
  DexConditions: 'sim/dex-conditions',
  DexItems: 'sim/dex-items',
  DexMoves: 'sim/dex-moves',
  DexNatures: 'sim/dex-data',
  DexSpecies: 'sim/dex-species',
  DexTypes: 'sim/dex-data',
  Field: 'sim/field',
  Gen5RNG: 'sim/prng',
  ModdedDex: 'sim/dex',
  Pokemon: 'sim/pokemon',
  Side: 'sim/side',
  Utils: 'lib/utils',
};

/** What the tables of `handlers.js` know beforehand. */
const TABLES = [
  'Battle#getCallback', 'Battle#resolvePriority',
  'Pokemon#getAbility', 'Pokemon#getItem', 'Pokemon#getStatus', 'Pokemon#getFieldPositionValue',
  'DexAbilities#getByID', 'DexConditions#getByID', 'DexItems#getByID',
];
const LISTING = [
  'Battle#findPokemonEventHandlers', 'Battle#findSideEventHandlers', 'Battle#findFieldEventHandlers',
];
const FINDING = [
  ...TABLES, ...LISTING, 'Battle#findBattleEventHandlers', 'Pokemon#alliesAndSelf', 'Pokemon#foes',
  'Side#allies', 'Side#foes', 'Side#activeTeam', 'Field#getWeather', 'Field#getTerrain',
];

/** An entry whose replacement is of that name in a module here; `inlines`: what it stands in for besides. */
function from(module, inlines = []) {
  return name => ({ inlines, make: () => require(module).replaced[name] });
}

/** An entry whose replacement is made from Showdown's own method. */
function around(module, inlines = []) {
  return name => ({ inlines, make: own => require(module).replaced[name](own) });
}

const METHODS = {};
for (const table of ['Abilities', 'Conditions', 'Items', 'Moves', 'Natures', 'Species', 'Types']) {
  METHODS[`Dex${table}#get`] = around('./names', [`Dex${table}#getByID`]);
}
Object.assign(METHODS, {
  'ModdedDex#getActiveMove': from('./moves', ['Utils.deepClone']),
  'Gen5RNG#next': from('./random', ['Gen5RNG#nextFrame', 'Gen5RNG#multiplyAdd']),
  'Battle#findEventHandlers': from('./events', FINDING),
  'Battle#runEvent': from('./events', [
    'Battle#findEventHandlers', ...FINDING, 'Battle#modify', 'Battle.compareLeftToRightOrder',
    'Battle.compareRedirectOrder',
  ]),
  'Battle#eachEvent': from('./events', ['Battle#runEvent', 'Battle#findEventHandlers', ...FINDING]),
  'Battle#singleEvent': from('./events', ['Battle#debug']),
  'Battle#speedSort': from('./events'),
  'Battle#findPokemonEventHandlers': from('./listing', TABLES),
  'Battle#findSideEventHandlers': from('./listing', TABLES),
  'Battle#findFieldEventHandlers': from('./listing', [...TABLES, 'Field#getWeather', 'Field#getTerrain']),
  'Battle#add': from('./log', ['Battle#addSplit']),
  'Battle#endTurn': around('./turns', ['ModdedDex#getActiveMove']),
  'Battle#faintMessages': around('./shapes'),
  'Side#addPokemon': around('./shapes'),
  'Pokemon#hasItem': from('./pokemon'),
  'Pokemon#hasAbility': from('./pokemon'),
  'Pokemon#ignoringAbility': from('./pokemon', ['Battle#getAllActive', 'Pokemon#hasItem']),
  'Pokemon#getStat': from('./pokemon', ['Battle#runEvent', 'Battle#findEventHandlers', ...FINDING]),
});
for (const name in METHODS) METHODS[name] = METHODS[name](name.split('#')[1]);

/** Where a name of Showdown's is defined, as [object, key]; null if this version has no such function. */
function find(name) {
  const [, owner, kind, key] = /^(\w+)([#.])(\w+)$/.exec(name);
  let place;
  try {
    place = require(`pokemon-showdown/dist/${FILES[owner]}`)[owner];
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
  }
  if (kind === '#') place = place?.prototype;
  return typeof place?.[key] === 'function' ? [place, key] : null;
}

/** The hash of a function's source as it stands in the package, or null if there is no such function. */
function sourceHash(name) {
  const found = find(name);
  if (!found) return null;
  const [place, key] = found;
  return crypto.createHash('sha256').update(place[key].toString()).digest('hex').slice(0, 16);
}

if (require.main === module) {
  const names = new Set(Object.entries(METHODS).flatMap(([name, { inlines }]) => [name, ...inlines]));
  const missing = [...names].filter(name => !find(name));
  if (missing.length) throw new Error(`pokemon-showdown ${version} has no ${missing.join(', ')}`);
  const sources = Object.fromEntries([...names].sort().map(name => [name, sourceHash(name)]));
  process.stdout.write(`${JSON.stringify({ showdown: version, sources }, null, 2)}\n`);
}

module.exports = { METHODS, find, sourceHash, version };
