// Lines of the battle's log, put together without lists between.
'use strict';

/** As `Array.join` writes a part. */
function text(part) {
  if (typeof part === 'string') return part;
  return part === null || part === undefined ? '' : `${part}`;
}

function addSplit(battle, parts) {
  let side = null;
  let secret = '';
  let shared = '';
  for (const part of parts) {
    if (typeof part === 'function') {
      const split = part();
      if (side && side !== split.side) throw new Error('Multiple sides passed to add');
      side = split.side;
      secret += `|${text(split.secret)}`;
      shared += `|${text(split.shared)}`;
    } else {
      const same = `|${text(part)}`;
      secret += same;
      shared += same;
    }
  }
  battle.log.push(`|split|${side}`, secret, shared);
}

const replaced = {
  add(...parts) {
    let line = '';
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i];
      if (typeof part === 'function') {
        addSplit(this, parts);
        return;
      }
      line += i ? `|${text(part)}` : text(part);
    }
    this.log.push(`|${line}`);
  },
};

module.exports = { replaced };
