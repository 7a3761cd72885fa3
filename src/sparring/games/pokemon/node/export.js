// Writes Showdown's own tables as JSON: `node export.js FOLDER` makes FOLDER/gen1.json .. gen9.json, one more for each of
// MODS, and FOLDER/formats.json. Everything that Sparring knows of species, moves, items and rules comes from here.
'use strict';
const fs = require('fs');
const path = require('path');
const { Dex, toID } = require('pokemon-showdown');

const MOVE_FIELDS = [
  'name', 'num', 'gen', 'type', 'category', 'target', 'basePower', 'accuracy', 'pp', 'noPPBoosts', 'priority',
  'critRatio', 'willCrit', 'drain', 'recoil', 'heal', 'multihit', 'multiaccuracy', 'ohko', 'damage', 'flags',
  'secondaries', 'status', 'volatileStatus', 'boosts', 'self', 'selfBoost', 'selfdestruct', 'selfSwitch',
  'forceSwitch', 'sideCondition', 'slotCondition', 'pseudoWeather', 'weather', 'terrain', 'breaksProtect',
  'stallingMove', 'sleepUsable', 'hasCrashDamage', 'mindBlownRecoil', 'struggleRecoil', 'thawsTarget',
  'ignoreAbility', 'ignoreImmunity', 'ignoreDefensive', 'ignoreEvasion', 'ignoreOffensive', 'forceSTAB',
  'overrideOffensiveStat', 'overrideOffensivePokemon', 'overrideDefensiveStat', 'overrideDefensivePokemon',
  'tracksTarget', 'smartTarget', 'spreadModifier', 'hasSheerForce', 'isZ', 'isMax', 'zMove', 'maxMove',
  'nonGhostTarget', 'realMove', 'baseMove',
];
const ITEM_FIELDS = [
  'name', 'num', 'gen', 'isBerry', 'isGem', 'isChoice', 'isPokeball', 'isPrimalOrb', 'megaStone', 'zMove',
  'zMoveType', 'zMoveFrom', 'itemUser', 'onPlate', 'onMemory', 'onDrive', 'forcedForme', 'fling', 'naturalGift',
  'ignoreKlutz', 'boosts', 'shortDesc',
];
/** Mods whose moves, items or abilities are not their generation's; they must have the same ids. */
const MODS = ['champions', 'championsregma'].filter(mod => mod in Dex.includeMods().dexes);
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];

/** The plain-data part of `source`, only `fields`, without what is undefined, false or a function. */
function pick(source, fields) {
  const kept = {};
  for (const field of fields) {
    const value = source[field];
    if (value !== undefined && value !== false && value !== null && value !== '' && typeof value !== 'function') {
      kept[field] = value;
    }
  }
  return kept;
}

function exportSpecies(species) {
  return {
    ...pick(species, [
      'name', 'num', 'gen', 'baseSpecies', 'forme', 'types', 'gender', 'weightkg', 'nfe', 'prevo', 'evos',
      'isMega', 'isPrimal', 'canGigantamax', 'cannotDynamax', 'requiredItems', 'battleOnly', 'maxHP',
      'forceTeraType', 'tier', 'cosmeticFormes', 'otherFormes',
    ]),
    abilities: species.abilities,
    baseStats: STATS.map(stat => species.baseStats[stat]),
    exists: !species.isNonstandard || species.isNonstandard === 'Past',
  };
}

/** PP with all PP Ups, as every team has them. */
function fullPP(dex, move) {
  if (dex.data.Scripts.calculatePP) return dex.data.Scripts.calculatePP(move, 3);
  const pp = move.noPPBoosts ? move.pp : Math.floor(move.pp * 8 / 5);
  return dex.gen <= 2 ? Math.min(pp, 61) : pp;
}

