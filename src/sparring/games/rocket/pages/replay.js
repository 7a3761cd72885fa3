// Draws the match frame by frame, and tells what happened from the frames. Names reach the page by textContent only.

const BLUE = '#5b97ff', ORANGE = '#ff9440', LINE = '#4c6353', SIDES = ['blue', 'orange'];
const frames = match.ball.length, last = frames - 1, perSecond = 1 / match.seconds;
const g = byId('field').getContext('2d'), time = byId('time');
const node = (tag, look, text, ...inner) => {
  const made = document.createElement(tag);
  if (look) made.className = look;
  if (text) made.textContent = text;
  made.append(...inner);
  return made;
};
const clock = frame => {
  const seconds = Math.floor(frame * match.seconds + 1e-6);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
};
const far = (a, b) => Math.hypot(...a.map((v, k) => v - b[k])) > 600;  // a kickoff, or a car that comes back
const speed = (track, frame) => {  // in km/h; a unit of the game is a centimetre
  const [a, b] = frame ? [track(frame - 1), track(frame)] : [track(0), track(Math.min(1, last))];
  return far(a, b) ? 0 : Math.round(Math.hypot(...a.map((v, k) => v - b[k])) * perSecond * .036);
};

// ----------------------------------------------------------------------------------------------- what has happened

// Cars are called by their side's name, and numbered if a side has several.
const numbers = [], counts = [0, 0];
match.orange.forEach((orange, car) => { numbers[car] = ++counts[orange]; });
const short = name => (name.length > 18 ? `${name.slice(0, 17)}…` : name);
const labels = match.orange.map((orange, car) => short(match.names[orange]) + (counts[orange] > 1 ? ` ${numbers[car]}` : ''));
const sum = list => { let total = 0; return list.map(value => total += value); };
const touches = [0, 1].map(side => sum(match.touched.map(hits => hits.filter((hit, car) => hit && match.orange[car] === side).length)));

const moments = [];  // { frame, kind, words, side, more }, in order; a touch that goes on for some time is one
(() => {
  const pause = Math.round(perSecond), touched = match.orange.map(() => -pause - 1);
  const tell = (frame, kind, words, side, more = '') => moments.push({ frame, kind, words, side, more });
  tell(0, 'start', 'Kickoff');
  for (let f = 0; f <= last; f++) {
    const before = Math.max(0, f - 1);
    [0, 1].filter(side => match.goals[f][side] > match.goals[before][side]).forEach(side =>
      tell(f, 'goal', `Goal for ${short(match.names[side])}, ${match.goals[f].join(' : ')}`, side));
    if (f < last && f && far(match.ball[f], match.ball[before])) tell(f, 'start', 'Kickoff');
    match.orange.forEach((side, car) => {
      if (match.demolished[f][car] && !match.demolished[before][car]) tell(f, 'demolished', `${labels[car]} is demolished`, side);
      if (!match.touched[f][car]) return;
      const fast = speed(frame => match.ball[frame], Math.min(f + 1, last));
      if (f - touched[car] > pause) tell(f, 'touch', `${labels[car]} hits the ball`, side, `${fast} km/h`);
      touched[car] = f;
    });
  }
  const [blue, orange] = match.goals[last];
  tell(last, 'end', blue === orange ? `The end: ${blue} : ${orange}` : `${short(match.names[+(orange > blue)])} wins ${Math.max(blue, orange)} : ${Math.min(blue, orange)}`,
    blue === orange ? undefined : +(orange > blue), match.ending && `ended by ${match.ending}`);
})();

// ------------------------------------------------------------------------------------------------------- the field

// The canvas is 1220 by 1095 units of 10 uu: the field from above, blue's goal on the left, and from the side below it.
g.scale(2, 2);
const above = p => [610 + p[1] / 10, 425 + p[0] / 10], beside = p => [610 + p[1] / 10, 1080 - p[2] / 10];
const line = (points, colour, width) => { g.strokeStyle = colour; g.lineWidth = width; g.beginPath(); points.forEach(p => g.lineTo(...p)); g.stroke(); };
const disc = (x, y, r, colour) => { g.fillStyle = colour; g.beginPath(); g.arc(x, y, r, 0, 7); g.fill(); };
const between = (a, b, t) => far(a, b) ? a : a.map((v, k) => v + (b[k] - v) * t);

