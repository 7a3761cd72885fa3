// Active moves: the copies of a move that a battle may change, made several times a decision.
//
// Showdown copies a move key by key, which also leaves an object that V8 looks up slowly ever after. Here the first copy
// of a move compiles a constructor with its values written out, and every further copy is one call of it. Only frozen
// moves are compiled, which never change; they are those that the dex keeps, so there are as many constructors as moves.
'use strict';

const constructors = new WeakMap();

function frozen(value) {
  if (value === null || typeof value !== 'object') return true;
  return Object.isFrozen(value) && Object.values(value).every(frozen);
}

/** JavaScript for a copy of `value`, which stands at `path`; null if it holds what cannot be written out. */
function source(value, path) {
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
      return String(value);
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'string':
      return JSON.stringify(value);
    case 'function':
      return path;
  }
  if (value === null) return 'null';
  const list = Array.isArray(value);
  if (Object.getPrototypeOf(value) !== (list ? Array.prototype : Object.prototype)) return null;
  const parts = [];
  for (const key of Object.keys(value)) {
    const part = source(value[key], `${path}[${JSON.stringify(key)}]`);
    if (part === null || key === '__proto__') return null;
    parts.push(list ? part : `${JSON.stringify(key)}:${part}`);
  }
  if (list) return parts.length === value.length ? `[${parts.join()}]` : null;
  return `{${parts.join()}}`;
}

/** A constructor of active copies of a move, or null if Showdown's own way must do. */
function compile(move) {
  if (!frozen(move)) return null;
  const lines = [];
  for (const key of Object.keys(move)) {
    const value = source(move[key], `move[${JSON.stringify(key)}]`);
    if (value === null) return null;
    lines.push(`this[${JSON.stringify(key)}]=${value};`);
  }
  lines.push('this.hit=0;');
  const constructor = new Function('move', `'use strict';return function(){${lines.join('')}}`)(move);
  constructor.prototype = Object.getPrototypeOf(move);
  return constructor;
}

const replaced = {
  getActiveMove(move) {
    if (move && typeof move.hit === 'number') return move;
    move = this.moves.get(move);
    let constructor = constructors.get(move);
    if (constructor === undefined) {
      constructor = compile(move);
      if (constructor) constructors.set(move, constructor);
    }
    if (constructor) return new constructor();
    const copy = this.deepClone(move);
    copy.hit = 0;
    return copy;
  },
};

module.exports = { replaced };
