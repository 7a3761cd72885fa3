// Active moves: the copies of a move that a battle may change, made several times a decision.
//
// Showdown copies a move key by key, which also leaves an object that V8 looks up slowly ever after. Here the first copy
// of a move compiles a function with its values written out, and every further copy is one call of it. Only frozen moves
// are compiled, which never change; they are those that the dex keeps, so there are as many functions as moves. Copies of
// moves that have the same keys are made by one constructor: to V8 they are of one kind.
'use strict';

const copiers = new WeakMap();
const constructors = new Map();

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

/** The constructor of active moves with these keys, which takes their values. */
function constructorOf(keys, prototype) {
  const code = keys.map((key, i) => `this[${JSON.stringify(key)}]=v${i};`).join('');
  let constructor = constructors.get(code);
  if (!constructor || constructor.prototype !== prototype) {
    constructor = new Function(`'use strict';return function(${keys.map((_, i) => `v${i}`).join()}){${code}this.hit=0;}`)();
    constructor.prototype = prototype;
    constructors.set(code, constructor);
  }
  return constructor;
}

/** A function that makes active copies of a move, or null if Showdown's own way must do. */
function compile(move) {
  if (!frozen(move)) return null;
  const keys = Object.keys(move);
  const values = keys.map(key => source(move[key], `move[${JSON.stringify(key)}]`));
  if (values.includes(null)) return null;
  const constructor = constructorOf(keys, Object.getPrototypeOf(move));
  return new Function('move', 'Copy', `'use strict';return ()=>new Copy(${values.join()})`)(move, constructor);
}

const replaced = {
  getActiveMove(move) {
    if (move && typeof move.hit === 'number') return move;
    move = this.moves.get(move);
    let copier = copiers.get(move);
    if (copier === undefined) {
      copier = compile(move);
      if (copier) copiers.set(move, copier);
    }
    if (copier) return copier();
    const copy = this.deepClone(move);
    copy.hit = 0;
    return copy;
  },
};

module.exports = { replaced };
