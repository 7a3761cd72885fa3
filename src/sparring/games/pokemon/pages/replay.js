// The page: draws what `battle.js` makes of the lines. `steps` is [protocol line, the line in words] in order, `types`
// what the dex says of the species and moves that the lines name. Whatever a player typed (names, chat) reaches the
// page by textContent only.

const { names, tier, types, steps } = match;
const story = follow(steps.map(([line]) => line));
const SIDES = ['p1', 'p2'];

const node = (tag, look, text, ...inner) => {
  const made = document.createElement(tag);
  if (look) made.className = look;
  if (text) made.textContent = text;
  made.append(...inner);
  return made;
};
const styled = (made, values) => {
  for (const name in values) made.style.setProperty(name, values[name]);
  return made;
};

// --------------------------------------------------------------------------------------------------------- types

const COLOURS = new Map(Object.entries({ Normal: '#9fa19f', Fire: '#e62829', Water: '#2980ef', Electric: '#f0b800',
  Grass: '#3fa129', Ice: '#38bfe4', Fighting: '#f57c00', Poison: '#9141cb', Ground: '#915121', Flying: '#74aeea',
  Psychic: '#ef4179', Bug: '#91a119', Rock: '#aaa37a', Ghost: '#704170', Dragon: '#5060e1', Dark: '#624d4e',
  Steel: '#60a1b8', Fairy: '#e866e8', Stellar: '#40b5a5' }));
const NEUTRAL = '#8791a3';  // for what the dex does not know
const tint = type => COLOURS.get(type) ?? NEUTRAL;
const speciesTypes = new Map(Object.entries(types.species)), moveTypes = new Map(Object.entries(types.moves));
const typesOf = one => one.effects.get('Type')?.split('/') ?? speciesTypes.get(one.species) ?? [];

const badge = (look, text, type) => styled(node('span', look, text), { '--type': tint(type) });
const moveChip = name => badge('move', name, moveTypes.get(name));
const crowned = (look, text, type) => {
  const made = badge(look, '', type);
  made.append(node('i', 'crown'), text);
  return made;
};

// --------------------------------------------------------------------------------------------------- one Pokémon

const percent = share => (share > 0 ? `${Math.max(1, Math.round(share * 100))}%` : '0%');
const colourOf = hp => (hp > 0.5 ? '#2fa84f' : hp > 0.2 ? '#e5a50a' : '#e0364c');
const gender = one => ({ M: ' \u2642', F: ' \u2640' }[one.gender] || '');

const bar = (one, from = one.hp) => styled(node('div', 'bar', '', node('i')),
  { '--hp': `${one.hp * 100}%`, '--from': `${from * 100}%`, '--level': colourOf(one.hp) });

// A marble in the colours of its types, with the first letters of the species.
const disc = one => {
  const [first, second = first] = typesOf(one);
  return styled(node('div', 'disc', one.species.slice(0, 2)), { '--first': tint(first), '--second': tint(second) });
};

// What a line did to a Pokémon, told beside it while the line is shown.
const FLOATS = {
  hp: ({ one, from }) => node('span', one.hp < from ? 'float hurt' : 'float healed',
    `${one.hp < from ? '\u2212' : '+'}${percent(Math.abs(one.hp - from))}`),
  move: ({ name }) => badge('float used', name, moveTypes.get(name)),
  note: ({ text }) => node('span', 'float', text),
};
const LOOKS = {
  hp: ({ one, from }) => (one.hp < from ? 'hit' : 'mends'),
  move: () => 'moves', enter: () => 'enters', faint: () => 'falls',
};

// Where it stands: its disc on a platform, with what is happening to it.
function spot(one, battle) {
  if (!one) return node('div', 'spot', '', node('div', 'platform'));
  const events = battle.events.filter(event => event.one === one);
  const looks = ['spot', one === battle.actor && 'acts', ...events.map(event => LOOKS[event.kind]?.(event))];
  const ball = styled(disc(one), { '--hp': `${one.hp * 100}%`, '--level': colourOf(one.hp) });
  if (one.tera) ball.append(crowned('tera', '', one.tera));
  return node('div', looks.filter(Boolean).join(' '), '',
    node('div', 'platform'), ball, node('div', 'label', one.name),
    node('div', 'floats', '', ...events.flatMap(event => FLOATS[event.kind]?.(event) ?? [])));
}

