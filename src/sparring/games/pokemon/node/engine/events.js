// Showdown's event system, which takes most of a battle's time: `runEvent` is done at once where nobody answers the
// event, `singleEvent` where the effect has no such callback.
'use strict';
const { Battle } = require('pokemon-showdown/dist/sim/battle');
const { Pokemon } = require('pokemon-showdown/dist/sim/pokemon');
const { UNPREFIXED, findHandlers, pokemonAnswers, surroundingsAnswer } = require('./finding');
const { callbackName, tablesOf } = require('./handlers');

const DEEPEST = 8; // events within events
const LEFT_TO_RIGHT = new Set(['Invulnerability', 'TryHit', 'DamagingHit', 'EntryHazard']);
const MODIFY_EXACT_BELOW = 1 << 20; // whole numbers below this stay as they are when modified by 1
const { modify } = Battle.prototype;
const { compareLeftToRightOrder, compareRedirectOrder } = Battle;

function overflow(battle, eventid) {
  battle.add('message', 'STACK LIMIT EXCEEDED');
  battle.add('message', 'PLEASE REPORT IN BUG THREAD');
  battle.add('message', 'Event: ' + eventid);
  battle.add('message', 'Parent event: ' + battle.event.id);
  throw new Error('Stack overflow');
}

function swap(list, i, j) {
  const moved = list[i];
  list[i] = list[j];
  list[j] = moved;
}

function bySpeed(a, b) {
  return b.speed - a.speed;
}

/** Whether an effect in play is switched off for this event: cured, broken, suppressed or ignored. */
function silenced(battle, eventid, effect, holder) {
  switch (effect.effectType) {
    case 'Status':
      if (holder.status !== effect.id) return true;
      break;
    case 'Ability':
      if (effect.flags.breakable && battle.suppressingAbility(holder)) {
        if (battle.debugMode) battle.debug(eventid + ' handler suppressed by Mold Breaker');
        return true;
      }
      if (eventid !== 'End' && holder instanceof Pokemon && holder.ignoringAbility()) {
        if (eventid !== 'Update') battle.debug(eventid + ' handler suppressed by Gastro Acid or Neutralizing Gas');
        return true;
      }
      break;
    case 'Item':
      if (
        eventid !== 'Start' && eventid !== 'SwitchIn' && eventid !== 'TakeItem' &&
        holder instanceof Pokemon && holder.ignoringItem()
      ) {
        if (eventid !== 'Update') battle.debug(eventid + ' handler suppressed by Embargo, Klutz or Magic Room');
        return true;
      }
      break;
  }
  if (
    (effect.effectType === 'Weather' || eventid === 'Weather') && eventid !== 'Residual' && eventid !== 'End' &&
    battle.field.suppressingWeather()
  ) {
    battle.debug(eventid + ' handler suppressed by Air Lock');
    return true;
  }
  return false;
}

