// The lab bench. Each card does one awkward thing and writes what it noticed into its own output.

import './fern-elements.js';

const at = (id) => document.getElementById(id);
const say = (id, text) => (at(id).textContent = text);

at('stepper').addEventListener('change', (event) => say('stepper-result', `${event.detail} cups`));
at('dial').addEventListener('change', (event) => say('dial-result', `Facing ${event.detail}`));

let watered = 0;
at('listener-tile').addEventListener('click', () => say('listener-result', `Watered: ${++watered}`));

const slow = at('slow-button');
let poured = 0;
enableLater();
slow.addEventListener('click', () => {
  say('slow-result', `Poured: ${++poured}`);
  slow.disabled = true;
  enableLater();
});

function enableLater() {
  setTimeout(() => (slow.disabled = false), 800);
}

at('covered-button').addEventListener('click', () => say('covered-result', 'Berry picked'));
at('cover').addEventListener('click', () => say('covered-result', 'You touched the leaf'));
at('lift-leaf').addEventListener('click', () => {
  at('cover').remove();
  at('lift-leaf').disabled = true;
  say('covered-result', 'Nothing in the way');
});

// The same element, another meaning: what a tool pointed at a moment ago is no longer what it is.
const relabelled = at('relabel-button');
at('swap-label').addEventListener('click', () => {
  relabelled.textContent = relabelled.textContent === 'Save sketch' ? 'Burn sketch' : 'Save sketch';
});
relabelled.addEventListener('click', () => say('relabel-result', `Pressed “${relabelled.textContent}”`));

at('upload').addEventListener('change', (event) => {
  const [file] = event.target.files;
  say('upload-result', file ? `Chosen: ${file.name}, ${file.size} bytes` : 'No file chosen yet');
});
