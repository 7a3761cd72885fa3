// The match: `moves` are cells, row * size + column, or size * size for a swap; `seats` made them, and the last of those
// is to move in the end. `setup` are cells and seats. Names reach the page by textContent only.
const { size, names, moves, seats, setup, labels, looks, winner, chain, opening } = match;
const SWAP = size * size, COLOURS = ['black', 'white'], HIGH = Math.sqrt(3), PAUSE = 700;
const drawn = (kind, attributes, parent, text) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
const element = (kind, parent, text, className) => {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
};
const percent = share => share > 0 && share < .01 ? '<1%' : share < 1 && share > .99 ? '>99%' : Math.round(100 * share) + '%';
const mirrored = cell => cell % size * size + Math.floor(cell / size);
const called = cell => cell === SWAP ? 'swap' : String.fromCharCode(97 + cell % size) + (Math.floor(cell / size) + 1);

// ------------------------------------------------------------------------------------------------------- the board

// A cell is a hexagon of radius 1 with a corner at its top; corner 0 is the top one, the others follow clockwise.
const middle = cell => { const row = Math.floor(cell / size); return [HIGH * (cell % size + row / 2), 1.5 * row]; };
const corner = (cell, number) => {
  const [x, y] = middle(cell), turn = Math.PI / 3 * number;
  return [x + Math.sin(turn), y - Math.cos(turn)];
};
const between = (a, b) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
const points = list => list.map(point => point.map(value => value.toFixed(3)).join(',')).join(' ');
const board = byId('board');
const stones = (() => {
  const end = middle(SWAP - 1), edges = [[], [], [], []];
  board.setAttribute('viewBox', [-2.5, -2.3, end[0] + 5, end[1] + 4.6].join(' '));
  for (let at = 0; at < size; at++) {  // top, bottom, left, right
    const top = at, bottom = SWAP - 1 - at, left = at * size, right = at * size + size - 1;
    edges[0].push(corner(top, 5), corner(top, 0));
    edges[1].push(corner(bottom, 2), corner(bottom, 3));
    edges[2].push(corner(left, 5), corner(left, 4));
    edges[3].push(at ? corner(right, 0) : between(corner(right, 0), corner(right, 1)), corner(right, 1));
  }
  edges[0].push(between(corner(size - 1, 0), corner(size - 1, 1)));
  edges[1].push(between(corner(SWAP - size, 3), corner(SWAP - size, 4)));
  edges[2].push(between(corner(SWAP - size, 3), corner(SWAP - size, 4)));
  edges[3].push(corner(SWAP - 1, 2));
  edges.forEach((edge, number) => drawn('polyline', { class: 'edge ' + COLOURS[number >> 1], points: points(edge) }, board));
  for (let cell = 0; cell < SWAP; cell++) {
    const shape = drawn('polygon', { points: points([0, 1, 2, 3, 4, 5].map(number => corner(cell, number))) }, board);
    drawn('title', {}, shape, called(cell));
  }
  for (let at = 0; at < size; at++) {
    const letter = String.fromCharCode(97 + at), [x] = middle(at), [under, low] = middle(SWAP - size + at), [left, y] = middle(at * size);
    drawn('text', { x: x - .45, y: -1.75 }, board, letter);
    drawn('text', { x: under + .45, y: low + 1.75 }, board, letter);
    drawn('text', { x: left - 1.75, y: y }, board, at + 1);
    drawn('text', { x: left + HIGH * (size - 1) + 1.75, y: y }, board, at + 1);
  }
  return drawn('g', {}, board);
})();

function position(step) {  // cell -> [seat, number of the move; empty if it was set up]
  const found = new Map(setup.map(([cell, seat]) => [cell, [seat, '']]));
  for (let number = 0; number < step; number++) {
    if (moves[number] === SWAP) { found.delete(moves[0]); found.set(mirrored(moves[0]), [seats[1], 2]); }
    else found.set(moves[number], [seats[number], number + 1]);
  }
  return found;
}
const lastStone = step => step && (moves[step - 1] === SWAP ? mirrored(moves[0]) : moves[step - 1]);
function stone(cell, seat, label, ghost) {
  const [cx, cy] = middle(cell), made = drawn('g', { class: 'stone ' + COLOURS[seat] + (ghost ? ' ghost' : '') }, stones);
  drawn('circle', { cx, cy, r: .72 }, made);
  drawn('text', { x: cx, y: cy + .02 }, made, label);
}
function drawBoard(step, line) {
  stones.replaceChildren();
  const there = position(step), over = step === moves.length && chain.length;
  for (const [cell, [seat, number]] of there) stone(cell, seat, number);
  if (over) {
    for (const cell of chain) { const [cx, cy] = middle(cell); drawn('circle', { class: 'chained', cx, cy, r: .74 }, stones); }
    drawn('polyline', { class: 'way', points: points(chain.map(middle)) }, stones);
    for (const cell of chain) stone(cell, ...there.get(cell));
    for (const cell of chain) { const [cx, cy] = middle(cell); drawn('circle', { class: 'chained', cx, cy, r: .74 }, stones); }
  }
  if (step) { const [cx, cy] = middle(lastStone(step)); drawn('circle', { class: 'last', cx, cy, r: over ? .56 : .72 }, stones); }
  if (line) line.forEach((cell, number) => { if (cell !== SWAP) stone(cell, (seats[step] + number) % 2, number + 1, true); });
  else if (looks[step]) for (const { cell, share, chance } of looks[step].moves) {
    if (cell === SWAP) continue;
    const [cx, cy] = middle(cell);
    drawn('circle', { class: 'idea', cx, cy, r: .3 + .42 * Math.sqrt(share), opacity: .15 + .35 * share }, stones);
    drawn('text', { x: cx, y: cy }, stones, percent(chance));
  }
}

