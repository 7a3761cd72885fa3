// The lists of handlers for one callback that Showdown's `fieldEvent` makes at the end of a turn and at switches.
//
// As in `events.js`, tables say who answers. An effect that only counts down (`getKey` names its counter) is listed
// without a callback, by Showdown's own rule of order.
'use strict';
const { tablesOf } = require('./handlers');

const NOTHING = () => {};

function add(battle, handlers, table, name, getKey, state, end, holder, onPokemon = false) {
  const answer = table.names.get(name);
  if (answer && (onPokemon || !answer.borrowed)) {
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
    add(this, handlers, status, name, getKey, pokemon.statusState, pokemon.clearStatus, pokemon, true);
    for (const id in pokemon.volatiles) {
      const table = tables.condition(id);
      add(this, handlers, table, name, getKey, pokemon.volatiles[id], pokemon.removeVolatile, pokemon, true);
    }
    const ability = tables.abilityOf(pokemon);
    add(this, handlers, ability, name, getKey, pokemon.abilityState, pokemon.clearAbility, pokemon, true);
    add(this, handlers, tables.itemOf(pokemon), name, getKey, pokemon.itemState, pokemon.clearItem, pokemon, true);
    add(this, handlers, tables.of(pokemon.baseSpecies), name, undefined, pokemon.speciesState, NOTHING, pokemon, true);
    const slot = side.slotConditions[pokemon.position];
    for (const id in slot) {
      const table = tables.condition(id);
      if (add(this, handlers, table, name, getKey, slot[id], side.removeSlotCondition, pokemon, true)) {
        handlers[handlers.length - 1].endCallArgs = [side, pokemon, table.effect.id];
      }
    }
    return handlers;
  },

  findSideEventHandlers(side, name, getKey, customHolder) {
    const tables = tablesOf(this.dex);
    const handlers = [];
    const end = customHolder ? null : side.removeSideCondition;
    for (const id in side.sideConditions) {
      add(this, handlers, tables.condition(id), name, getKey, side.sideConditions[id], end, customHolder || side);
    }
    return handlers;
  },

  findFieldEventHandlers(field, name, getKey, customHolder) {
    const tables = tablesOf(this.dex);
    const handlers = [];
    const holder = customHolder || field;
    let end = customHolder ? null : field.removePseudoWeather;
    for (const id in field.pseudoWeather) {
      add(this, handlers, tables.condition(id), name, getKey, field.pseudoWeather[id], end, holder);
    }
    end = customHolder ? null : field.clearWeather;
    add(this, handlers, tables.condition(field.weather), name, getKey, field.weatherState, end, holder);
    end = customHolder ? null : field.clearTerrain;
    add(this, handlers, tables.condition(field.terrain), name, getKey, field.terrainState, end, holder);
    return handlers;
  },
};

module.exports = { replaced };
