// Teams: built-in sets, validation, and pools for random formats.
//
//   node teams.js compose FOLDER                       writes FOLDER/<format>.txt, one packed team a line
//   node teams.js validate FORMAT                      reads [text] (JSON), each a team as an export or packed, and
//                                                      answers with [{packed, problems}]
//   node teams.js pool FORMAT FOLDER FIRST LAST SIZE   writes FOLDER/<number>.txt of SIZE generated teams for each
//                                                      number from FIRST to LAST that is not there yet
'use strict';
const fs = require('fs');
const path = require('path');
const { Dex, PRNG, TeamValidator, Teams, toID } = require('pokemon-showdown');

const BUILT_IN = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map(gen => `gen${gen}ou`),
  'gen9nationaldex', 'gen9vgc2024regg', 'gen9vgc2025regi',
  'gen9championsou', 'gen9championsvgc2026regma', 'gen9championsvgc2026regmb',
];
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];
const STAT_POINTS = Object.fromEntries(STATS.map(stat => [stat, 11])); // Champions' 66, spread evenly
const TEAMS_EACH = 128;
const MOST_TRIES = 4000;

/** Complete sets to draw from: [[set, ...] of one species, ...]. */
function candidates(formatid) {
  if (formatid.startsWith('gen9vgc')) return randomSets(['gen9randomdoublesbattle']);
  if (formatid.startsWith('gen9championsvgc')) {
    return randomSets(['gen9randomdoublesbattle', 'gen9championsrandombattle'], STAT_POINTS);
  }
  if (formatid === 'gen9championsou') return randomSets(['gen9championsrandombattle'], STAT_POINTS);
  if (formatid === 'gen9ou') return factorySets('OU');
  if (formatid === 'gen9nationaldex') return [...smogonSets('gen8nationaldex'), ...factorySets('OU')];
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

/** Sets as Showdown's generators of random formats make them, at level 50; with `evs`, these instead of theirs. */
function randomSets(formatids, evs) {
  const species = new Map();
  for (const formatid of formatids) {
    const generator = Teams.getGenerator(formatid, 'gen5,0000000000000002');
    for (let i = 0; i < 600; i++) {
      for (const set of generator.getTeam()) {
        const clean = { ...set, name: '', level: 50, shiny: false, evs: spread(evs ?? set.evs, 0), ivs: spread(set.ivs, 31) };
        if (!species.has(set.species)) species.set(set.species, []);
        species.get(set.species).push(clean);
      }
    }
  }
  return [...species.values()];
}

function first(value) {
  return Array.isArray(value) ? value[0] : value ?? '';
}

function spread(given, otherwise) {
  return Object.fromEntries(STATS.map(stat => [stat, given?.[stat] ?? otherwise]));
}

function dataFile(name) {
  return path.join(path.dirname(require.resolve('pokemon-showdown/package.json')), 'dist', 'data', name);
}

/** Draws six species and a set of each until Showdown's validator has passed enough teams. */
function compose(formatid) {
  const validator = TeamValidator.get(formatid);
  const itemClause = validator.ruleTable.has('itemclause');
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
      if (species.has(base) || (set.item && items.has(set.item) && itemClause)) continue;
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

/**
 * A team as people paste it, one paragraph a Pokémon. What a paragraph does not say is left for the validator, which
 * knows the format: full effort values in generations 1 and 2, none later, and the format's own level.
 */
function importTeam(text) {
  const sets = [];
  let set = null;
  for (const line of text.split('\n').map(line => line.trim())) {
    if (!line || line === '---') {
      set = null;
    } else if (!set) {
      set = heading(line);
      sets.push(set);
    } else if (line.startsWith('Dynamax Level: ')) {
      set.dynamaxLevel = Number(line.slice(15));
    } else {
      Teams.parseExportedTeamLine(line, false, set);
    }
  }
  return sets;
}

/** `Nickname (Species) (M) @ Item`, of which only the species must be there; a nickname may have brackets of its own. */
function heading(line) {
  const [, who, item = ''] = /^(.*?)(?: @ ([^@]*))?$/.exec(line);
  const [, called, gender = ''] = /^(.*?)(?: \(([MF])\))?$/.exec(who);
  const [, name, species] = /^(.*)\(([^()]*)\)$/.exec(called) ?? ['', '', called];
  return {
    name: name.trim(), species: Dex.species.get(species).name, item: toID(item) === 'noitem' ? '' : item,
    ability: '', gender, nature: '', moves: [],
  };
}

function validated(validator, text) {
  const team = text.includes('|') ? Teams.unpack(text) : importTeam(text);
  if (!team?.length) return { packed: '', problems: ['it is no team'] };
  const problems = validator.validateTeam(team) ?? [];
  return { packed: problems.length ? '' : Teams.pack(team), problems };
}

function validate(formatid) {
  const validator = TeamValidator.get(formatid);
  const answers = JSON.parse(fs.readFileSync(0, 'utf8')).map(text => {
    try {
      return validated(validator, text);
    } catch (error) { // the validator is not made for every nonsense
      return { packed: '', problems: [`Showdown's validator cannot read it: ${error.message}`] };
    }
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