// All that has been seen of it.
function card(one, battle) {
  if (!one) return node('div', 'card empty', 'nobody here');
  const title = node('div', 'name', one.name,
    node('small', '', `${one.name === one.species ? '' : ` ${one.species}`} L${one.level}${gender(one)}`));
  const kinds = node('div', 'kinds', '', ...typesOf(one).map(type => badge('type', type, type)));
  if (one.tera) kinds.append(crowned('type tera', `Tera ${one.tera}`, one.tera));
  const change = battle.events.find(event => event.one === one && event.kind === 'hp');
  const hp = node('div', 'hp', '', bar(one, change?.from), node('span', 'percent', percent(one.hp)));
  const chips = node('div', 'chips'), chip = (look, text) => chips.append(node('span', `chip ${look}`, text));
  if (one.status) chip('status', one.status.toUpperCase());
  for (const stat in BOOSTS) {
    const by = one.boosts[stat];
    if (by) chip(by > 0 ? 'up' : 'down', `${BOOSTS[stat]} ${by > 0 ? '+' : '\u2212'}${Math.abs(by)}`);
  }
  for (const [effect, detail] of one.effects) chip('', detail ? `${effect}: ${detail}` : effect);
  const shown = node('dl', 'shown'), moves = one.moves.map(moveChip);
  if (moves.length) shown.append(node('dt', '', 'Moves shown'), node('dd', 'moves', '', ...moves));
  if (one.ability) shown.append(node('dt', '', 'Ability'), node('dd', '', one.ability));
  if (one.item) shown.append(node('dt', '', 'Item'), node('dd', '', one.item));
  const look = one.fainted ? 'card falls' : one === battle.actor ? 'card acts' : 'card';
  return node('div', look, '', title, kinds, hp, chips, shown);
}

// One of the team, in the row above or below the field.
function member(one, out) {
  const look = one.fainted ? ' fainted' : out ? ' out' : one.seen ? '' : ' unseen';
  const state = one.fainted ? 'fainted' : one.seen ? `${percent(one.hp)} ${one.status.toUpperCase()}` : 'not seen yet';
  const made = node('div', `one${look}`, '', disc(one), node('div', 'who', one.name ?? one.species.replace(/-\*$/, '')),
    bar(one.seen ? one : { hp: 0 }), node('small', '', state));
  made.title = `${one.name ?? one.species} (${one.species}), level ${one.level}${one.seen ? '' : ', not seen yet'}`;
  return made;
}
const unknown = () => node('div', 'one unseen', '',
  node('div', 'disc', '?'), node('div', 'who', '?'), node('small', '', 'never shown'));

// ----------------------------------------------------------------------------------------------------- the board

function drawTeam(id, battle) {
  const side = battle.sides[id], out = new Set(Object.values(side.places));
  const lies = [...side.lies].map(([effect, layers]) => (layers > 1 ? `${effect} x${layers}` : effect));
  const top = node('div', 'top', '', node('span', 'player', names[id]),
    node('span', 'count', side.size ? `${side.standing} of ${side.size} left` : ''),
    ...lies.map(text => node('span', 'chip lies', text)));
  const bench = node('div', 'bench', '', ...side.team.map(one => member(one, out.has(one))));
  for (let number = side.team.length; number < side.size; number++) bench.append(unknown());
  byId(`team-${id}`).replaceChildren(...(id === 'p2' ? [top, bench] : [bench, top]));
}