function exportDex(dex) {
  const exists = thing => !['Future', 'CAP', 'Custom'].includes(thing.isNonstandard);
  const byId = (things, convert) => Object.fromEntries(things.map(thing => [toID(thing.name), convert(thing)]));
  const conditions = {};
  for (const [id, data] of Object.entries(dex.data.Conditions)) {
    conditions[id] = pick({ ...data, id: undefined }, ['name', 'effectType', 'duration']);
  }
  for (const move of dex.moves.all()) {
    if (!move.condition) continue;
    const kind = ['sideCondition', 'slotCondition', 'pseudoWeather', 'weather', 'terrain', 'volatileStatus']
      .find(key => move[key] !== undefined && toID(move[key]) === move.id) ?? 'volatileStatus';
    conditions[move.id] = { name: move.name, kind, ...pick(move.condition, ['duration']) };
  }
  return {
    generation: dex.gen,
    species: byId(dex.species.all().filter(species => !species.isCosmeticForme), exportSpecies),
    moves: byId(dex.moves.all(), move => ({
      ...pick(move, MOVE_FIELDS), fullPP: fullPP(dex, move), exists: exists(move),
    })),
    items: byId(dex.items.all(), item => ({ ...pick(item, ITEM_FIELDS), exists: exists(item) })),
    abilities: byId(dex.abilities.all(), ability => ({
      ...pick(ability, ['name', 'num', 'gen', 'flags', 'shortDesc']), exists: exists(ability),
    })),
    natures: byId(dex.natures.all(), nature => pick(nature, ['name', 'plus', 'minus'])),
    types: byId(dex.types.all(), type => ({ ...pick(type, ['name', 'damageTaken']), exists: exists(type) })),
    conditions,
  };
}

/** The names of the rules that battles of a format tell as they begin, as their lines name them. */
function toldRules(format, rules) {
  const dex = Dex.forFormat(format);
  const told = new Set();
  const battle = {
    format, dex, ruleTable: rules, gen: dex.gen, sides: [], getAllPokemon: () => [],
    add: (kind, text) => kind === 'rule' && told.add(text.split(':')[0]),
  };
  const begun = [...rules.keys()].filter(rule => !'+*-!'.includes(rule.charAt(0))).map(rule => dex.formats.get(rule));
  for (const rule of [format, ...begun]) {
    try {
      rule.onBegin?.call(battle);
    } catch {
      // It wants a real battle, and has told its name before.
    }
  }
  return [...told].sort();
}

/** Every format of two seats that a Battle can be made for. */
function exportFormats() {
  const formats = {};
  for (const format of Dex.formats.all()) {
    if (format.effectType !== 'Format' || !['singles', 'doubles'].includes(format.gameType)) continue;
    let rules;
    try {
      rules = Dex.formats.getRuleTable(format);
    } catch (error) {
      process.stderr.write(`format ${format.id} is left out: ${error.message}\n`);
      continue;
    }
    formats[format.id] = {
      name: format.name,
      generation: Dex.forFormat(format).gen,
      mod: format.mod,
      tables: MODS.includes(format.mod) ? format.mod : `gen${Dex.forFormat(format).gen}`,
      gameType: format.gameType,
      randomTeams: Boolean(format.team),
      teamPreview: rules.has('teampreview'),
      openTeamSheets: rules.has('openteamsheets') || rules.has('forceopenteamsheets'),
      pickedTeamSize: rules.pickedTeamSize || rules.maxTeamSize,
      maxTeamSize: rules.maxTeamSize,
      adjustLevel: rules.adjustLevel ?? rules.adjustLevelDown ?? 0,
      section: format.section,
      rules: toldRules(format, rules),
    };
  }
  return formats;
}

function main(folder) {
  fs.mkdirSync(folder, { recursive: true });
  for (const mod of ['gen1', 'gen2', 'gen3', 'gen4', 'gen5', 'gen6', 'gen7', 'gen8', 'gen9', ...MODS]) {
    fs.writeFileSync(path.join(folder, `${mod}.json`), JSON.stringify(exportDex(Dex.mod(mod))));
  }
  fs.writeFileSync(path.join(folder, 'formats.json'), JSON.stringify(exportFormats()));
}

main(process.argv[2]);
