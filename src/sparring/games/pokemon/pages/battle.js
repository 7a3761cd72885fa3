// What the lines of a battle come to: teams, HP, boosts, effects, field. Nothing here knows of the page.
//
//   const story = follow(lines);
//   story.after(12, 9)   // the battle after twelve lines; its `events` are what the last three of them did
//   story.course[12]     // { p1, p2, faints }: what each team has left by then, 1 being all, and whose the twelfth
//                        // line let faint

const BOOSTS = { atk: 'Atk', def: 'Def', spa: 'SpA', spd: 'SpD', spe: 'Spe', accuracy: 'Acc', evasion: 'Eva' };
const WEATHERS = new Map(Object.entries({ SunnyDay: 'Sun', RainDance: 'Rain', Sandstorm: 'Sandstorm', Hail: 'Hail',
  Snow: 'Snow', Snowscape: 'Snow', DesolateLand: 'Harsh sun', PrimordialSea: 'Heavy rain', DeltaStream: 'Strong winds' }));
const HIDDEN_EFFECTS = new Set(['Future Sight', 'Doom Desire']);  // they hit later and are not on the Pokémon
const LIFTED_BY_TURN = /^(fallen|Illusion)/;
const TERRAIN = /Terrain$/;

// ------------------------------------------------------------------------------------------------- reading a line

const plain = text => (text || '').replace(/^(move|ability|item): /, '');
const reads = line => {
  const [kind, ...parts] = line.split('|').slice(1), words = [], tags = {};
  for (const part of parts) {
    const tag = /^\[(\w+)\] ?(.*)$/.exec(part);
    if (tag) tags[tag[1]] = tag[2]; else words.push(part);
  }
  return { kind, words, tags };
};
// `p1a: Bob` is a Pokémon in a place, `p1: Bob` one wherever it is.
const where = ident => {
  const found = /^(p[12])([a-c]?): (.*)$/s.exec(ident || '');
  return found && { side: found[1], place: found[2], name: found[3] };
};
const details = text => {
  const [species, ...rest] = (text || '').split(', ');
  const level = rest.find(one => /^L\d+$/.test(one));
  return { species, level: level ? level.slice(1) : '100', gender: rest.find(one => one === 'M' || one === 'F') || '' };
};

// ------------------------------------------------------------------------------------------ Pokémon, sides, battle

const fresh = told => ({ ...told, name: null, hp: 1, status: '', fainted: false, seen: false, tera: '', boosts: {},
  effects: new Map(), moves: [], item: '', ability: '' });

class Side {
  constructor() { this.team = []; this.places = {}; this.size = 0; this.lies = new Map(); }
  get count() { return this.size || this.team.length; }
  get standing() { return Math.max(0, this.count - this.team.filter(one => one.fainted).length); }
  // What is left of the team, in Pokémon: one at half of its HP is 0.5, and one that has not been seen is whole.
  get left() {
    const seen = this.team.filter(one => one.seen || one.fainted);
    return seen.reduce((sum, one) => sum + one.hp, Math.max(0, this.count - seen.length));
  }
  // The team member that `found` names. Of two with one name, the one of the same level and gender.
  member(found, text) {
    const told = text === undefined ? null : details(text);
    const same = one => !told || (one.level === told.level && one.gender === told.gender);
    let one = this.team.find(one => one.name === found.name && same(one));
    if (!one && told) {
      one = this.team.find(one => one.name === null && same(one) &&
        (one.species === told.species || told.species.startsWith(one.species.replace(/-?\*$/, ''))));
      if (!one) { one = fresh(told); this.team.push(one); }
      one.name = found.name;
      one.species = told.species;
    }
    return one;
  }
  at(found) { return (found.place && this.places[found.place]) || this.member(found); }
}

