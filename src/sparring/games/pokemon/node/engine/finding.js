// Who answers an event, in exactly the order of Showdown's `findEventHandlers`: speed ties among handlers are broken by
// random numbers drawn in that order.
//
// Each Pokémon concerned is first asked whether anything on it answers at all, with one lookup an effect. Mostly nothing
// does, and no list is made.
'use strict';
const { Pokemon } = require('pokemon-showdown/dist/sim/pokemon');
const { Side } = require('pokemon-showdown/dist/sim/side');
const { callbackName, tablesOf } = require('./handlers');

const UNPREFIXED = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
const { allies } = Side.prototype;
const NOTHING = () => {};

/** Whether any effect on a Pokémon answers the event, under whatever prefix. */
function pokemonAnswers(tables, pokemon, eventid) {
  if (tables.kitAnswers(pokemon, eventid)) return true;
  for (const id in pokemon.volatiles) {
    if (tables.condition(id).events.has(eventid)) return true;
  }
  for (const id in pokemon.side.slotConditions[pokemon.position]) {
    if (tables.condition(id).events.has(eventid)) return true;
  }
  return false;
}

/** Adds a Pokémon's handlers of one prefix. Called where `pokemonAnswers`, so speed matters less. */
function addPokemonHandlers(battle, tables, handlers, pokemon, eventid, prefix) {
  let table = tables.condition(pokemon.status);
  let answer = table.events.get(eventid)?.[prefix];
  if (answer) handlers.push(answer.handler(battle, table.effect, pokemon.statusState, pokemon.clearStatus, pokemon));
  for (const id in pokemon.volatiles) {
    table = tables.condition(id);
    answer = table.events.get(eventid)?.[prefix];
    if (!answer) continue;
    handlers.push(answer.handler(battle, table.effect, pokemon.volatiles[id], pokemon.removeVolatile, pokemon));
  }
  table = tables.abilityOf(pokemon);
  answer = table.events.get(eventid)?.[prefix];
  if (answer) handlers.push(answer.handler(battle, table.effect, pokemon.abilityState, pokemon.clearAbility, pokemon));
  table = tables.itemOf(pokemon);
  answer = table.events.get(eventid)?.[prefix];
  if (answer) handlers.push(answer.handler(battle, table.effect, pokemon.itemState, pokemon.clearItem, pokemon));
  table = tables.of(pokemon.baseSpecies);
  answer = table.events.get(eventid)?.[prefix];
  if (answer) handlers.push(answer.handler(battle, table.effect, pokemon.speciesState, NOTHING, pokemon));
  const { side } = pokemon;
  const slot = side.slotConditions[pokemon.position];
  for (const id in slot) {
    table = tables.condition(id);
    answer = table.events.get(eventid)?.[prefix];
    if (answer) handlers.push(answer.handler(battle, table.effect, slot[id], side.removeSlotCondition, pokemon));
  }
}

function addSideHandlers(battle, tables, handlers, side, eventid, prefix) {
  for (const id in side.sideConditions) {
    const table = tables.condition(id);
    const answer = table.events.get(eventid)?.[prefix];
    if (answer && !answer.borrowed) {
      handlers = push(
        handlers, answer.handler(battle, table.effect, side.sideConditions[id], side.removeSideCondition, side));
    }
  }
  return handlers;
}

function push(handlers, handler) {
  if (!handlers) return [handler];
  handlers.push(handler);
  return handlers;
}

