// Active moves: the copies of a move that a battle may change, made several times a decision.
//
// Showdown copies a move key by key, which also leaves an object that V8 looks up slowly ever after. Here the first copy
// of a move compiles a function with its values written out, and every further copy is one call of it. Only frozen moves
// are compiled, which never change; they are those that the dex keeps, so there are as many functions as moves.
//
// All copies are of one shape: whatever any move of the generation has, and what battles add, each has from the start,
// mostly undefined, and the same holds of their flags. With a shape for each set of keys there are more pairs of shape and
// property than V8 remembers, and it looks up nearly every access anew.
'use strict';

/** What battles add to active moves. */
const ADDED = [
  'hit', 'isExternal', 'pranksterBoosted', 'totalDamage', 'lastHit', 'moveHitData', 'hitTargets', 'selfDropped',
  'hasSheerForce', 'infiltrates', 'typeChangerBoosted', 'ruinedAtk', 'ruinedDef', 'ruinedSpA', 'ruinedSpD',
  'stellarBoosted', 'hasBounced',
];
const SHAPE = Symbol('shape of active moves');
const copiers = new WeakMap();

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

/** A constructor of objects with these keys, which takes their values. */
function constructorOf(keys, prototype) {
  const code = keys.map((key, i) => `this[${JSON.stringify(key)}]=v${i};`).join('');
  const constructor = new Function(`'use strict';return function(${keys.map((_, i) => `v${i}`).join()}){${code}}`)();
  constructor.prototype = prototype;
  return constructor;
}

/** The keys that active copies of some moves and of their flags have, and how to construct both. */
class Shape {
  constructor(moves) {
    this.moves = moves;
    const keys = new Set();
    const flags = new Set();
    for (const move of moves) {
      for (const key in move) if (Object.hasOwn(move, key)) keys.add(key);
      for (const flag in move.flags) flags.add(flag);
    }
    this.keys = [...new Set([...keys, ...ADDED])];
    this.flags = [...flags];
    this.Move = constructorOf(this.keys, Object.getPrototypeOf(moves[0]));
    this.Flags = constructorOf(this.flags, Object.prototype);
  }

  /** This shape, or a larger one, if it has no room for all that a move has. */
  fitting(move) {
    const fits = Object.keys(move).every(key => this.keys.includes(key)) &&
      Object.keys(move.flags).every(flag => this.flags.includes(flag));
    return fits ? this : new Shape([...this.moves, move]);
  }
}

/** The shape of the moves that a dex's generation knows. */
function shapeOf(dex) {
  return dex[SHAPE] ??= new Shape(dex.moves.all().filter(move => move.gen <= dex.gen));
}

/** A function that makes active copies of a dex's move, or null if Showdown's own way must do. */
function compile(dex, move) {
  const usual = shapeOf(dex);
  if (!frozen(move) || Object.getPrototypeOf(move) !== usual.Move.prototype) return null;
  const shape = usual.fitting(move);
  const written = (value, key, path) => (Object.hasOwn(value, key) ? source(value[key], path) : 'undefined');
  const flags = shape.flags.map(flag => written(move.flags, flag, `move.flags[${JSON.stringify(flag)}]`));
  const values = shape.keys.map(key => {
    if (key === 'hit') return '0';
    return key === 'flags' ? `new Flags(${flags.join()})` : written(move, key, `move[${JSON.stringify(key)}]`);
  });
  if (values.includes(null) || flags.includes(null)) return null;
  return new Function('move', 'Move', 'Flags', `'use strict';return ()=>new Move(${values.join()})`)(
    move, shape.Move, shape.Flags);
}

const replaced = {
  getActiveMove(move) {
    if (move && typeof move.hit === 'number') return move;
    move = this.moves.get(move);
    let copier = copiers.get(move);
    if (copier === undefined) {
      copier = compile(this, move);
      if (copier) copiers.set(move, copier);
    }
    if (copier) return copier();
    const copy = this.deepClone(move);
    copy.hit = 0;
    return copy;
  },
};

module.exports = { replaced };
