// The judge of the action tests: holds one real Battle and says which choice strings Showdown would take.
//
// One JSON command a line on stdin, one JSON answer a line on stdout:
//   {"start": {"formatid", "seed", "teams": [t1, t2] | null, "setup": js | null}} -> state
//   {"try": [side, [choice, ...]]}  -> [[verdict, canonical], ...]   leaves the battle as it was
//   {"teams": [formatid, seed]} -> [packed, packed]                  random teams
//   {"run": js} -> its value                                         for situations that play does not reach
//   {"choose": [c1 | null, c2 | null]} -> state, with "errors" for the sides that were refused
// A state has the requests, and the lines each side was told since the last. A verdict is "ok", "unavailable" (hidden information) or "invalid"; canonical says what Showdown understood.
'use strict';
const {Battle, Teams} = require('pokemon-showdown');
const {splitLines} = require('../../../src/sparring/games/pokemon/node/sides');
let battle = null;
let told = 0;
let errors = ['', ''];

function send(type, data) {
  if (type !== 'sideupdate') return;
  const text = Array.isArray(data) ? data.join('\n') : data;
  const found = /^(p[12])\n\|error\|(.*)$/m.exec(text);
  if (found) errors[found[1] === 'p1' ? 0 : 1] = found[2];
}

function state() {
  const lines = [[], []];
  splitLines(battle.log, told, lines);
  told = battle.log.length;
  return {
    lines,
    ended: battle.ended,
    turn: battle.turn,
    requests: battle.sides.map(side => side.requestState && !side.isChoiceDone() ? side.activeRequest : null),
    errors,
  };
}

const FLAGS = ['maybeTrapped', 'maybeDisabled', 'maybeLocked', 'trapped', 'switchFlag'];

function attempt(side, choice, request) {
  const index = side.n;
  const flags = side.active.map(p => p && FLAGS.map(flag => p[flag]));
  errors[index] = '';
  side.clearChoice();
  let verdict = 'ok';
  let canonical = '';
  try {
    if (!side.choose(choice) || !side.isChoiceDone()) {
      verdict = errors[index].startsWith('[Unavailable') ? 'unavailable' : 'invalid';
    } else {
      canonical = side.choice.actions.map(a => [
        a.choice, a.moveid || '', a.targetLoc || 0, a.mega ? 'mega' : '', a.megax ? 'megax' : '', a.megay ? 'megay' : '',
        a.zmove || '', a.maxMove ? `max ${side.choice.dynamax}` : '', a.terastallize || '', a.target ? side.pokemon.indexOf(a.target) : '',
        a.choice === 'team' ? side.pokemon.indexOf(a.pokemon) : '',
      ].join('|')).join(';');
    }
  } catch (error) {
    verdict = 'invalid';
  }
  if (verdict !== 'ok') side.activeRequest = JSON.parse(request);  // a refusal may tell more than was known
  side.active.forEach((p, i) => p && FLAGS.forEach((flag, j) => { p[flag] = flags[i][j]; }));
  side.clearChoice();
  errors[index] = '';
  return [verdict, canonical];
}

function once(make) {
  let made;
  return () => made ??= make();
}

function answer(command) {
  if (command.start) {
    const {formatid, seed, teams, setup} = command.start;
    errors = ['', ''];
    told = 0;
    if (battle) battle.destroy();
    battle = new Battle({formatid, seed, send});
    for (const [i, id] of ['p1', 'p2'].entries()) {
      battle.setPlayer(id, {name: id, team: teams ? teams[i] : Teams.pack(Teams.generate(formatid, {seed: [...seed.slice(0, 3), seed[3] + i]}))});
    }
    if (setup) new Function('battle', setup)(battle);
    return state();
  }
  if (command.try) {
    const side = battle.sides[command.try[0]];
    const request = JSON.stringify(side.activeRequest);
    const asked = [...side.active];
    // Showdown works out for each choice anew what it offered; while nothing changes that is the same each time.
    for (const pokemon of asked) {
      if (pokemon) pokemon.getMoveRequestData = once(pokemon.getMoveRequestData.bind(pokemon));
    }
    const verdicts = command.try[1].map(choice => attempt(side, choice, request));
    for (const pokemon of asked) if (pokemon) delete pokemon.getMoveRequestData;
    return verdicts;
  }
  if (command.teams) {
    const [formatid, seed] = command.teams;
    return [0, 1].map(i => Teams.pack(Teams.generate(formatid, {seed: [seed, seed + 1, seed + 2, seed + 3 + i]})));
  }
  if (command.run) return new Function('battle', 'state', command.run)(battle, state);
  errors = ['', ''];
  command.choose.forEach((choice, i) => { if (choice !== null) battle.choose(['p1', 'p2'][i], choice); });
  battle.sendUpdates();
  return state();
}

require('readline').createInterface({input: process.stdin}).on('line', line => {
  let out;
  try {
    out = answer(JSON.parse(line));
  } catch (error) {
    out = {crash: error.stack};
  }
  process.stdout.write(JSON.stringify(out ?? null) + '\n');
});