/** Handlers of an event in Showdown's order, or null if there are none. */
function findHandlers(battle, target, eventid, source) {
  if (Array.isArray(target)) {
    let handlers = null;
    for (let i = 0; i < target.length; i++) {
      const found = findHandlers(battle, target[i], eventid, source);
      if (!found) continue;
      for (const handler of found) {
        handler.target = target[i];
        handler.index = i;
      }
      handlers = handlers ? handlers.concat(found) : found;
    }
    return handlers;
  }
  const tables = tablesOf(battle.dex);
  let handlers = null;
  const bubblesDown = target instanceof Side;
  const rules = tables.format(battle.format);
  const prefixed = (tables.outward.has(eventid) || rules.ownKits) && !UNPREFIXED.has(eventid);
  let sourceAnswers;
  if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
    const targetAnswers = pokemonAnswers(tables, target, eventid);
    if (source === target) sourceAnswers = targetAnswers;
    if (targetAnswers) {
      handlers = [];
      addPokemonHandlers(battle, tables, handlers, target, eventid, 'on');
    }
    if (prefixed) {
      const { side } = target;
      const plain = side.allies === allies && battle.gameType !== 'freeforall' && battle.gameType !== 'multi';
      for (let team = 0; team < 2; team++) {
        let list;
        if (team === 0) list = plain ? side.active : target.alliesAndSelf();
        else list = plain ? side.foe.active : target.foes();
        for (let i = 0; i < list.length; i++) {
          const pokemon = list[i];
          if (plain && !(pokemon && pokemon.hp)) continue;
          const answers = pokemon === target ? targetAnswers : pokemonAnswers(tables, pokemon, eventid);
          if (pokemon === source) sourceAnswers = answers;
          if (!answers) continue;
          handlers ??= [];
          addPokemonHandlers(battle, tables, handlers, pokemon, eventid, team === 0 ? 'ally' : 'foe');
          addPokemonHandlers(battle, tables, handlers, pokemon, eventid, 'any');
        }
      }
    }
    target = target.side;
  }
  if (source && prefixed && (sourceAnswers ?? pokemonAnswers(tables, source, eventid))) {
    handlers ??= [];
    addPokemonHandlers(battle, tables, handlers, source, eventid, 'source');
  }
  if (target instanceof Side) {
    for (const side of battle.sides) {
      const own = side === target || side === target.allySide;
      if (bubblesDown) {
        for (const active of side.active) {
          if (!pokemonAnswers(tables, active, eventid)) continue;
          handlers ??= [];
          if (own) addPokemonHandlers(battle, tables, handlers, active, eventid, 'on');
          else if (prefixed) addPokemonHandlers(battle, tables, handlers, active, eventid, 'foe');
          if (prefixed) addPokemonHandlers(battle, tables, handlers, active, eventid, 'any');
        }
      }
      if (side.n < 2 || !side.allySide) {
        if (own) handlers = addSideHandlers(battle, tables, handlers, side, eventid, 'on');
        else if (prefixed) handlers = addSideHandlers(battle, tables, handlers, side, eventid, 'foe');
        if (prefixed) handlers = addSideHandlers(battle, tables, handlers, side, eventid, 'any');
      }
    }
  }
  return addBattleHandlers(battle, rules, addFieldHandlers(battle, tables, handlers, eventid), eventid);
}

function addFieldHandlers(battle, tables, handlers, eventid) {
  const { field } = battle;
  for (const id in field.pseudoWeather) {
    const table = tables.condition(id);
    const answer = table.events.get(eventid)?.on;
    if (answer && !answer.borrowed) {
      handlers = push(
        handlers, answer.handler(battle, table.effect, field.pseudoWeather[id], field.removePseudoWeather, field));
    }
  }
  if (field.weather !== '') {
    const table = tables.condition(field.weather);
    const answer = table.events.get(eventid)?.on;
    if (answer && !answer.borrowed) {
      handlers = push(handlers, answer.handler(battle, table.effect, field.weatherState, field.clearWeather, field));
    }
  }
  if (field.terrain !== '') {
    const table = tables.condition(field.terrain);
    const answer = table.events.get(eventid)?.on;
    if (answer && !answer.borrowed) {
      handlers = push(handlers, answer.handler(battle, table.effect, field.terrainState, field.clearTerrain, field));
    }
  }
  return handlers;
}

function addBattleHandlers(battle, rules, handlers, eventid) {
  const answer = rules.events.get(eventid)?.on;
  if (answer && !answer.borrowed) {
    handlers = push(handlers, answer.handler(battle, battle.format, battle.formatData, null, battle));
  }
  if (!battle.events) return handlers;
  for (const custom of battle.events[callbackName(eventid)] ?? []) {
    handlers = push(handlers, {
      effect: custom.target,
      callback: custom.callback,
      state: custom.target.effectType === 'Format' ? battle.formatData : null,
      end: null,
      effectHolder: battle,
      order: custom.order,
      priority: custom.priority,
      subOrder: custom.subOrder,
      effectOrder: undefined,
      speed: undefined,
      endCallArgs: undefined,
      target: undefined,
      index: undefined,
    });
  }
  return handlers;
}

/** Whether a side, the field or the rules answer the event. */
function surroundingsAnswer(battle, tables, eventid) {
  for (const side of battle.sides) {
    for (const id in side.sideConditions) {
      if (tables.condition(id).events.has(eventid)) return true;
    }
  }
  return addBattleHandlers(
    battle, tables.format(battle.format), addFieldHandlers(battle, tables, null, eventid), eventid) !== null;
}

module.exports = { UNPREFIXED, findHandlers, pokemonAnswers, surroundingsAnswer };
