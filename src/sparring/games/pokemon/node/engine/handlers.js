// Which events an effect (ability, item, condition, species, format) answers, found out once instead of at every event.
//
// Showdown asks every effect in play for a property named after the event, six times an event and nearly always in vain.
// Here each effect has a table from events to its callbacks, with the order, priority and sub-order that Showdown's
// `resolvePriority` would read again each time. Tables are kept per dex by the effect's id, as Showdown keeps the effects
// themselves, so they are shared by all battles and bounded by the dex.
'use strict';
const { Pokemon } = require('pokemon-showdown/dist/sim/pokemon');
const { Side } = require('pokemon-showdown/dist/sim/side');
const { Field } = require('pokemon-showdown/dist/sim/field');

const { getAbility, getItem } = Pokemon.prototype;
const TABLES = Symbol('handler tables');
const KIT = Symbol('kit');
const PREFIXES = { Ally: 'ally', Any: 'any', Foe: 'foe', Source: 'source' };
const SUB_ORDERS = { Condition: 2, Weather: 5, Format: 5, Rule: 5, Ruleset: 5, Ability: 7, Item: 8 };
const NAMED_SUB_ORDERS = { 'Poison Touch': 6, 'Perish Body': 6, Stall: 9 };

/** Methods that are passed by, by the part of the battle they belong to; no mod of the pinned version has its own. */
const BYPASSED = {
  battle: [
    'runEvent', 'findEventHandlers', 'findPokemonEventHandlers', 'findSideEventHandlers', 'findFieldEventHandlers',
    'findBattleEventHandlers', 'getCallback', 'resolvePriority',
  ],
  pokemon: ['getStatus', 'alliesAndSelf', 'foes'],
  side: ['foes', 'activeTeam'],
  field: ['getWeather', 'getTerrain'],
};
const KIT_GETTERS = ['getAbility', 'getItem'];

function refuseOwn(scripts, part, where) {
  for (const name of BYPASSED[part]) {
    if (scripts?.[name]) throw new Error(`${where} has its own ${name}, which the faster engine does not call`);
  }
}

/** One callback of an effect, and what its place in the order of handlers depends on. */
class Answer {
  constructor(effect, name, callback, borrowed) {
    this.callback = callback;
    this.borrowed = borrowed; // onStart answering for onSwitchIn, which it does on Pokémon only
    this.order = effect[`${name}Order`] || false;
    this.priority = effect[`${name}Priority`] || 0;
    this.subOrder = effect[`${name}SubOrder`] || 0;
    this.subOrderByHolder = false;
    if (!this.subOrder) {
      this.subOrder = SUB_ORDERS[effect.effectType] || 0;
      this.subOrderByHolder = effect.effectType === 'Condition';
      if (effect.effectType === 'Ability') this.subOrder = NAMED_SUB_ORDERS[effect.name] || this.subOrder;
    }
    this.atSwitchIn = name.endsWith('SwitchIn');
    this.byEffectOrder = this.atSwitchIn || name.endsWith('RedirectTarget');
    this.byTrueSpeed = effect.effectType === 'Ability' && effect.name === 'Magic Bounce' && name === 'onAllyTryHitSide';
  }

  /** The handler that Showdown's `resolvePriority` would make. */
  handler(battle, effect, state, end, holder) {
    let { subOrder } = this;
    if (this.subOrderByHolder) {
      const target = state?.target;
      if (target instanceof Side) subOrder = state.isSlotCondition ? 3 : 4;
      else if (target instanceof Field) subOrder = 5;
    }
    let speed;
    if (holder instanceof Pokemon) {
      speed = this.byTrueSpeed ? holder.getStat('spe', true, true) : holder.speed;
      if (this.atSwitchIn) {
        speed -= battle.speedOrder.indexOf(holder.getFieldPositionValue()) / (battle.activePerHalf * 2);
      }
    }
    return {
      effect,
      callback: this.callback,
      state,
      end,
      effectHolder: holder,
      order: this.order,
      priority: this.priority,
      subOrder,
      effectOrder: this.byEffectOrder ? state?.effectOrder : undefined,
      speed,
      endCallArgs: undefined,
      target: undefined,
      index: undefined,
    };
  }
}

/** What an effect answers: by the callback's name, and by event with one place for each prefix a callback may have. */
class Table {
  constructor(effect, gen) {
    this.effect = effect;
    this.names = new Map();
    this.events = new Map();
    this.ownKits = false; // of a format: whether Pokémon's abilities or items may be others than the dex's
    for (const name in effect) {
      if (!name.startsWith('on') || effect[name] === undefined) continue;
      this.add(name, new Answer(effect, name, effect[name], false));
    }
    const { effectType } = effect;
    const held = effectType === 'Ability' || effectType === 'Item' ||
      (effectType === 'Status' && ['ability', 'item'].includes(effect.id.split(':')[0]));
    if (gen >= 5 && held && effect.onSwitchIn === undefined && !effect.onAnySwitchIn && effect.onStart !== undefined) {
      this.add('onSwitchIn', new Answer(effect, 'onSwitchIn', effect.onStart, true));
    }
  }

  add(name, answer) {
    this.names.set(name, answer);
    const event = name.slice(2);
    this.place(event).on = answer;
    for (const prefix in PREFIXES) {
      if (event.startsWith(prefix)) this.place(event.slice(prefix.length))[PREFIXES[prefix]] = answer;
    }
  }

