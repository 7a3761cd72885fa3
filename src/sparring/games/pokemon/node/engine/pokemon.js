// What is asked of a Pokémon at nearly every event, without making ids and lists for each question.
'use strict';
const { Battle } = require('pokemon-showdown/dist/sim/battle');
const { answered } = require('./events');
const { idOf } = require('./names');

const BOOSTS = [1, 1.5, 2, 2.5, 3, 3.5, 4];
const STAT_EVENTS = { atk: 'ModifyAtk', def: 'ModifyDef', spa: 'ModifySpA', spd: 'ModifySpD', spe: 'ModifySpe' };
const { getAllActive } = Battle.prototype;

/** Whether the id is among the names: one, or a list. */
function among(names, id) {
  if (!Array.isArray(names)) return idOf(names) === id;
  for (let i = 0; i < names.length; i++) {
    if (idOf(names[i]) === id) return true;
  }
  return false;
}

function suppresses(other, pokemon) {
  return other.ability === 'neutralizinggas' && !other.volatiles.gastroacid && !other.transformed &&
    !other.abilityState.ending && !pokemon.volatiles.commanding;
}

const replaced = {
  hasItem(item) {
    return among(item, this.item) && !this.ignoringItem();
  },

  hasAbility(ability) {
    return among(ability, this.ability) && !this.ignoringAbility();
  },

  ignoringAbility() {
    const { battle } = this;
    if (battle.gen >= 5 && !this.isActive) return true;
    const { flags } = this.getAbility();
    if (flags.notransform && this.transformed) return true;
    if (flags.cantsuppress) return false;
    if (this.volatiles.gastroacid) return true;
    if (this.hasItem !== hasItem || this.item === 'abilityshield') {
      if (this.hasItem('Ability Shield')) return false;
    }
    if (this.ability === 'neutralizinggas') return false;
    if (battle.getAllActive !== getAllActive) return battle.getAllActive().some(other => suppresses(other, this));
    for (const side of battle.sides) {
      for (const other of side.active) {
        if (other && !other.fainted && suppresses(other, this)) return true;
      }
    }
    return false;
  },

  getStat(statName, unboosted, unmodified) {
    statName = idOf(statName);
    if (statName === 'hp') throw new Error('Please read `maxhp` directly');
    const { battle } = this;
    let stat = this.storedStats[statName];
    if (unmodified && 'wonderroom' in battle.field.pseudoWeather) {
      if (statName === 'def') statName = 'spd';
      else if (statName === 'spd') statName = 'def';
    }
    if (!unboosted) {
      let { boosts } = this;
      if (!unmodified && answered(battle, this, 'ModifyBoost')) {
        boosts = battle.runEvent('ModifyBoost', this, null, null, { ...boosts });
      }
      let boost = boosts[statName];
      if (boost > 6) boost = 6;
      if (boost < -6) boost = -6;
      stat = Math.floor(boost >= 0 ? stat * BOOSTS[boost] : stat / BOOSTS[-boost]);
    }
    if (!unmodified) stat = battle.runEvent(STAT_EVENTS[statName], this, null, null, stat);
    if (statName === 'spe' && stat > 10000 && !battle.format.battle?.trunc) stat = 10000;
    return stat;
  },
};
const { hasItem } = replaced;

module.exports = { replaced };
