// Plays battles with the faster engine and prints how many Pokémon and last moves there were at the end of each, how
// many of them have a shape at all, and how many are of the commonest one.
//     node --allow-natives-syntax shapes.js NODE_FOLDER FORMAT BATTLES
'use strict';
const { Battle, PRNG, Teams } = require('pokemon-showdown');

const [folder, format, battles] = process.argv.slice(2);
require(`${folder}/engine`);
const { choose } = require(`${folder}/choices`);
const isFast = new Function('object', 'return %HasFastProperties(object)');
const haveSameShape = new Function('one', 'other', 'return %HaveSameMap(one, other)');

function count(objects) {
  const kinds = [];
  for (const object of objects.filter(isFast)) {
    const kind = kinds.find(([first]) => haveSameShape(first, object));
    if (kind) kind.push(object);
    else kinds.push([object]);
  }
  return { all: objects.length, fast: objects.filter(isFast).length, alike: Math.max(...kinds.map(kind => kind.length)) };
}

const pokemon = [];
const moves = [];
for (let number = 0; number < Number(battles); number++) {
  const prng = new PRNG([1, 2, 3, number]);
  const team = side => Teams.pack(Teams.generate(format, { seed: [5, number, 2, side] }));
  const battle = new Battle({
    formatid: format, seed: [7, 8, 9, number], send: () => {},
    p1: { name: 'one', team: team(1) }, p2: { name: 'two', team: team(2) },
  });
  for (let step = 0; step < 500 && !battle.ended; step++) {
    for (const side of battle.sides) {
      if (!side.activeRequest || side.activeRequest.wait || side.isChoiceDone()) continue;
      if (!battle.choose(side.id, choose(prng, side.activeRequest))) battle.choose(side.id, 'default');
    }
  }
  for (const side of battle.sides) pokemon.push(...side.pokemon);
}
moves.push(...pokemon.map(one => one.lastMove).filter(Boolean));
process.stdout.write(JSON.stringify({ pokemon: count(pokemon), moves: count(moves) }));
