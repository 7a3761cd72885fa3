// Showdown's battle engine, made faster without changing what it does: required once, before the first battle.
//
// The modules here replace methods of Showdown's classes by ones that give the same results with less work; the tests
// play battles with and without them and compare logs, requests and random numbers. They lean on how Showdown works
// inside, so a method is replaced only where its source, and that of all it stands in for, is the one that ours was
// written for; otherwise it is left as it is. `replaced` and `left` (with the reasons) say which, `notice` says it in a
// line, empty if nothing is left.
'use strict';
require('pokemon-showdown');
const { METHODS, find, sourceHash, version } = require('./methods');
const { showdown, sources } = require('./sources.json');

const MOST_NAMED = 4;

/** Why a method cannot be replaced; empty if it can. */
function objection(name) {
  for (const source of [name, ...METHODS[name].inlines]) {
    const hash = sourceHash(source);
    if (!hash) return `${source} is missing`;
    if (hash !== sources[source]) return `${source} differs`;
  }
  return '';
}

const left = {};
for (const name in METHODS) {
  const reason = objection(name);
  if (reason) left[name] = reason;
}
const replaced = Object.keys(METHODS).filter(name => !(name in left));
for (const name of replaced) {
  const [place, key] = find(name);
  Object.defineProperty(place, key, { value: METHODS[name].make(place[key]) });
}

function describe() {
  const names = Object.keys(left);
  if (!names.length) return '';
  const named = names.slice(0, MOST_NAMED).map(name => (left[name].startsWith(`${name} `) ? name : `${name} (${left[name]})`));
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return `pokemon-showdown ${version} is not quite the ${showdown} that the faster engine was written for: battles are ` +
    `slower, with ${names.length} of ${Object.keys(METHODS).length} methods left as they are: ${named.join(', ')}${more}`;
}

// `node index.js` tells which.
if (require.main === module) process.stdout.write(JSON.stringify({ replaced, left }));

module.exports = { replaced, left, notice: describe() };