class Battle {
  constructor() {
    this.sides = Object.assign(Object.create(null), { p1: new Side(), p2: new Side() });
    this.doubles = false; this.turn = 0; this.weather = ''; this.field = new Set(); this.actor = null;
    this.over = false; this.winner = '';
    this.events = [];  // what the last lines did: { one, kind, ... } with a kind of 'hp', 'faint', 'move' or 'note'
  }
  one(ident) { const found = where(ident); return found ? this.sides[found.side].at(found) : null; }
  note(one, kind, more) { this.events.push({ one, kind, ...more }); }
  condition(one, text) {
    const found = /^(\d+)(?:\/(\d+))?\S*(?: (\w+))?/.exec(text);  // `75/100 slp`, `0 fnt`
    if (!found) return;
    const [left, most] = found.slice(1, 3).map(Number), status = found[3] || '';
    one.hp = most ? Math.min(1, left / most) : 0;
    one.status = status === 'fnt' ? '' : status;
    one.fainted = status === 'fnt';
  }
  health(ident, text) {
    const one = this.one(ident), from = one.hp;
    this.condition(one, text);
    if (one.hp !== from) this.note(one, 'hp', { from });
  }
  enter(words, tags) {
    const found = where(words[0]), side = this.sides[found.side], old = side.places[found.place];
    const one = side.member(found, words[1]);
    const passed = old && /Baton Pass/.test(tags.from || '') ? { boosts: old.boosts, effects: old.effects } : null;
    if (old) Object.assign(old, { boosts: {}, effects: new Map() });
    one.before = { hp: one.hp, status: one.status };
    Object.assign(one, passed || { boosts: {}, effects: new Map() }, { seen: true, species: details(words[1]).species });
    side.places[found.place] = one;
    this.condition(one, words[2] || '100/100');
    this.note(one, 'enter');
  }
  // An Illusion has ended: what was shown as one Pokémon has been another all along.
  replace(words) {
    const found = where(words[0]), side = this.sides[found.side], shown = side.places[found.place];
    const one = side.member(found, words[1]);
    if (shown && shown !== one) {
      Object.assign(one, { hp: shown.hp, status: shown.status, boosts: shown.boosts, effects: shown.effects });
      Object.assign(shown, shown.before, { boosts: {}, effects: new Map() });
    }
    one.seen = true;
    side.places[found.place] = one;
  }
  end(winner) { Object.assign(this, { over: true, winner, actor: null }); }
  read(line) {
    const { kind, words, tags } = reads(line);
    if (!Object.hasOwn(RULES, kind)) return;
    try { RULES[kind](this, words, tags); cause(this, words, tags); } catch { /* a line cut short by whoever sent it */ }
  }
}

// ------------------------------------------------------------------------------------------- what each line changes

const change = (one, stat, by) => { one.boosts[stat] = Math.max(-6, Math.min(6, (one.boosts[stat] || 0) + by)); };
const keep = (one, test) => { for (const stat in one.boosts) if (!test(one.boosts[stat])) delete one.boosts[stat]; };
const note = text => (battle, [who]) => battle.note(battle.one(who), 'note', { text });

// A line may say by the way what caused it: `[from] item: Leftovers`, `[from] ability: Rough Skin|[of] p2a: Garchomp`.
const cause = (battle, words, tags) => {
  const found = /^(item|ability): (.*)$/.exec(tags.from || '');
  const one = found && battle.one(where(tags.of) ? tags.of : words[0]);
  if (one) one[found[1]] = found[2];
};

