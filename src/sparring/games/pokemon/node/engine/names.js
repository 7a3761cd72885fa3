// Looking things up by name: what a name or an id led to is remembered instead of made into an id again.
//
// Only what exists is remembered, under its own name and id, so there are at most two entries a thing in a dex.
'use strict';
const { toID } = require('pokemon-showdown/dist/sim/dex-data');

const KNOWN = Symbol('known by name');
const MOST_IDS = 4096;
const ids = new Map();

/** Showdown's `toID`, for the few names that its code itself asks about. */
function idOf(text) {
  if (typeof text !== 'string') return toID(text);
  let id = ids.get(text);
  if (id === undefined) {
    id = toID(text);
    if (ids.size < MOST_IDS) ids.set(text, id);
  }
  return id;
}

const replaced = {
  /** The `get` of one of the dex's tables, made from Showdown's. */
  get(own) {
    return function get(name) {
      if (typeof name !== 'string') return own.call(this, name);
      const known = (this[KNOWN] ??= new Map()).get(name);
      if (known) return known;
      const found = own.call(this, name);
      if (found.exists && (name === found.id || name === found.name)) this[KNOWN].set(name, found);
      return found;
    };
  },
};

module.exports = { idOf, replaced };