// Who is in battle. One that has just fainted is seen a last time.
function drawRow(id, battle) {
  const here = (battle.doubles ? ['a', 'b'] : ['a']).map(place => battle.sides[id].places[place] ??
    battle.events.find(event => event.kind === 'faint' && event.side === id && event.place === place)?.one);
  const stage = node('div', 'stage', '', ...here.map(one => spot(one, battle)));
  const cards = node('div', 'cards', '', ...here.map(one => card(one, battle)));
  byId(`row-${id}`).replaceChildren(...(id === 'p2' ? [cards, stage] : [stage, cards]));
}

// How it ended: "in 12 turns, with 3 of 6 Pokémon left".
function result(battle) {
  const won = winnerOf(battle), lost = won === 'p1' ? 'p2' : 'p1';
  const left = id => `${battle.sides[id].standing} of ${battle.sides[id].count}`;
  const length = `${won ? 'in' : 'after'} ${battle.turn} turn${battle.turn === 1 ? '' : 's'}`;
  if (!won) return `${length}: ${names.p1} has ${left('p1')} Pokémon left, ${names.p2} ${left('p2')}`;
  const rest = battle.sides[lost].standing ? `; ${names[lost]} still had ${left(lost)}` : '';
  return `${length}, with ${left(won)} Pokémon left${rest}`;
}
const winnerOf = battle => SIDES.find(id => names[id] === battle.winner);

function drawField(battle) {
  const arena = byId('arena'), field = byId('field'), told = byId('told');
  arena.dataset.weather = battle.weather;
  arena.dataset.terrain = [...battle.field].find(effect => TERRAIN.test(effect)) ?? '';
  arena.classList.toggle('doubles', battle.doubles);
  const title = battle.turn ? `Turn ${battle.turn}` : 'Before the first turn';
  const ended = battle.winner ? `${battle.winner} won` : 'A tie';
  field.replaceChildren(node('b', '', battle.over ? ended : title));
  for (const effect of [battle.weather, ...battle.field]) if (effect) field.append(node('span', 'chip', effect));
  told.className = battle.over ? `over ${winnerOf(battle) ?? ''}` : '';
  const last = lines.findLast(({ step }) => step < at);
  const now = last && !last.shown.classList.contains('turn') ? last.shown.textContent : '';
  byId('now').textContent = battle.over ? result(battle) : now;
}

function drawLog() {
  const log = byId('log');
  for (const { step, shown } of lines) {
    shown.classList.toggle('past', step < at);
    shown.classList.toggle('now', step === at - 1);
  }
  const now = log.querySelector('.now');
  if (now) log.scrollTop = now.offsetTop - log.offsetTop - log.clientHeight / 2;
  else if (at === 0) log.scrollTop = 0;
}

function draw() {
  const battle = story.after(at, stops.findLast(stop => stop < at) ?? 0);
  for (const id of SIDES) { drawTeam(id, battle); drawRow(id, battle); }
  drawField(battle);
  drawTimeline();
  drawLog();
  byId('turn').textContent = `turn ${battle.turn} of ${turns.length - 1}`;
  byId('play').textContent = timer ? 'Pause' : 'Play';
}

// ---------------------------------------------------------------------------------------------------- the timeline

const lines = [];  // those with words: `step` is the line's number, `shown` its paragraph
const turns = [0];  // the step with which each turn begins
steps.forEach(([line, words], step) => {
  if (line.startsWith('|turn|')) turns.push(step + 1);
  if (!words) return;
  const look = line.startsWith('|turn|') ? 'turn' : line.startsWith('|-') ? 'minor' : 'major';
  const shown = node('p', `${look} ${/^\|[\w-]+\|(p[12])/.exec(line)?.[1] ?? ''}`, words);
  shown.addEventListener('click', () => go(step + 1));
  byId('log').append(shown);
  lines.push({ step, shown });
});
const stops = [0, ...lines.map(({ step }) => step + 1)];  // steps without words are passed over
const end = stops.at(-1);

// Where a step is on the time axis, in turns: 2.5 is in the middle of the second turn. All turns are equally wide.
function position(step) {
  const turn = turns.findLastIndex(start => start <= step), length = (turns[turn + 1] ?? end) - turns[turn];
  return turn + (length > 0 ? Math.min(1, (step - turns[turn]) / length) : 0);
}

