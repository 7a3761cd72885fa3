// Sets that people are told to use, one packed set a line: what a Pokémon may have before anything of it shows.
//
//   node sets.js FOLDER   writes FOLDER/<format>.txt for every format of @smogon/sets, and of generation 9, which they
//                         leave out, Showdown's Battle Factory by tier; gen<n>.txt has those of all tiers
'use strict';
const fs = require('fs');
const path = require('path');
const { Teams } = require('pokemon-showdown');

const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];

function spread(given, otherwise) {
  return Object.fromEntries(STATS.map(stat => [stat, given?.[stat] ?? otherwise]));
}

function first(value) {
  return Array.isArray(value) ? value[0] : value ?? '';
}

/** A set in the shape that Showdown packs; `effort` is what is not said in generations where all can have all. */
function whole(species, set, effort) {
  return {
    name: '', species, item: first(set.item), ability: first(set.ability), moves: set.moves.map(first).slice(0, 4),
    nature: first(set.nature), evs: spread(first(set.evs), effort), ivs: spread(first(set.ivs), 31),
    level: set.level ?? 100, gender: '', teraType: first(set.teraType) || undefined,
  };
}

function write(folder, name, sets) {
  fs.writeFileSync(path.join(folder, `${name}.txt`), sets.map(set => Teams.pack([set])).join('\n') + '\n');
}

function smogonSets(folder) {
  const root = path.dirname(require.resolve('@smogon/sets/package.json'));
  for (const file of fs.readdirSync(root)) {
    const found = /^(gen(\d)\w*)\.json$/.exec(file);
    if (!found || found[1] === `gen${found[2]}`) continue;
    const data = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
    const effort = found[2] < 3 ? 252 : 0;
    const sets = [data.dex, data.stats].flatMap(source => Object.entries(source ?? {}))
      .flatMap(([species, named]) => Object.values(named).map(set => whole(species, set, effort)));
    write(folder, found[1], sets);
  }
}

function factorySets(folder) {
  const root = path.dirname(require.resolve('pokemon-showdown/package.json'));
  const data = JSON.parse(fs.readFileSync(path.join(root, 'dist/data/random-battles/gen9/factory-sets.json'), 'utf8'));
  for (const [tier, species] of Object.entries(data)) {
    const sets = Object.values(species).flatMap(entry => entry.sets.map(set => whole(set.species, set, 0)));
    write(folder, tier === 'Uber' ? 'gen9ubers' : `gen9${tier.toLowerCase()}`, sets);
  }
}

/** gen<n>.txt: the sets of all files of a generation's singles and doubles. */
function together(folder) {
  const files = fs.readdirSync(folder);
  for (const generation of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    const texts = files.filter(file => file.startsWith(`gen${generation}`))
      .flatMap(file => fs.readFileSync(path.join(folder, file), 'utf8').trim().split('\n'));
    fs.writeFileSync(path.join(folder, `gen${generation}.txt`), [...new Set(texts)].join('\n') + '\n');
  }
}

const folder = process.argv[2];
fs.mkdirSync(folder, { recursive: true });
smogonSets(folder);
factorySets(folder);
together(folder);
