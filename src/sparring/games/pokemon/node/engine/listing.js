// The lists of handlers for one callback that Showdown's `fieldEvent` makes at the end of a turn and at switches.
//
// As in `events.js`, tables say who answers. An effect that only counts down (`getKey` names its counter) is listed
// without a callback, by Showdown's own rule of order.
'use strict';
const { tablesOf } = require('./handlers');

const NOTHING = () => {};

function add(battle, handlers, table, name, getKey, state, end, holder) {
  const answer = table.names.get(name);
  if (answer) {
    handlers.push(answer.handler(battle, table.effect, state, end, holder));
    return true;
  }
  if (!getKey || !state[getKey]) return false;
  const counter = { effect: table.effect, callback: undefined, state, end, effectHolder: holder };
  handlers.push(battle.resolvePriority(counter, name));
  return true;
}

const replaced = {
  findPokemonEventHandlers(pokemon, name, getKey) {
    const tables = tablesOf(this.dex);
    const handlers = [];
    const { side } = pokemon;
    const status = tables.condition(pokemon.status);
    add(this, handlers, status, name, getKey, pokemon.statusState, pokemon.clearStatus, pokemon);
    for (const id in pokemon.volatiles) {
      add(this, handlers, tables.condition(id), name, getKey, pokemon.volatiles[id], pokemon.removeVolatile, pokemon);
    }
    add(this, handlers, tables.abilityOf(pokemon), name, getKey, pokemon.abilityState, pokemon.clearAbility, pokemon);
    add(this, handlers, tables.itemOf(pokemon), name, getKey, pokemon.itemState, pokemon.clearItem, pokemon);
    add(this, handlers, tables.of(pokemon.baseSpecies), name, undefined, pokemon.speciesState, NOTHING, pokemon);
    const slot = side.slotConditions[pokemon.position];
    for (const id in slot) {
      const table = tables.condition(id);
      if (add(this, handlers, table, name, getKey, slot[id], side.removeSlotCondition, pokemon)) {
        handlers[handlers.length - 1].endCallArgs = [side, pokemon, table.effect.id];
      }
    }
    return handlers;
  },
};

module.exports = { replaced };