// What both teams have left over time, 100 at the top being whole teams. The slider lies over it and is its cursor.
function drawChart() {
  const points = story.course.map((share, step) => ({ ...share, x: position(step) }));
  const y = share => (96 - 92 * share).toFixed(2), x = point => point.x.toFixed(4);
  byId('chart').setAttribute('viewBox', `0 0 ${turns.length} 100`);
  const every = turns.length > 40 ? 10 : turns.length > 15 ? 5 : 1;
  byId('grid').setAttribute('d', turns.map((_, turn) => (turn && turn % every === 0 ? `M${turn} 0V100` : '')).join(''));
  for (const id of SIDES) {
    const line = points.map(point => `${x(point)} ${y(point[id])}`).join('L');
    byId(`line-${id}`).setAttribute('d', `M${line}`);
    byId(`area-${id}`).setAttribute('d', `M0 100L${line}V100Z`);
    const faints = points.filter(point => point.faints.includes(id));
    byId(`faints-${id}`).setAttribute('d', faints.map(point => `M${x(point)} ${y(point[id])}h.0001`).join(''));
  }
}

function drawTimeline() {
  const here = position(at);
  byId('slider').value = here;
  byId('slider').setAttribute('aria-valuetext', `turn ${Math.floor(here)}`);
  byId('ahead').setAttribute('d', `M${here} 0H${turns.length}V100H${here}Z`);
  const left = SIDES.map(id => node('span', id, `${names[id]} `, node('b', '', percent(story.course[at][id]))));
  byId('legend').replaceChildren('Team HP', ...left);
}

// ---------------------------------------------------------------------------------------------- moving through it

let at = 0, timer = 0;

function go(to) { at = Math.max(0, Math.min(end, to)); draw(); }
function next(by) {
  const here = stops.findLastIndex(stop => stop <= at);
  go(stops[Math.max(0, Math.min(stops.length - 1, here + by))]);
}
function turn(by) {
  const here = turns.findLastIndex(start => start <= at);
  if (by > 0 && here + 1 >= turns.length) return go(end);
  go(by < 0 && at > turns[here] ? turns[here] : turns[Math.max(0, here + by)]);
}
function pause() { clearInterval(timer); timer = 0; draw(); }
function play() {
  if (at >= end) at = 0;
  timer = setInterval(() => { next(1); if (at >= end) pause(); }, Number(byId('speed').value));
  draw();
}

byId('title').append(node('span', 'p1', names.p1), ' against ', node('span', 'p2', names.p2));
byId('tier').textContent = tier;
byId('slider').max = turns.length;
byId('slider').addEventListener('input', event => {
  const asked = Number(event.target.value);
  if (timer) pause();
  go(stops.findLast(stop => position(stop) <= asked));
});
byId('speed').addEventListener('change', () => { if (timer) { pause(); play(); } });
const paused = act => () => { if (timer) pause(); act(); };
const playOrPause = () => (timer ? pause() : play());
const start = paused(() => go(0)), finish = paused(() => go(end)), back = paused(() => next(-1)), on = paused(() => next(1));
controls(
  { first: ['To the start (Home)', start], back: ['One step back (left arrow)', back], play: ['Play or pause (space)', playOrPause],
    on: ['One step on (right arrow)', on], last: ['To the end (End)', finish] },
  { ' ': playOrPause, ArrowLeft: back, ArrowRight: on, ',': back, '.': on, ArrowUp: paused(() => turn(-1)), ArrowDown: paused(() => turn(1)),
    Home: start, End: finish });
drawChart();
// A link may name a turn (#turn=3) or the end (#end); else the first turn is shown, with everybody in place.
const asked = /^#turn=(\d+)$/.exec(location.hash);
go(location.hash === '#end' ? end : turns[Math.min(asked ? Number(asked[1]) : 1, turns.length - 1)]);