// A wedge, about twice as long as the car is, to be seen; it is shorter where the car heads towards the viewer or away.
function drawCar(tail, tip, colour) {
  const x = (tip[0] + tail[0]) / 2, y = (tip[1] + tail[1]) / 2, length = Math.hypot(tip[0] - tail[0], tip[1] - tail[1]);
  const along = length > 1 ? [(tip[0] - tail[0]) / length, (tip[1] - tail[1]) / length] : [1, 0], half = Math.max(length / 2, 12);
  const at = (forward, side) => [x + along[0] * forward - along[1] * side, y + along[1] * forward + along[0] * side];
  g.beginPath();
  [at(-half, -11), at(half * .35, -11), at(half, 0), at(half * .35, 11), at(-half, 11)].forEach(p => g.lineTo(...p));
  g.closePath(); g.fillStyle = colour; g.fill(); g.strokeStyle = '#0c110e'; g.lineWidth = 2; g.stroke();
}
// A name above its car, or below it, or further off if a name is there; 11 pixels high at least, however small the field is shown.
function write(text, x, y, colour, written) {
  const shown = Math.min(g.canvas.clientWidth / 1220, g.canvas.clientHeight / 1095) || 1, high = Math.max(19, 11 / shown);
  g.font = `600 ${high}px system-ui, sans-serif`; g.textAlign = 'center'; g.lineJoin = 'round';
  const wide = g.measureText(text).width / 2, from = Math.max(x, wide + 4), at = Math.min(from, 1216 - wide);
  const free = place => written.every(other => Math.abs(other.at - at) > other.wide + wide || Math.abs(other.place - place) > high);
  const places = [y - 32, y + 32 + high * .7, y - 32 - high, y + 32 + high * 1.7], place = places.find(free) ?? places[0];
  written.push({ at, place, wide });
  g.strokeStyle = '#141a16'; g.lineWidth = 5; g.strokeText(text, at, place);
  g.fillStyle = colour; g.fillText(text, at, place);
}

function drawField(taken) {
  g.clearRect(0, 0, 1220, 1095);
  const corner = 1152, x = 4096, y = 5120, goal = 893, deep = 880, edge = [];
  for (const [sx, sy] of [[1, 1], [1, -1], [-1, -1], [-1, 1]]) {
    const long = [sx * (x - corner), sy * y], wide = [sx * x, sy * (y - corner)];
    edge.push(...(sx * sy > 0 ? [long, wide] : [wide, long]));
  }
  g.fillStyle = '#1c2720'; g.beginPath(); edge.forEach(p => g.lineTo(...above(p))); g.closePath(); g.fill();
  line([...edge, edge[0]].map(above), LINE, 2);
  line([above([-x, 0]), above([x, 0])], LINE, 1.5);
  g.strokeStyle = LINE; g.beginPath(); g.arc(610, 425, 91, 0, 7); g.stroke();
  match.pads.forEach((pad, n) => {
    const [px, py] = above(pad), big = pad[2] > 72;
    disc(px, py, big ? 9 : 4, taken.includes(n) ? '#2a342d' : big ? '#d8b53c' : '#a08a36');
  });
  g.fillStyle = '#1c2720'; g.fillRect(98, 876, 1024, 204);
  line([[98, 876], [98, 1080], [1122, 1080], [1122, 876]], LINE, 2);
  for (const [side, colour] of [[-1, BLUE], [1, ORANGE]]) {
    line([[-goal, side * y], [-goal, side * (y + deep)], [goal, side * (y + deep)], [goal, side * y]].map(above), colour, 3);
    line([[0, side * y, 643], [0, side * (y + deep), 643], [0, side * (y + deep), 0], [0, side * y, 0]].map(beside), colour, 3);
  }
}

function draw() {
  const i = Math.min(Math.floor(now), last), j = Math.min(i + 1, last), t = now - i;
  drawField(match.taken[i]);
  const ball = between(match.ball[i], match.ball[j], t);
  for (let f = Math.max(1, i - 14); f <= i; f++) if (!far(match.ball[f], match.ball[f - 1]))
    line([above(match.ball[f - 1]), above(match.ball[f])], `rgba(255,255,255,${0.03 * (f - i + 15)})`, 4);
  for (const place of [above, beside]) {
    disc(...place(ball), 11 + (place === above ? ball[2] / 250 : 0), '#fff');
    match.orange.forEach((orange, car) => {
      if (match.demolished[i][car]) return;
      const p = between(match.cars[i][car], match.cars[j][car], t), nose = match.noses[i][car], at = d => place(p.map((v, k) => v + nose[k] * d));
      drawCar(at(-180), at(220), [BLUE, ORANGE][orange]);
      if (match.touched.slice(Math.max(0, i - 3), i + 1).some(f => f[car])) { g.strokeStyle = '#fadc50'; g.lineWidth = 2; g.beginPath(); g.arc(...at(20), 31, 0, 7); g.stroke(); }
    });
  }
  const written = [];
  match.orange.forEach((orange, car) => {  // last, so that no car hides a name
    if (match.demolished[i][car]) return;
    const [x, y] = above(between(match.cars[i][car], match.cars[j][car], t));
    write(labels[car], x, y, ['#a9c8ff', '#ffc599'][orange], written);
  });
  byId('goals-blue').textContent = match.goals[i][0];
  byId('goals-orange').textContent = match.goals[i][1];
  byId('clock').textContent = clock(now);
  byId('frame').textContent = `step ${i + 1} of ${frames}`;
  touches.forEach((counts, side) => { byId(`touches-${SIDES[side]}`).textContent = `${counts[i]} touch${counts[i] === 1 ? '' : 'es'}`; });
  gauges.forEach((show, car) => show(i, car));
  time.value = now;
  time.setAttribute('aria-valuetext', `${clock(now)} of ${clock(last)}`);
  drawMoments(i);
}

// ------------------------------------------------------------------------------------------------- beside the field

