// Long methods of Showdown's of which only a line or two are slow: those are replaced in the method's own source.
'use strict';

/**
 * A method with some pieces of its source replaced. A piece that is not there exactly once, or a source that needs more
 * than its `this`, is an error.
 */
function rewritten(method, pieces) {
  let source = method.toString();
  for (const [piece, replacement] of pieces) {
    if (source.split(piece).length !== 2) throw new Error(`pokemon-showdown's ${method.name} lacks: ${piece}`);
    source = source.replace(piece, () => replacement);
  }
  if (/\bimport_/.test(source)) throw new Error(`pokemon-showdown's ${method.name} uses what its module imports`);
  return new Function(`'use strict';return ({${source}}).${method.name}`)();
}

module.exports = { rewritten };
