// Many Showdown battles in one process, driven over pipes.
//
// Commands come on standard input, one a line, fields separated by \x1f:
//   s  id format seed name0 team0 name1 team1 flags   start a battle (teams packed; flags: l = send the log at the
//                                                     end, t = and each side's last lines, o = open team sheets,
//                                                     m = tell spacers too)
//   c  id side choice                                 a side's choice, as in Showdown's /choose
//   t  id                                             tell the sides' last lines when the battle ends, as flag t does
//   l  id                                             send the log when the battle ends, as flag l does
//   p                                                 answered by a record p once all before it is done
// Records go to standard output, fields separated by \x1f, each ended by \x1e:
//   r  id side request lines    the side must choose: what its request changes (JSON) and the lines it has not had yet
//   e  id winner turns log lines0 lines1   the battle ended; winner 0, 1 or -1 for a tie; the log, and the lines that
//                               each side has not had yet, are empty unless asked for
//   i  id side reason log       Showdown calls the choice invalid; the side still has to choose
//   f  id reason log            the battle threw; it is gone
//   n  text                     at the start, where the faster engine left methods of this Showdown as they are
//
// What a side is told, lines and requests, is made in sides.js. Lines are held back until the side has to choose: nobody
// reads them before. Reading and writing block, so that the process is either simulating or asleep.
'use strict';
const fs = require('fs');
const { StringDecoder } = require('string_decoder');
const { Battle } = require('pokemon-showdown');
const { notice } = require('./engine');
const { Asked, splitLines } = require('./sides');

const FLUSH_BYTES = 1 << 13;
const battles = new Map();
let output = '';

class Match {
  constructor(id, format, seed, name0, team0, name1, team1, flags) {
    this.id = id;
    this.keepsLog = flags.includes('l');
    this.tellsEnd = flags.includes('t');
    this.tellsSpacers = flags.includes('m');
    this.lines = [[], []];
    this.asked = [new Asked(), new Asked()];
    this.position = 0;
    this.battle = new Battle({
      formatid: format,
      seed,
      p1: { name: name0, team: team0 },
      p2: { name: name1, team: team1 },
      send: (type, data) => this.onSend(type, data),
    });
    if (flags.includes('o')) this.battle.showOpenTeamSheets();
    this.waiting = [false, false];
    this.report();
  }

  /** Lines for one side only, which Showdown sends aside from the log; requests are read from the sides instead. */
  onSend(type, data) {
    if (type !== 'sideupdate') return;
    const line = data.slice(data.indexOf('\n') + 1);
    if (line.startsWith('|request|')) return;
    this.lines[data.charCodeAt(1) - 49].push(line);
  }

  choose(side, choice) {
    if (!this.waiting[side]) {
      output += `i\x1f${this.id}\x1f${side}\x1fno choice is expected\x1f${this.log()}\x1e`;
      return;
    }
    this.waiting[side] = false;
    const { battle } = this;
    if (battle.choose(side ? 'p2' : 'p1', choice)) {
      if (battle.log.length > this.position) this.report();
      return;
    }
    const error = battle.sides[side].choice.error;
    const told = this.lines[side].at(-1) ?? '';
    this.waiting[side] = true;
    if (told.startsWith('|error|[Unavailable choice]')) {
      this.request(side);
    } else {
      output += `i\x1f${this.id}\x1f${side}\x1f${choice}: ${error}\x1f${this.log()}\x1e`;
    }
  }

  /** Splits new log lines by side; then says who must choose, or who won. */
  report() {
    const { battle } = this;
    const { log } = battle;
    splitLines(log, this.position, this.lines, this.tellsSpacers);
    this.position = log.length;
    if (battle.ended) {
      const winner = battle.winner ? Number(battle.winner === battle.sides[1].name) : -1;
      const last = this.tellsEnd ? this.lines.map((lines) => lines.join('\n')).join('\x1f') : '\x1f';
      output += `e\x1f${this.id}\x1f${winner}\x1f${battle.turn}\x1f${this.keepsLog ? this.log() : ''}\x1f${last}\x1e`;
      this.drop();
      return;
    }
    for (let side = 0; side < 2; side++) {
      if (battle.sides[side].requestState) {
        this.waiting[side] = true;
        this.request(side);
      }
    }
  }

  request(side) {
    const request = JSON.stringify(this.asked[side].change(this.battle.sides[side]));
    output += `r\x1f${this.id}\x1f${side}\x1f${request}\x1f${this.lines[side].join('\n')}\x1e`;
    this.lines[side].length = 0;
  }

  /** The spectators' log, as replays hold it. */
  log() {
    const { log } = this.battle;
    const kept = [];
    for (let i = 0; i < log.length; i++) {
      if (log[i].startsWith('|split|')) {
        i += 2;
        if (!log[i]) continue;
      }
      kept.push(log[i]);
    }
    return kept.join('\n');
  }

  drop() {
    battles.delete(this.id);
    this.battle.destroy();
  }
}

function command(line) {
  const fields = line.split('\x1f');
  const [kind, id] = fields;
  const match = battles.get(id);
  try {
    if (kind === 'c') {
      if (match) match.choose(fields[2] === '1' ? 1 : 0, fields[3]);
    } else if (kind === 's') {
      battles.set(id, null);
      const started = new Match(id, ...fields.slice(2));
      if (battles.has(id)) battles.set(id, started);
    } else if (kind === 't') {
      if (match) match.tellsEnd = true;
    } else if (kind === 'l') {
      if (match) match.keepsLog = true;
    } else if (kind === 'p') {
      output += 'p\x1e';
    }
  } catch (error) {
    battles.delete(id);
    const log = match?.battle?.log?.length ? match.log() : '';
    output += `f\x1f${id}\x1f${String(error.stack).replace(/[\x1e\x1f]/g, ' ')}\x1f${log}\x1e`;
  }
}

function flush() {
  const bytes = Buffer.from(output, 'utf8');
  output = '';
  for (let written = 0; written < bytes.length;) written += fs.writeSync(1, bytes, written);
}

function main() {
  console.log = console.error;
  // a scheduler signals the whole tree of processes; it is the parent that answers, and closes standard input
  for (const name of ['SIGUSR1', 'SIGUSR2']) process.on(name, () => {});
  if (notice) {
    output += `n\x1f${notice}\x1e`;
    flush();
  }
  const chunk = Buffer.alloc(1 << 16);
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for (;;) {
    const size = fs.readSync(0, chunk, 0, chunk.length, null);
    if (size === 0) return;
    const lines = (rest + decoder.write(chunk.subarray(0, size))).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      command(line);
      if (output.length > FLUSH_BYTES) flush();
    }
    if (output.length) flush();
  }
}

main();
