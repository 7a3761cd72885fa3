// Plays seeded battles of random choices with Showdown as it is or with the faster engine, to show that both do the same:
//     node parity.js ENGINE FAMILIES [SHOW]
// ENGINE is `plain` or `fast`. FAMILIES is JSON, a list of {format, teams, sheets, battles, seed}: `teams` is a file of
// packed teams or a random format to draw them from, `sheets` opens team sheets. One line a battle: the family's number,
// decisions, and a digest of all that the engine did (log with its secret lines, requests, messages to the sides, choices
// and the state of its random numbers). With SHOW, the transcript of that battle of each family.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const { Battle, Teams, PRNG } = require('pokemon-showdown');
const { choose } = require('./choices');

const [engine, families, show] = process.argv.slice(2);
if (engine === 'fast') require('./engine');
Date.now = () => 0;
const NONSENSE = ['move 7', 'switch 1', 'switch 9', 'move tackle mega zmove', 'pass', 'team 11', 'undo', ''];

function team(family, prng, number, side) {
  if (!family.teams.endsWith('.txt')) {
    return Teams.pack(Teams.generate(family.teams, { seed: [family.seed, number, 2, side] }));
  }
  family.pool ??= fs.readFileSync(family.teams, 'utf8').trim().split('\n');
  return family.pool[prng.random(family.pool.length)];
}

function play(family, number, record) {
  const { format, seed, sheets } = family;
  const prng = new PRNG([seed, number, 1, 1]);
  const battle = new Battle({
    formatid: format,
    seed: [seed, number, 3, 1],
    send: (type, data) => { if (type !== 'update') record(`${type} ${data}`); },
    p1: { name: 'one', team: team(family, prng, number, 1) },
    p2: { name: 'two', team: team(family, prng, number, 2) },
  });
  if (sheets) battle.showOpenTeamSheets();
  let decisions = 0;
  let position = 0;
  for (let step = 0; step < 1200 && !battle.ended; step++) {
    for (; position < battle.log.length; position++) record(battle.log[position]);
    for (const side of battle.sides) record(`${side.id} ${JSON.stringify(side.activeRequest)}`);
    record(`random ${battle.prng.getSeed()}`);
    for (const side of battle.sides) {
      const request = side.activeRequest;
      if (!request || request.wait || side.isChoiceDone()) continue;
      if (prng.random(100) < 5) {
        const nonsense = NONSENSE[prng.random(NONSENSE.length)];
        if (nonsense === 'undo') battle.undoChoice(side.id);
        else record(`${nonsense}: ${battle.choose(side.id, nonsense)} ${side.choice.error}`);
        if (side.activeRequest !== request || side.isChoiceDone()) continue;
      }
      decisions++;
      const choice = choose(prng, request);
      record(`${side.id} ${choice}`);
      if (!battle.choose(side.id, choice) && !battle.choose(side.id, 'default')) {
        throw new Error(`${format} battle ${number}: ${choice} and default refused: ${side.choice.error}`);
      }
    }
    battle.sendUpdates();
  }
  for (; position < battle.log.length; position++) record(battle.log[position]);
  record(`random ${battle.prng.getSeed()} winner ${battle.winner} turn ${battle.turn}`);
  record(battle.inputLog.join('\n'));
  battle.destroy();
  return decisions;
}

function run(family, index, number) {
  const digest = crypto.createHash('sha256');
  const record = show ? line => fs.writeSync(1, line + '\n') : line => digest.update(line + '\n');
  let decisions = 0;
  try {
    decisions = play(family, number, record);
  } catch (error) {
    record(`threw ${error.message}`);
  }
  if (!show) fs.writeSync(1, `${index} ${decisions} ${digest.digest('hex')}\n`);
}

for (const [index, family] of JSON.parse(families).entries()) {
  if (show) run(family, index, Number(show));
  else for (let number = 0; number < family.battles; number++) run(family, index, number);
}