const replaced = {
  findEventHandlers(target, eventid, source) {
    return findHandlers(this, target, eventid, source) ?? [];
  },

  runEvent(eventid, target, source, sourceEffect, relayVar, onEffect, fastExit) {
    if (this.eventDepth >= DEEPEST) overflow(this, eventid);
    if (!target) target = this;
    let handlers = findHandlers(this, target, eventid, source instanceof Pokemon ? source : null);
    if (onEffect) {
      if (!sourceEffect) throw new Error('onEffect passed without an effect');
      const name = callbackName(eventid);
      const callback = sourceEffect[name];
      if (callback !== undefined) {
        if (Array.isArray(target)) throw new Error('');
        const state = this.initEffectState({});
        const own = { effect: sourceEffect, callback, state, end: null, effectHolder: target };
        this.resolvePriority(own, name);
        if (handlers) handlers.unshift(own);
        else handlers = [own];
      }
    }
    const many = Array.isArray(target);
    let hasRelayVar = true;
    if (relayVar === undefined || relayVar === null) {
      relayVar = true;
      hasRelayVar = false;
    }
    if (!handlers?.length) {
      if (many) return Array.isArray(relayVar) ? relayVar : target.map(() => true);
      if (typeof relayVar === 'number' && relayVar === Math.abs(Math.floor(relayVar))) {
        if (relayVar >= MODIFY_EXACT_BELOW || this.modify !== modify) return this.modify(relayVar, 1);
        return relayVar + 0;
      }
      return relayVar;
    }
    if (handlers.length > 1) {
      if (LEFT_TO_RIGHT.has(eventid)) handlers.sort(compareLeftToRightOrder);
      else if (fastExit) handlers.sort(compareRedirectOrder);
      else this.speedSort(handlers);
    }
    let argument = relayVar;
    let argumentTarget = target;
    const parentEvent = this.event;
    this.event = { id: eventid, target, source, effect: sourceEffect, modifier: 1 };
    this.eventDepth++;
    let targetRelayVars = null;
    if (many) targetRelayVars = Array.isArray(relayVar) ? relayVar : target.map(() => true);
    for (let i = 0; i < handlers.length; i++) {
      const handler = handlers[i];
      const { effect, effectHolder, callback, index } = handler;
      if (index !== undefined) {
        if (!targetRelayVars[index] && !(targetRelayVars[index] === 0 && eventid === 'DamagingHit')) continue;
        if (handler.target) {
          argumentTarget = handler.target;
          this.event.target = handler.target;
        }
        if (hasRelayVar) argument = targetRelayVars[index];
      }
      if (silenced(this, eventid, effect, effectHolder)) continue;
      let returned = callback;
      if (typeof callback === 'function') {
        const parentEffect = this.effect;
        const parentEffectState = this.effectState;
        this.effect = effect;
        this.effectState = handler.state || this.initEffectState({});
        this.effectState.target = effectHolder;
        returned = hasRelayVar
          ? callback.call(this, argument, argumentTarget, source, sourceEffect)
          : callback.call(this, argumentTarget, source, sourceEffect);
        this.effect = parentEffect;
        this.effectState = parentEffectState;
      }
      if (returned !== undefined) {
        relayVar = returned;
        if (!relayVar || fastExit) {
          if (index === undefined) break;
          targetRelayVars[index] = relayVar;
          if (targetRelayVars.every(value => !value)) break;
        }
        if (hasRelayVar) argument = relayVar;
      }
    }
    this.eventDepth--;
    if (typeof relayVar === 'number' && relayVar === Math.abs(Math.floor(relayVar))) {
      relayVar = this.modify(relayVar, this.event.modifier);
    }
    this.event = parentEvent;
    return many ? targetRelayVars : relayVar;
  },

  /** Passes by the Pokémon on which nothing answers; what is around them is asked again only after somebody has. */
  eachEvent(eventid, effect, relayVar) {
    const tables = tablesOf(this.dex);
    const actives = this.getAllActive();
    if (!effect && this.effect) effect = this.effect;
    this.speedSort(actives, bySpeed);
    const alone = UNPREFIXED.has(eventid) && this.eventDepth < DEEPEST;
    let quiet = alone && !surroundingsAnswer(this, tables, eventid);
    for (const pokemon of actives) {
      if (quiet && !pokemonAnswers(tables, pokemon, eventid)) continue;
      this.runEvent(eventid, pokemon, null, effect, relayVar);
      quiet = alone && !surroundingsAnswer(this, tables, eventid);
    }
    if (eventid === 'Weather' && this.gen >= 7) this.eachEvent('Update');
  },

  singleEvent(eventid, effect, state, target, source, sourceEffect, relayVar, customCallback) {
    if (this.eventDepth >= DEEPEST) overflow(this, eventid);
    if (this.log.length - this.sentLogPos > 1000) {
      this.add('message', 'LINE LIMIT EXCEEDED');
      this.add('message', 'PLEASE REPORT IN BUG THREAD');
      this.add('message', 'Event: ' + eventid);
      this.add('message', 'Parent event: ' + this.event.id);
      throw new Error('Infinite loop');
    }
    const hasRelayVar = relayVar !== undefined;
    if (!hasRelayVar) relayVar = true;
    const callback = customCallback || effect[callbackName(eventid)];
    if (callback === undefined && !this.debugMode) return relayVar;
    switch (effect.effectType) {
      case 'Status':
        if (target instanceof Pokemon && target.status !== effect.id) return relayVar;
        break;
      case 'Ability':
        if (eventid === 'SwitchIn' && effect.flags.breakable && this.suppressingAbility(target)) {
          this.debug(eventid + ' handler suppressed by Mold Breaker');
          return relayVar;
        }
        if (eventid !== 'End' && target instanceof Pokemon && target.ignoringAbility()) {
          this.debug(eventid + ' handler suppressed by Gastro Acid or Neutralizing Gas');
          return relayVar;
        }
        break;
      case 'Item':
        if (
          eventid !== 'Start' && eventid !== 'TakeItem' && eventid !== 'SetAbility' &&
          target instanceof Pokemon && target.ignoringItem()
        ) {
          this.debug(eventid + ' handler suppressed by Embargo, Klutz or Magic Room');
          return relayVar;
        }
        break;
      case 'Weather':
        if (
          eventid !== 'FieldStart' && eventid !== 'FieldResidual' && eventid !== 'FieldEnd' &&
          this.field.suppressingWeather()
        ) {
          this.debug(eventid + ' handler suppressed by Air Lock');
          return relayVar;
        }
        break;
    }
    if (callback === undefined) return relayVar;
    if (typeof callback !== 'function') return callback;
    const parentEffect = this.effect;
    const parentEffectState = this.effectState;
    const parentEvent = this.event;
    this.effect = effect;
    this.effectState = state || this.initEffectState({});
    this.event = { id: eventid, target, source, effect: sourceEffect };
    this.eventDepth++;
    const returned = hasRelayVar
      ? callback.call(this, relayVar, target, source, sourceEffect)
      : callback.call(this, target, source, sourceEffect);
    this.eventDepth--;
    this.effect = parentEffect;
    this.effectState = parentEffectState;
    this.event = parentEvent;
    return returned === undefined ? relayVar : returned;
  },

  speedSort(list, comparator = this.comparePriority) {
    const { length } = list;
    for (let sorted = 0; sorted + 1 < length;) {
      let next = sorted;
      let tied = null; // the places of all that come next, if there are several
      for (let i = sorted + 1; i < length; i++) {
        const delta = comparator(list[next], list[i]);
        if (delta > 0) {
          next = i;
          tied = null;
        } else if (delta === 0) {
          if (tied) tied.push(i);
          else tied = [next, i];
        }
      }
      if (!tied) {
        swap(list, sorted, next);
        sorted++;
        continue;
      }
      for (let i = 0; i < tied.length; i++) swap(list, sorted + i, tied[i]);
      this.prng.shuffle(list, sorted, sorted + tied.length);
      sorted += tied.length;
    }
  },
};

/** Whether `runEvent` would do anything for a Pokémon but give back what it was given. */
function answered(battle, pokemon, eventid) {
  return battle.eventDepth >= DEEPEST || findHandlers(battle, pokemon, eventid, null) !== null;
}

module.exports = { answered, replaced };
