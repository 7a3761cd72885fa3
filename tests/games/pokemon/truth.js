// Plays seeded battles of random choices and tells the truth about them, for the tests of the tracker:
// each line of standard input, a JSON array FORMAT, BATTLES, SEED, TEAMS_FORMAT, HIDDEN, STEPS, MOVES, asks for some.
// The answer is one JSON object a line and decision point, and an empty line at the end. An object holds what each side
// was sent (lines, request), what the simulator would tell it instead if it must choose (`told`: lines, and the request
// as what changed), and the Battle's own state.
// TEAMS_FORMAT names a random format to draw teams from where FORMAT itself does not make any.
// With HIDDEN, what p1 cannot know of p2 at the start is another: order, moves, items, abilities and HP of its bench,
// the last move and the tera type of its leads, and which Pokémon it brings after team preview. STEPS ends battles early.
// With MOVES (a list of ids), every Pokémon has four of these instead of its own.
'use strict';
const { readSync, writeSync } = require('fs');
const { Battle, Teams, PRNG } = require('pokemon-showdown');
require('../../../src/sparring/games/pokemon/node/engine');
const { choose } = require('../../../src/sparring/games/pokemon/node/choices');
const { Asked, splitLines } = require('../../../src/sparring/games/pokemon/node/sides');

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
    acted: pokemon.moveThisTurn !== '' || [false, null].includes(pokemon.moveThisTurnResult),
    aimedAt: pokemon.battle.getAllActive().some(other => other.volatiles.lockon?.source === pokemon),
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

// With HIDDEN, p2 brings others after its leads.
const otherBench = order => [...order.slice(0, 2), ...order.slice(4, 6), ...order.slice(2, 4)];

function play(number, format, seed, teamsFormat, hidden, steps, moves) {
  const battleSeed = [seed, number, 1, 1];
  const prng = new PRNG(battleSeed);
  const battle = new Battle({ formatid: format, seed: battleSeed, send: () => {} });
  for (const side of ['p1', 'p2']) {
    let team = Teams.generate(teamsFormat || format, { seed: [seed, number, 2, side === 'p1' ? 1 : 2] });
    if (moves.length) {
      for (const set of team) {
        const known = [...moves];
        prng.shuffle(known);
        set.moves = known.slice(0, 4);
      }
    }
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
  const asked = [new Asked(), new Asked()];
  const untold = [[], []];
  for (let step = 0; step < steps; step++) {
    const ended = battle.ended;
    splitLines(battle.log, position, untold);
    writeAll(JSON.stringify({
      battle: number,
      step,
      ended,
      truth: truthOf(battle),
      sides: battle.sides.map((side, i) => ({
        lines: linesFor(battle.log, position, side.id),
        request: ended ? null : side.activeRequest,
        told: !side.requestState ? null : {
          lines: untold[i].splice(0).join('\n'),
          request: JSON.stringify(asked[i].change(side)),
        },
      })),
    }) + '\n');
    position = battle.log.length;
    if (ended) break;
    for (const side of battle.sides) {
      const request = side.activeRequest;
      if (!request || request.wait || side.isChoiceDone()) continue;
      const choice = choose(prng, request, hidden && side.id === 'p2' ? otherBench : undefined);
      if (!battle.choose(side.id, choice) && !battle.choose(side.id, 'default')) {
        throw new Error(`${format} battle ${number}: ${choice} and default refused: ${side.choice.error}`);
      }
    }
  }
  battle.destroy();
}

function readLine() {
  const byte = Buffer.alloc(1);
  const line = [];
  while (readSync(0, byte, 0, 1, null) && byte[0] !== 10) line.push(byte[0]);
  return Buffer.from(line).toString();
}

for (let line; (line = readLine());) {
  const [format, battles, ...options] = JSON.parse(line);
  for (let number = 0; number < battles; number++) play(number, format, ...options);
  writeAll('\n');
}