  place(event) {
    let answers = this.events.get(event);
    if (!answers) {
      answers = { on: undefined, ally: undefined, any: undefined, foe: undefined, source: undefined };
      this.events.set(event, answers);
    }
    return answers;
  }
}

/** Adds the events that `effect` answers under a prefix: on behalf of, or against, others than its holder. */
function addOutward(events, effect) {
  for (const name in effect) {
    if (!name.startsWith('on') || effect[name] === undefined) continue;
    for (const prefix in PREFIXES) {
      if (name.startsWith(prefix, 2)) events.add(name.slice(2 + prefix.length));
    }
  }
}

/** Events that any effect of the dex's data answers under a prefix. */
function outwardEvents({ Abilities, Conditions, Items, Moves, Pokedex, Rulesets }) {
  const events = new Set();
  for (const effects of [Abilities, Conditions, Items, Moves, Pokedex, Rulesets]) {
    for (const id in effects) {
      addOutward(events, effects[id]);
      if (effects[id].condition) addOutward(events, effects[id].condition);
    }
  }
  return events;
}

/** Events that what a Pokémon has (status, ability, item, species) answers; kept with it until one of them changes. */
class Kit {
  constructor(tables, pokemon) {
    this.status = pokemon.status;
    this.ability = pokemon.ability;
    this.item = pokemon.item;
    this.species = pokemon.baseSpecies;
    this.events = new Set([
      ...tables.condition(this.status).events.keys(),
      ...tables.ability(this.ability).events.keys(),
      ...tables.item(this.item).events.keys(),
      ...tables.of(this.species).events.keys(),
    ]);
  }
}

/** The tables of one dex. */
class Tables {
  constructor(dex) {
    this.dex = dex;
    this.conditions = new Map();
    this.abilities = new Map();
    this.items = new Map();
    this.others = new WeakMap();
    this.lastFormat = null;
    this.lastFormatTable = null;
    this.outward = outwardEvents(dex.data);
    const scripts = dex.data.Scripts;
    this.ownKits = KIT_GETTERS.some(name => scripts.pokemon?.[name]);
    refuseOwn(scripts, 'battle', dex.currentMod);
    for (const part of ['pokemon', 'side', 'field']) refuseOwn(scripts[part], part, dex.currentMod);
  }

  condition(id) {
    return this.conditions.get(id) ?? this.keep(this.conditions, id, this.dex.conditions.getByID(id));
  }

  ability(id) {
    return this.abilities.get(id) ?? this.keep(this.abilities, id, this.dex.abilities.getByID(id));
  }

  item(id) {
    return this.items.get(id) ?? this.keep(this.items, id, this.dex.items.getByID(id));
  }

  /** Whether status, ability, item or species of a Pokémon answer an event, under whatever prefix. */
  kitAnswers(pokemon, event) {
    if (pokemon.getAbility !== getAbility || pokemon.getItem !== getItem) {
      return this.condition(pokemon.status).events.has(event) || this.abilityOf(pokemon).events.has(event) ||
        this.itemOf(pokemon).events.has(event) || this.of(pokemon.baseSpecies).events.has(event);
    }
    let kit = pokemon[KIT];
    if (
      kit === undefined || kit.ability !== pokemon.ability || kit.item !== pokemon.item ||
      kit.status !== pokemon.status || kit.species !== pokemon.baseSpecies
    ) {
      kit = pokemon[KIT] = new Kit(this, pokemon);
    }
    return kit.events.has(event);
  }

  abilityOf(pokemon) {
    return pokemon.getAbility === getAbility ? this.ability(pokemon.ability) : this.of(pokemon.getAbility());
  }

  itemOf(pokemon) {
    return pokemon.getItem === getItem ? this.item(pokemon.item) : this.of(pokemon.getItem());
  }

  format(format) {
    if (format === this.lastFormat) return this.lastFormatTable;
    let table = this.others.get(format);
    if (!table) {
      for (const part in BYPASSED) refuseOwn(format[part], part, format.id);
      table = this.of(format);
      table.ownKits = this.ownKits || KIT_GETTERS.some(name => format.pokemon?.[name]);
    }
    this.lastFormat = format;
    this.lastFormatTable = table;
    return table;
  }

  /** Of an effect that is not known by an id: a species, or what a mod hands out as ability or item. */
  of(effect) {
    let table = this.others.get(effect);
    if (!table) {
      table = new Table(effect, this.dex.gen);
      this.others.set(effect, table);
    }
    return table;
  }

  /** Unknown names are not kept, nor are their effects by Showdown. */
  keep(tables, id, effect) {
    const table = new Table(effect, this.dex.gen);
    if (effect.exists || id === '' || tables === this.conditions) tables.set(id, table);
    return table;
  }
}

const callbackNames = new Map();

/** `onEvent` for `Event`, the same string each time, which makes lookups faster. */
function callbackName(eventid) {
  let name = callbackNames.get(eventid);
  if (name === undefined) {
    name = `on${eventid}`;
    callbackNames.set(eventid, name);
  }
  return name;
}

function tablesOf(dex) {
  return dex[TABLES] ?? (dex[TABLES] = new Tables(dex));
}

module.exports = { KIT, callbackName, tablesOf };
