// Plays seeded battles of random choices and tells the truth about them, for the tests of the tracker:
//     node truth.js FORMAT BATTLES SEED [TEAMS_FORMAT [hidden [STEPS]]]
// One JSON object a line and decision point: what each side was sent (lines, request), and the Battle's own state.
// TEAMS_FORMAT names a random format to draw teams from where FORMAT itself does not make any.
// With `hidden`, what p1 cannot know of p2 at the start is another: order, moves, items, abilities and HP of its bench,
// the last move and the tera type of its leads, and which Pokémon it brings after team preview. STEPS ends battles early.
'use strict';
const { writeSync } = require('fs');
const { Battle, Teams, PRNG } = require('pokemon-showdown');

const [format, battles, seed, teamsFormat, hidden, steps] = process.argv.slice(2);

// Waits for the reader; process.stdout would pile up what it has not read.
function writeAll(text) {
  let rest = Buffer.from(text);
  while (rest.length) rest = rest.subarray(writeSync(1, rest));
}

function linesFor(log, start, side) {
  const lines = [];
  for (let i = start; i < log.length; i++) {
    if (log[i].startsWith('|split|')) {
      const line = log[i].slice(7) === side ? log[i + 1] : log[i + 2];
      if (line) lines.push(line);
      i += 2;
    } else {
      lines.push(log[i]);
    }
  }
  return lines;
}

const counts = state => {
  const kept = {};
  for (const key of ['duration', 'layers', 'counter', 'stage', 'time', 'startTime', 'move', 'bestStat', 'turns', 'fallen']) {
    if (['number', 'string'].includes(typeof state[key])) kept[key] = state[key];
  }
  return kept;
};
const all = states => Object.fromEntries(Object.entries(states).map(([id, state]) => [id, counts(state)]));
const slots = moves => moves.map(move => ({ id: move.id, pp: move.pp, maxpp: move.maxpp }));

function truthOfPokemon(pokemon) {
  const active = pokemon.isActive && !pokemon.fainted;
  return {
    name: pokemon.name,
    index: pokemon.team_index,
    position: pokemon.position,
    active,
    illusion: pokemon.illusion ? pokemon.illusion.team_index : null,
    species: pokemon.species.id,
    baseSpecies: pokemon.baseSpecies.id,
    level: pokemon.level,
    hp: pokemon.hp,
    maxhp: pokemon.maxhp,
    shown: pokemon.getHealth().shared,
    fainted: pokemon.fainted,
    status: pokemon.status,
    statusState: counts(pokemon.statusState),
    item: pokemon.item,
    ability: pokemon.ability,
    baseAbility: pokemon.baseAbility,
    moves: slots(pokemon.baseMoveSlots),
    currentMoves: slots(pokemon.moveSlots),
    boosts: pokemon.boosts,
    volatiles: all(pokemon.volatiles),
    types: active ? pokemon.getTypes(true) : pokemon.types,
    addedType: pokemon.addedType,
    transformed: pokemon.transformed,
    teraType: pokemon.teraType,
    terastallized: pokemon.terastallized || '',
    lastMove: pokemon.lastMove ? pokemon.lastMove.id : '',
    activeTurns: pokemon.activeTurns,
    stats: pokemon.baseStoredStats,
  };
}

function truthOf(battle) {
  return {
    turn: battle.turn,
    weather: battle.field.weather,
    weatherState: counts(battle.field.weatherState),
    terrain: battle.field.terrain,
    terrainState: counts(battle.field.terrainState),
    pseudoWeather: all(battle.field.pseudoWeather),
    sides: battle.sides.map(side => ({
      pokemon: side.team_order.map(truthOfPokemon),
      left: side.pokemonLeft,
      conditions: all(side.sideConditions),
      slotConditions: side.slotConditions.map(all),
      zMoveUsed: side.zMoveUsed,
      dynamaxUsed: side.dynamaxUsed,
    })),
  };
}

const sample = (prng, list) => list[prng.random(list.length)];

function chooseSwitch(prng, team, taken, reviving, actives) {
  const open = team.map((_, i) => i).filter(i => {
    if (taken.has(i) || (i < actives && !reviving)) return false;
    return team[i].condition.endsWith(' fnt') === reviving;
  });
  if (!open.length) return 'pass';
  const chosen = sample(prng, open);
  taken.add(chosen);
  return `switch ${chosen + 1}`;
}

