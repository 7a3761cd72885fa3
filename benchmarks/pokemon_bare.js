// The limit of pokemon_arena.py: Showdown battles with random choices and nothing else, in one process.
//   node pokemon_bare.js FORMAT POOL SECONDS WARMUP [ENGINE]   prints {decisions, seconds, cpu}
// Showdown is as it comes, unless ENGINE names the module that makes it faster.
'use strict';
const fs = require('fs');
const { Battle } = require('pokemon-showdown');

const [format, pool, seconds, warmup, engine] = process.argv.slice(2);
if (engine) require(engine);
const teams = fs.readFileSync(pool, 'utf8').trim().split('\n');
const below = n => Math.floor(Math.random() * n);
const one = list => list[below(list.length)];

function choice(side) {
  const { active, forceSwitch, side: team } = side.activeRequest;
  const places = (active ?? forceSwitch).length;
  const bench = team.pokemon.map((pokemon, i) => (pokemon.active || pokemon.condition.endsWith(' fnt') ? 0 : i + 1));
  const reserves = bench.filter(Boolean);
  const orders = [];
  for (let place = 0; place < places; place++) {
    if (forceSwitch ? !forceSwitch[place] : team.pokemon[place].condition.endsWith(' fnt')) {
      orders.push('pass');
      continue;
    }
    const options = forceSwitch || active[place].trapped ? [] : reserves.map(slot => `switch ${slot}`);
    if (forceSwitch) options.push(...(reserves.length ? reserves.map(slot => `switch ${slot}`) : ['pass']));
    for (const [i, move] of (active?.[place].moves ?? []).entries()) {
      const aims = places > 1 && ['normal', 'any', 'adjacentFoe'].includes(move.target);
      if (!move.disabled) options.push(`move ${i + 1}${aims ? ` ${1 + below(2)}` : ''}`);
    }
    orders.push(one(options));
  }
  return orders.join(', ');
}

function hex() {
  return Array.from({ length: 16 }, () => below(16).toString(16)).join('');
}

function play(milliseconds) {
  const start = Date.now();
  const before = process.cpuUsage();
  let decisions = 0;
  while (Date.now() - start < milliseconds) {
    const battle = new Battle({
      formatid: format, seed: `gen5,${hex()}`, send: () => {},
      p1: { name: 'Seat 1', team: one(teams) }, p2: { name: 'Seat 2', team: one(teams) },
    });
    while (!battle.ended && Date.now() - start < milliseconds) {
      for (const side of battle.sides) {
        if (!side.requestState || side.isChoiceDone()) continue;
        decisions++;
        if (!battle.choose(side.id, choice(side))) battle.choose(side.id, 'default');
      }
      battle.sendUpdates();
    }
    battle.destroy();
  }
  const used = process.cpuUsage(before);
  return { decisions, seconds: (Date.now() - start) / 1000, cpu: (used.user + used.system) / 1e6 };
}

play(1000 * Number(warmup));
console.log(JSON.stringify(play(1000 * Number(seconds))));