const RULES = {
  gametype: (battle, [type]) => { battle.doubles = type === 'doubles'; },
  teamsize: (battle, [side, size]) => { battle.sides[side].size = Math.min(24, Number(size)) || 0; },
  // How many each side brings; servers do not always say it again when the battle starts.
  teampreview: ({ sides: { p1, p2 } }, [brought]) => {
    for (const side of [p1, p2]) if (Number(brought) < side.count) side.size = Number(brought);
  },
  poke: (battle, [side, text]) => { battle.sides[side].team.push(fresh(details(text))); },
  switch: (battle, words, tags) => battle.enter(words, tags),
  drag: (battle, words, tags) => battle.enter(words, tags),
  replace: (battle, words) => battle.replace(words),
  detailschange: (battle, [who, text]) => { battle.one(who).species = details(text).species; },
  '-formechange': (battle, [who, species]) => { battle.one(who).species = details(species).species; },
  '-transform': (battle, [who, other]) => { battle.one(who).effects.set('Transform', `as ${where(other).name}`); },
  '-terastallize': (battle, [who, type]) => { battle.one(who).tera = type; },
  swap: (battle, [who, to]) => {
    const found = where(who), places = battle.sides[found.side].places;
    const target = /^\d$/.test(to) ? 'abc'[Number(to)] : (where(to) || {}).place;
    if (target) [places[found.place], places[target]] = [places[target], places[found.place]];
  },
  move: (battle, [who, name], tags) => {
    const one = battle.actor = battle.one(who);
    const own = !('from' in tags) && !('zeffect' in tags) && !one.effects.has('Transform') && !one.effects.has('Dynamax');
    if (own && name !== 'Struggle' && !one.moves.includes(name)) one.moves.push(name);
    battle.note(one, 'move', { name });
  },
  cant: (battle, [who]) => { battle.actor = battle.one(who); },
  faint: (battle, [who]) => {
    const found = where(who), one = battle.one(who);
    Object.assign(one, { hp: 0, fainted: true, status: '', boosts: {}, effects: new Map() });
    if (found.place) delete battle.sides[found.side].places[found.place];
    battle.note(one, 'faint', { side: found.side, place: found.place });
  },
  '-damage': (battle, [who, text]) => battle.health(who, text),
  '-heal': (battle, [who, text]) => battle.health(who, text),
  '-sethp': (battle, words) => { for (let i = 0; i + 1 < words.length; i += 2) battle.health(words[i], words[i + 1]); },
  '-crit': note('critical hit'),
  '-supereffective': note('super effective'),
  '-resisted': note('resisted'),
  '-immune': note('immune'),
  '-ability': (battle, [who, ability]) => { battle.one(who).ability = ability; },
  '-item': (battle, [who, item]) => { battle.one(who).item = item; },
  '-enditem': (battle, [who]) => { battle.one(who).item = ''; },
  '-status': (battle, [who, status]) => { battle.one(who).status = status; },
  '-curestatus': (battle, [who]) => { battle.one(who).status = ''; },
  '-cureteam': (battle, [who]) => { for (const one of battle.sides[where(who).side].team) one.status = ''; },
  '-boost': (battle, [who, stat, by]) => change(battle.one(who), stat, Number(by)),
  '-unboost': (battle, [who, stat, by]) => change(battle.one(who), stat, -Number(by)),
  '-setboost': (battle, [who, stat, to]) => { battle.one(who).boosts[stat] = Number(to); },
  '-clearboost': (battle, [who]) => { battle.one(who).boosts = {}; },
  '-clearpositiveboost': (battle, [who]) => keep(battle.one(who), value => value < 0),
  '-clearnegativeboost': (battle, [who]) => keep(battle.one(who), value => value > 0),
  '-clearallboost': ({ sides: { p1, p2 } }) => { for (const one of [...p1.team, ...p2.team]) one.boosts = {}; },
  '-invertboost': (battle, [who]) => { const one = battle.one(who); for (const stat in one.boosts) one.boosts[stat] *= -1; },
  '-copyboost': (battle, [who, from]) => { battle.one(who).boosts = { ...battle.one(from).boosts }; },
  '-swapboost': (battle, [who, with_, stats]) => {
    const [a, b] = [battle.one(who).boosts, battle.one(with_).boosts];
    for (const stat of stats ? stats.split(', ') : Object.keys(BOOSTS)) [a[stat], b[stat]] = [b[stat] || 0, a[stat] || 0];
  },
  '-weather': (battle, [weather]) => { battle.weather = weather === 'none' ? '' : WEATHERS.get(weather) ?? weather; },
  '-fieldstart': (battle, [effect]) => {
    if (TERRAIN.test(effect)) for (const other of [...battle.field]) if (TERRAIN.test(other)) battle.field.delete(other);
    battle.field.add(plain(effect));
  },
  '-fieldend': (battle, [effect]) => { battle.field.delete(plain(effect)); },
  '-sidestart': (battle, [side, effect]) => {
    const lies = battle.sides[side.slice(0, 2)].lies;
    lies.set(plain(effect), (lies.get(plain(effect)) || 0) + 1);
  },
  '-sideend': (battle, [side, effect]) => { battle.sides[side.slice(0, 2)].lies.delete(plain(effect)); },
  '-swapsideconditions': battle => {
    const { p1, p2 } = battle.sides;
    [p1.lies, p2.lies] = [p2.lies, p1.lies];
  },
  '-start': (battle, [who, effect, detail]) => {
    const name = plain(effect), effects = battle.one(who).effects;
    if (HIDDEN_EFFECTS.has(name) || LIFTED_BY_TURN.test(name)) return;
    if (name.startsWith('perish')) effects.set('Perish', name.slice(6));
    else effects.set(name === 'typechange' ? 'Type' : name, name === 'Dynamax' ? '' : detail || '');
  },
  '-end': (battle, [who, effect]) => {
    const effects = battle.one(who).effects, name = plain(effect);
    effects.delete(name);
    for (const other of [...effects.keys()]) {
      if (other.toLowerCase().startsWith(name.toLowerCase().replace(/ /g, ''))) effects.delete(other);
    }
  },
  turn: (battle, [turn]) => { battle.turn = Number(turn) || 0; battle.actor = null; },
  win: (battle, [who]) => battle.end(who || ''),
  tie: battle => battle.end(''),
};

// ----------------------------------------------------------------------------------------------- the whole battle

function follow(lines) {
  const whole = new Battle();
  for (const line of lines) {
    whole.read(line);
    for (const side of Object.values(whole.sides)) {
      for (const one of side.team) one.first ??= { species: one.species, level: one.level, gender: one.gender };
      for (const one of side.team) if (one.name !== null && /\*$/.test(one.first.species)) one.first.species = one.species;
    }
  }
  // The teams are known from the start as far as the whole battle shows them.
  const start = () => {
    const battle = new Battle();
    battle.doubles = whole.doubles;
    for (const side in whole.sides) {
      battle.sides[side].size = whole.sides[side].size;
      battle.sides[side].team = whole.sides[side].team.map(one => ({ ...fresh(one.first), name: one.name }));
    }
    return battle;
  };
  const step = (battle, line) => { if (!/^\|(poke|teamsize|teampreview|gametype)\b/.test(line)) battle.read(line); };
  const after = (count, since) => {
    const battle = start();
    lines.slice(0, count).forEach((line, number) => {
      if (number === since) battle.events = [];
      step(battle, line);
    });
    return battle;
  };
  const share = side => (side.count ? Math.min(1, side.left / side.count) : 1);
  const battle = start(), course = [];
  for (const line of ['', ...lines]) {
    battle.events = [];
    step(battle, line);
    const faints = battle.events.filter(event => event.kind === 'faint').map(event => event.side);
    course.push({ p1: share(battle.sides.p1), p2: share(battle.sides.p2), faints });
  }
  return { after, course };
}