function chooseAction(prng, request, i, taken, used) {
  const active = request.active[i];
  const team = request.side.pokemon;
  if (!active || team[i].condition.endsWith(' fnt') || team[i].commanding) return 'pass';
  if (!active.trapped && prng.random(100) < 15) {
    const choice = chooseSwitch(prng, team, taken, false, request.active.length);
    if (choice !== 'pass') return choice;
  }
  const gimmicks = [];
  if (active.canMegaEvo) gimmicks.push('mega');
  if (active.canUltraBurst) gimmicks.push('ultra');
  if (active.canTerastallize) gimmicks.push('terastallize');
  if (active.canDynamax) gimmicks.push('dynamax');
  if (active.canZMove) gimmicks.push('zmove');
  let gimmick = gimmicks.length && prng.random(100) < 20 ? sample(prng, gimmicks) : '';
  if (used.has(gimmick)) gimmick = '';
  let moves = active.moves;
  if (gimmick === 'zmove') moves = active.canZMove.map((z, j) => z && { ...z, disabled: active.moves[j].disabled });
  else if (gimmick === 'dynamax' || (active.maxMoves && !active.canDynamax)) moves = active.maxMoves.maxMoves;
  let open = moves.map((_, j) => j).filter(j => moves[j] && !moves[j].disabled);
  if (!open.length) {
    gimmick = '';
    moves = active.moves;
    open = moves.map((_, j) => j).filter(j => !moves[j].disabled);
  }
  if (gimmick) used.add(gimmick);
  const slot = open.length ? sample(prng, open) : 0;
  let choice = `move ${slot + 1}`;
  if (request.active.length > 1) {
    const target = moves[slot].target;
    if (['normal', 'any', 'adjacentFoe'].includes(target)) choice += ` ${1 + prng.random(2)}`;
    else if (target === 'adjacentAlly') choice += ` -${2 - i}`;
    else if (target === 'adjacentAllyOrSelf') choice += ` -${1 + prng.random(2)}`;
  }
  return gimmick ? `${choice} ${gimmick}` : choice;
}

function changeHidden(team, preview, leads) {
  const bench = preview ? team.slice(leads) : team.slice(leads).reverse();
  for (const set of preview ? team : bench) {
    set.moves = ['Tackle', 'Growl', 'Scratch', 'Leer'].slice(0, set.moves.length);
    set.item = set.item && 'Berry Juice';
    set.ability = set.ability && 'Honey Gather';
    set.evs = { hp: 4, atk: 0, def: 0, spa: 0, spd: 0, spe: 0 };
    set.teraType = 'Bug';
  }
  for (const set of preview ? [] : team.slice(0, leads)) {
    set.moves[set.moves.length - 1] = 'Splash';
    set.teraType = 'Bug';
  }
  return [...team.slice(0, leads), ...bench];
}

function choose(prng, request) {
  const taken = new Set();
  const team = request.side.pokemon;
  if (request.teamPreview) {
    const order = team.map((_, i) => i + 1);
    prng.shuffle(order);
    if (hidden && request.side.id === 'p2') order.splice(2, 4, order[4], order[5], order[2], order[3]);
    return `team ${order.slice(0, request.maxChosenTeamSize ?? order.length).join('')}`;
  }
  if (request.forceSwitch) {
    return request.forceSwitch.map((must, i) =>
      must ? chooseSwitch(prng, team, taken, Boolean(team[i].reviving), request.forceSwitch.length) : 'pass').join(', ');
  }
  const used = new Set();
  return request.active.map((_, i) => chooseAction(prng, request, i, taken, used)).join(', ');
}

function play(number) {
  const battleSeed = [seed, number, 1, 1].map(Number);
  const prng = new PRNG(battleSeed);
  const battle = new Battle({ formatid: format, seed: battleSeed, send: () => {} });
  for (const side of ['p1', 'p2']) {
    let team = Teams.generate(teamsFormat || format, { seed: [Number(seed), number, 2, side === 'p1' ? 1 : 2] });
    if (hidden && side === 'p2') {
      const preview = battle.ruleTable.has('teampreview');
      team = changeHidden(team, preview, battle.gameType === 'doubles' ? 2 : 1);
    }
    battle.setPlayer(side, { name: side, team: Teams.pack(team) });
  }
  for (const side of battle.sides) {
    side.team_order = [...side.pokemon];
    side.team_order.forEach((pokemon, i) => { pokemon.team_index = i; });
  }
  let position = 0;
  for (let step = 0; step < Number(steps || 1000); step++) {
    const ended = battle.ended;
    writeAll(JSON.stringify({
      battle: number,
      step,
      ended,
      truth: truthOf(battle),
      sides: battle.sides.map(side => ({
        lines: linesFor(battle.log, position, side.id),
        request: ended ? null : side.activeRequest,
      })),
    }) + '\n');
    position = battle.log.length;
    if (ended) break;
    for (const side of battle.sides) {
      const request = side.activeRequest;
      if (!request || request.wait || side.isChoiceDone()) continue;
      const choice = choose(prng, request);
      if (!battle.choose(side.id, choice) && !battle.choose(side.id, 'default')) {
        throw new Error(`${format} battle ${number}: ${choice} and default refused: ${side.choice.error}`);
      }
    }
  }
  battle.destroy();
}

for (let number = 0; number < Number(battles); number++) play(number);
