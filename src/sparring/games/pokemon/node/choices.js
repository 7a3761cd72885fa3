// Random choices: what a side with `request` does next, drawn from `prng`.
// `arrange` may reorder the team in team preview before as many as the format allows are taken.
'use strict';

const sample = (prng, list) => list[prng.random(list.length)];

function chooseSwitch(prng, team, taken, reviving, actives) {
  const open = team.map((_, i) => i).filter(i => {
    if (taken.has(i) || (i < actives && !reviving)) return false;
    return team[i].condition.endsWith(' fnt') === reviving;
  });
  if (!open.length) return 'pass';
  const chosen = sample(prng, open);
  taken.add(chosen);
  return `switch ${chosen + 1}`;
}

function chooseAction(prng, request, i, taken, used) {
  const active = request.active[i];
  const team = request.side.pokemon;
  if (!active || team[i].condition.endsWith(' fnt') || team[i].commanding) return 'pass';
  if (!active.trapped && prng.random(100) < 15) {
    const choice = chooseSwitch(prng, team, taken, false, request.active.length);
    if (choice !== 'pass') return choice;
  }
  const gimmicks = [];
  if (active.canMegaEvo) gimmicks.push('mega');
  if (active.canUltraBurst) gimmicks.push('ultra');
  if (active.canTerastallize) gimmicks.push('terastallize');
  if (active.canDynamax) gimmicks.push('dynamax');
  if (active.canZMove) gimmicks.push('zmove');
  let gimmick = gimmicks.length && prng.random(100) < 20 ? sample(prng, gimmicks) : '';
  if (used.has(gimmick)) gimmick = '';
  let moves = active.moves;
  if (gimmick === 'zmove') moves = active.canZMove.map((z, j) => z && { ...z, disabled: active.moves[j].disabled });
  else if (gimmick === 'dynamax' || (active.maxMoves && !active.canDynamax)) moves = active.maxMoves.maxMoves;
  let open = moves.map((_, j) => j).filter(j => moves[j] && !moves[j].disabled);
  if (!open.length) {
    gimmick = '';
    moves = active.moves;
    open = moves.map((_, j) => j).filter(j => !moves[j].disabled);
  }
  if (gimmick) used.add(gimmick);
  const slot = open.length ? sample(prng, open) : 0;
  let choice = `move ${slot + 1}`;
  if (request.active.length > 1) {
    const target = moves[slot].target;
    if (['normal', 'any', 'adjacentFoe'].includes(target)) choice += ` ${1 + prng.random(2)}`;
    else if (target === 'adjacentAlly') choice += ` -${2 - i}`;
    else if (target === 'adjacentAllyOrSelf') choice += ` -${1 + prng.random(2)}`;
  }
  return gimmick ? `${choice} ${gimmick}` : choice;
}

function choose(prng, request, arrange = order => order) {
  const taken = new Set();
  const team = request.side.pokemon;
  if (request.teamPreview) {
    const order = team.map((_, i) => i + 1);
    prng.shuffle(order);
    return `team ${arrange(order).slice(0, request.maxChosenTeamSize ?? order.length).join('')}`;
  }
  if (request.forceSwitch) {
    return request.forceSwitch.map((must, i) =>
      must ? chooseSwitch(prng, team, taken, Boolean(team[i].reviving), request.forceSwitch.length) : 'pass').join(', ');
  }
  const used = new Set();
  return request.active.map((_, i) => chooseAction(prng, request, i, taken, used)).join(', ');
}

module.exports = { choose };