// ------------------------------------------------------------------------------------------------- what lies beside

const rows = names.map((name, seat) => {
  const row = element('div', byId('players'), undefined, 'player'), text = document.createElement('div');
  element('i', row, undefined, 'disc ' + COLOURS[seat]);
  row.append(text);
  element('b', text, name);
  element('span', text, ['black, connects top and bottom', 'white, connects left and right'][seat]);
  return row;
});
const outOfTurn = moves.some((_, number) => seats[number] !== number % 2);
const buttons = moves.map((move, number) => {
  const list = byId('moves');
  if (number % 2 === 0) element('i', list, number + 1);
  const button = element('button', list, labels[number]);
  if (number < opening) element('small', button, 'at random');
  if (outOfTurn) element('small', button, COLOURS[seats[number]]);
  button.tabIndex = -1;  // the arrow keys lead there, too
  button.onclick = () => go(number + 1);
  return button;
});
const chances = moves.concat(0).map((_, step) =>
  looks[step] ? looks[step].black : step === moves.length && looks.length && winner !== null ? 1 - winner : null);
const known = chances.map((chance, step) => [step, chance]).filter(([, chance]) => chance !== null);
const across = step => 1000 * step / Math.max(1, moves.length);
const plot = byId('chances').querySelector('svg');
const marker = (() => {
  const curve = known.map(([step, chance]) => [across(step), 100 - 100 * chance]);
  for (const y of [0, 50, 100]) drawn('line', { class: 'grid', x1: 0, x2: 1000, y1: y, y2: y }, plot);
  if (curve.length) {
    drawn('polygon', { class: 'under', points: points([[curve[0][0], 100], ...curve, [curve[curve.length - 1][0], 100]]) }, plot);
    drawn('polyline', { class: 'curve', points: points(curve) }, plot);
  }
  return drawn('line', { class: 'at', y1: 0, y2: 100 }, plot);
})();
plot.onclick = event => {
  const { left, width } = plot.getBoundingClientRect();
  go(Math.round((event.clientX - left) / width * moves.length));
};
function drawIdeas(step) {
  const body = byId('ideas').querySelector('tbody'), look = looks[step];
  body.replaceChildren();
  body.parentElement.hidden = !look;
  byId('ideas-about').textContent = look ? 'How often the analysis plays a move for ' + COLOURS[seats[step]] + ', and wins with it. Point at one for its line.' :
    'The match is over.';
  for (const { cell, share, chance, line } of look ? look.moves : []) {
    const row = element('tr', body, undefined, cell === moves[step] ? 'played' : '');
    element('td', row, called(cell) + (cell === moves[step] ? ' played' : ''));
    element('td', row, percent(share));
    element('td', row, percent(chance));
    row.title = line.map(called).join(' ');
    row.onmouseenter = () => drawBoard(step, line);
    row.onmouseleave = () => drawBoard(step);
  }
}

// ------------------------------------------------------------------------------------------------------- moving on

let now = 0, timer = null;
function go(step) {
  now = Math.min(Math.max(step, 0), moves.length);
  const over = now === moves.length;
  drawBoard(now);
  if (looks.length) drawIdeas(now);
  rows.forEach((row, seat) => {
    row.classList.toggle('won', over && seat === winner);
    row.classList.toggle('turn', !(over && winner !== null) && seat === seats[now]);
  });
  buttons.forEach((button, number) => {
    button.classList.toggle('past', number < now);
    button.classList.toggle('now', number === now - 1);
  });
  if (now) buttons[now - 1].scrollIntoView({ block: 'nearest' }); else byId('moves').scrollTop = 0;
  marker.setAttribute('x1', across(now)); marker.setAttribute('x2', across(now));
  byId('chance').textContent = chances[now] === null ? '' : percent(chances[now]);
  byId('slider').value = now;
  byId('count').textContent = 'Move ' + now + ' of ' + moves.length;
  if (over) toggle(false);
}
function toggle(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => go(now + 1), PAUSE) : null;
  byId('play').textContent = on ? 'Pause' : 'Play';
}
function playOrPause() {
  if (timer !== null) return toggle(false);
  if (now === moves.length) go(0);
  if (moves.length) toggle(true);
}
const step = by => { toggle(false); go(now + by); };
const start = () => step(-moves.length), end = () => step(moves.length), back = () => step(-1), on = () => step(1);
controls(
  { first: ['To the start (Home)', start], back: ['One move back (left arrow)', back], play: ['Play or pause (space)', playOrPause],
    on: ['One move on (right arrow)', on], last: ['To the end (End)', end] },
  { ' ': playOrPause, ArrowLeft: back, ArrowRight: on, ',': back, '.': on, ArrowUp: () => step(-2), ArrowDown: () => step(2), Home: start, End: end });
byId('slider').max = moves.length;
byId('slider').oninput = () => { toggle(false); go(+byId('slider').value); };
byId('title').textContent = names[0] + ' against ' + names[1];
byId('about').textContent = size + 'x' + size + ', ' + moves.length + ' moves' + (opening ? ', the first ' + opening + ' at random' : '') +
  (setup.length ? ', after ' + setup.length + ' stones set up' : '') +
  (winner === null ? '' : '; ' + names[winner] + ' (' + COLOURS[winner] + ') won' + (chain.length ? '' : ' before the edges were connected'));
byId('sgf').href = match.sgf;
byId('chances').hidden = byId('ideas').hidden = !looks.length;
go(location.hash ? +location.hash.slice(1) || 0 : moves.length);
