// What every page of a match has: the match as data, elements by their id, buttons and keys.

const byId = id => document.getElementById(id);
const match = JSON.parse(byId('match').textContent);

// `buttons` gives each button by its id what it does in words and an act, `keys` gives keys their acts.
function controls(buttons, keys) {
  for (const [id, [words, act]] of Object.entries(buttons)) {
    const button = byId(id);
    button.title = words;
    if (button.querySelector('svg')) button.setAttribute('aria-label', words);
    button.addEventListener('click', act);
  }
  document.addEventListener('keydown', event => {
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === 'SELECT') return;
    event.preventDefault();
    keys[event.key]();
  });
}