match.names.forEach((name, side) => {
  byId(SIDES[side]).textContent = byId(SIDES[side]).title = name;
  byId(`team-${SIDES[side]}`).classList.add('team', SIDES[side]);
  const touched = node('span');
  touched.id = `touches-${SIDES[side]}`;
  byId(`team-${SIDES[side]}`).append(node('b', '', name), touched);
});
const gauges = match.orange.map((orange, car) => {
  const fill = node('i'), boost = node('span'), fast = node('span');
  const row = node('div', 'car', '', node('span', '', counts[orange] > 1 ? `boost ${numbers[car]}` : 'boost'), node('div', 'bar', '', fill), boost, fast);
  byId(`team-${SIDES[orange]}`).append(row);
  return frame => {
    const gone = match.demolished[frame][car];
    fill.style.width = `${match.boost[frame][car]}%`;
    boost.textContent = match.boost[frame][car];
    fast.textContent = gone ? 'demolished' : `${speed(at => match.cars[at][car], frame)} km/h`;
    row.classList.toggle('gone', gone);
  };
});
for (const moment of moments) {
  moment.shown = node('button', [moment.kind, SIDES[moment.side]].filter(Boolean).join(' '), '', node('span', '', clock(moment.frame)), node('div', '', moment.words), node('span', '', moment.more));
  moment.shown.tabIndex = -1;  // the arrow keys lead there, too
  moment.shown.addEventListener('click', () => { toggle(false); go(moment.frame); });
  byId('moments').append(moment.shown);
  if (moment.kind !== 'goal' && moment.kind !== 'touch') continue;
  const mark = node('i', `${moment.kind} ${SIDES[moment.side]}`);
  mark.style.left = `${100 * moment.frame / Math.max(1, last)}%`;
  mark.title = moment.words;
  byId('marks').append(mark);
}
let shown = null;  // the moment that was told last
function drawMoments(frame) {
  const at = moments.findLast(moment => moment.frame <= frame), banner = byId('now');
  const fresh = at.kind === 'end' || frame - at.frame < 3 * perSecond, goal = moments.findLast(moment => moment.kind === 'goal' && moment.frame <= frame);
  const told = goal && at.kind !== 'end' && frame - goal.frame < 2 * perSecond ? goal : fresh ? at : null;
  const words = told ? [told.words, told.more].filter(Boolean).join(', ') : '';
  if (banner.textContent !== words) banner.textContent = words;
  banner.className = told && (told.kind === 'goal' || told.kind === 'end') ? `goal ${SIDES[told.side] ?? ''}` : '';
  if (at === shown) return;
  shown = at;
  for (const moment of moments) {
    moment.shown.classList.toggle('past', moment.frame <= frame);
    moment.shown.classList.toggle('at', moment === at);
  }
  const list = byId('moments');
  list.scrollTop = at.shown.offsetTop - list.offsetTop - list.clientHeight / 2;
}

// ------------------------------------------------------------------------------------------------ moving through it

let now = 0, playing = false, before = null;
function tick(stamp) {
  if (!playing) return;
  if (before !== null) now += (stamp - before) / 1000 * perSecond * Number(byId('speed').value);
  before = stamp;
  if (now >= last) { now = last; toggle(false); }
  draw();
  requestAnimationFrame(tick);
}
function toggle(on) {
  if (on && now >= last) now = 0;
  byId('play').textContent = on ? 'Pause' : 'Play';
  if (on && !playing) { before = null; requestAnimationFrame(tick); }
  playing = on;
}
function go(frame) { now = Math.min(Math.max(frame, 0), last); draw(); }
const paused = act => () => { toggle(false); act(); };
const moment = by => {  // the moment before or after the frame that is shown
  const found = by > 0 ? moments.find(one => one.frame > Math.floor(now)) : moments.findLast(one => one.frame < Math.floor(now));
  if (found) go(found.frame);
};
const playOrPause = () => toggle(!playing), start = paused(() => go(0)), end = paused(() => go(last));
const back = paused(() => go(Math.ceil(now) - 1)), on = paused(() => go(Math.floor(now) + 1));
controls(
  { first: ['To the start (Home)', start], back: ['One step back (comma)', back], play: ['Play or pause (space)', playOrPause],
    on: ['One step on (full stop)', on], last: ['To the end (End)', end] },
  { ' ': playOrPause, ArrowLeft: () => go(now - 5 * perSecond), ArrowRight: () => go(now + 5 * perSecond), ',': back, '.': on,
    ArrowUp: paused(() => moment(-1)), ArrowDown: paused(() => moment(1)), Home: start, End: end });
time.max = last;
time.addEventListener('input', () => go(Number(time.value)));
byId('field').addEventListener('click', playOrPause);
window.addEventListener('resize', draw);
// A link may name a second (#t=12.5); else the match is played from its start, unless the reader wants no motion.
const asked = /^#t=(\d+(?:\.\d+)?)$/.exec(location.hash);
go(asked ? Number(asked[1]) * perSecond : 0);
toggle(!asked && !matchMedia('(prefers-reduced-motion: reduce)').matches);
