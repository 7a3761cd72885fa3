// What the two sides of a battle are told: their lines, and their requests as what changed since the last one.
'use strict';

/**
 * Adds the log from `start` on to the lines of each side, as Showdown's server would send them: of |split| pairs the
 * side's own. Time stamps, which say nothing of the battle, are left out, and so are spacers unless they are wanted.
 */
function splitLines(log, start, [first, second], spacers) {
  for (let i = start; i < log.length; i++) {
    const line = log[i];
    if ((line === '|' && !spacers) || line.startsWith('|t:|')) continue;
    if (line.startsWith('|split|')) {
      const [secret, shared] = [log[i + 1], log[i + 2]];
      const [ours, theirs] = line.charCodeAt(8) === 49 ? [secret, shared] : [shared, secret];
      if (ours) first.push(ours);
      if (theirs) second.push(theirs);
      i += 2;
    } else {
      first.push(line);
      second.push(line);
    }
  }
}

/** What one side was asked last. */
class Asked {
  constructor() {
    this.team = null;
    this.entries = null;
  }

  /**
   * The side's request as what changed since the last: [order, changes, rest]. `order` is the place that each Pokémon
   * of the team had in the last request, or 0 if all are where they were; `changes` are [place, changed keys] of each
   * Pokémon that is not as it was; `rest` is the request without the side. The first request is given whole.
   */
  change({ activeRequest, pokemon }) {
    const { team, entries } = this;
    this.team = pokemon.slice();
    this.entries = activeRequest.side.pokemon;
    if (!team) return activeRequest;
    const order = pokemon.map((one, place) => (one === team[place] ? place : team.indexOf(one)));
    const moved = order.length !== team.length || order.some((before, place) => before !== place);
    const changes = [];
    for (let place = 0; place < order.length; place++) {
      const changed = changedKeys(this.entries[place], entries[order[place]]);
      if (changed) changes.push([place, changed]);
    }
    return [moved ? order : 0, changes, { ...activeRequest, side: undefined }];
  }
}

/** What is new in a Pokémon's entry of a request, whose keys are the same all battle long; null if nothing is. */
function changedKeys(entry, before) {
  let changed = null;
  for (const key in entry) {
    if (!same(entry[key], before[key])) (changed ??= {})[key] = entry[key];
  }
  return changed;
}

/** Whether two values of an entry are equal: text, flags, lists of text or stats by name. */
function same(value, before) {
  if (value === before) return true;
  if (Array.isArray(value)) return value.length === before.length && value.every((one, i) => one === before[i]);
  if (typeof value !== 'object' || !value || !before) return false;
  for (const key in value) if (value[key] !== before[key]) return false;
  return true;
}

module.exports = { Asked, splitLines };
