// Teams: built-in sets, validation, and pools for random formats.
//
//   node teams.js compose FOLDER                       writes FOLDER/<format>.txt, one packed team a line
//   node teams.js validate FORMAT                      reads [{source, text}] (JSON) and answers with
//                                                      [{source, packed, problems}]; text is an export or packed
//   node teams.js pool FORMAT FOLDER FIRST LAST SIZE   writes FOLDER/<number>.txt of SIZE generated teams for each
//                                                      number from FIRST to LAST that is not there yet
'use strict';
const fs = require('fs');
const path = require('path');
const { Dex, PRNG, TeamValidator, Teams, toID } = require('pokemon-showdown');

const BUILT_IN = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map(gen => `gen${gen}ou`),
  'gen9vgc2024regg', 'gen9vgc2025regi',
];
const TEAMS_EACH = 128;
const MOST_TRIES = 4000;

/** Complete sets to draw from: [[set, ...] of one species, ...]. */
function candidates(formatid) {
  if (formatid.startsWith('gen9vgc')) return doublesSets();
  if (formatid === 'gen9ou') return factorySets('OU');
  return smogonSets(formatid);
}

function smogonSets(formatid) {
  const data = require(`@smogon/sets/${formatid}.json`);
  const species = { ...data.stats, ...data.dex };
  return Object.entries(species).map(([name, sets]) => Object.values(sets).map(set => ({
    name: '', species: name, item: set.item ?? '', ability: set.ability ?? 'No Ability', moves: set.moves.flat(),
    nature: set.nature ?? '', evs: spread(set.evs, formatid < 'gen3' ? 252 : 0), ivs: spread(set.ivs, 31),
    level: set.level ?? 100, gender: '', happiness: set.happiness,
  })));
}

/** Smogon's sets end with generation 8; Showdown's own Battle Factory has Smogon's for generation 9. */
function factorySets(tier) {
  const data = JSON.parse(fs.readFileSync(dataFile('random-battles/gen9/factory-sets.json'), 'utf8'))[tier];
  return Object.values(data).map(entry => entry.sets.map(set => ({
    name: '', species: set.species, item: first(set.item), ability: first(set.ability), moves: set.moves.map(first),
    nature: first(set.nature), evs: spread(set.evs, 0), ivs: spread(set.ivs, 31), level: 100, gender: set.gender ?? '',
    teraType: first(set.teraType),
  })));
}

/** Doubles sets as Showdown's random doubles generator makes them, at level 50. */
function doublesSets() {
  const generator = Teams.getGenerator('gen9randomdoublesbattle', 'gen5,0000000000000002');
  const species = new Map();
  for (let i = 0; i < 600; i++) {
    for (const set of generator.getTeam()) {
      const clean = { ...set, name: '', level: 50, shiny: false, evs: spread(set.evs, 0), ivs: spread(set.ivs, 31) };
      if (!species.has(set.species)) species.set(set.species, []);
      species.get(set.species).push(clean);
    }
  }
  return [...species.values()];
}

function first(value) {
  return Array.isArray(value) ? value[0] : value ?? '';
}

function spread(given, otherwise) {
  return Object.fromEntries(['hp', 'atk', 'def', 'spa', 'spd', 'spe'].map(stat => [stat, given?.[stat] ?? otherwise]));
}

function dataFile(name) {
  return path.join(path.dirname(require.resolve('pokemon-showdown/package.json')), 'dist', 'data', name);
}

/** Draws six species and a set of each until Showdown's validator has passed enough teams. */
function compose(formatid) {
  const validator = TeamValidator.get(formatid);
  const prng = new PRNG('gen5,0000000000000001');
  const legal = candidates(formatid)
    .map(sets => sets.filter(set => !validator.validateSet(structuredClone(set), {})))
    .filter(sets => sets.length);
  const packed = new Set();
  for (let tries = 0; tries < MOST_TRIES && packed.size < TEAMS_EACH && legal.length >= 6; tries++) {
    const order = [...legal];
    prng.shuffle(order);
    const team = [];
    const items = new Set();
    const species = new Set();
    for (const sets of order) {
      const set = prng.sample(sets);
      const base = toID(Dex.species.get(set.species).baseSpecies);
      if (species.has(base) || (set.item && items.has(set.item) && formatid.includes('vgc'))) continue;
      species.add(base);
      items.add(set.item);
      team.push(structuredClone(set));
      if (team.length === 6) break;
    }
    if (!validator.validateTeam(team)) packed.add(Teams.pack(team));
  }
  return [...packed];
}

function composeAll(folder) {
  fs.mkdirSync(folder, { recursive: true });
  for (const formatid of BUILT_IN) {
    if (!Dex.formats.get(formatid).exists) continue; // other versions than the pinned one may lack it
    const teams = compose(formatid);
    if (teams.length < 50) throw new Error(`only ${teams.length} legal teams for ${formatid}`);
    fs.writeFileSync(path.join(folder, `${formatid}.txt`), teams.join('\n') + '\n');
  }
}

function validate(formatid) {
  const validator = TeamValidator.get(formatid);
  const answers = JSON.parse(fs.readFileSync(0, 'utf8')).map(({ source, text }) => {
    const team = Teams.import(text);
    if (!team || !team.length) return { source, packed: '', problems: ['it holds no team'] };
    const problems = validator.validateTeam(team) ?? [];
    return { source, packed: problems.length ? '' : Teams.pack(team), problems };
  });
  process.stdout.write(JSON.stringify(answers));
}

function pool(formatid, folder, firstNumber, last, size) {
  fs.mkdirSync(folder, { recursive: true });
  for (let number = firstNumber; number <= last; number++) {
    const target = path.join(folder, `${number}.txt`);
    if (fs.existsSync(target)) continue;
    const generator = Teams.getGenerator(formatid, `gen5,${number.toString(16).padStart(16, '0')}`);
    const lines = [];
    for (let i = 0; i < size; i++) lines.push(Teams.pack(generator.getTeam()));
    fs.writeFileSync(`${target}.${process.pid}`, lines.join('\n') + '\n');
    fs.renameSync(`${target}.${process.pid}`, target);
  }
}

const [task, ...rest] = process.argv.slice(2);
if (task === 'compose') composeAll(rest[0]);
else if (task === 'validate') validate(rest[0]);
else if (task === 'pool') pool(rest[0], rest[1], Number(rest[2]), Number(rest[3]), Number(rest[4]));
else throw new Error(`unknown task ${task}`);
