// Elements of the page by their hooks, templates, and controls that may be of any tag.

const at = (base, path) => path.reduce((element, index) => element?.children[index], base);

const resolveHooks = (base, hooks) =>
  Object.fromEntries(
    Object.entries(hooks).map(([name, paths]) => [name, paths.map((path) => at(base, path)).filter(Boolean)]),
  );

/** Creates an element from a template. `{key}` in its attributes and text is replaced. */
function build(name, values = {}) {
  const { html, hooks } = CONFIG.templates[name];
  const holder = document.createElement('template');
  holder.innerHTML = html;
  const element = holder.content.firstElementChild;
  const fill = (text) => text.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? values[key] : whole));
  const walker = document.createTreeWalker(holder.content, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.data.includes('{')) node.data = fill(node.data);
    } else {
      for (const attribute of node.attributes) {
        if (attribute.value.includes('{')) attribute.value = fill(attribute.value);
      }
    }
  }
  const found = resolveHooks(element, hooks);
  return { element, hook: (hook) => found[hook]?.[0], hooks: (hook) => found[hook] ?? [] };
}

const isButton = (element) => element.tagName === 'BUTTON';

function setDisabled(element, off) {
  if (isButton(element) && !CONFIG.ariaDisabled) element.disabled = off;
  else element.setAttribute('aria-disabled', String(off));
}

const isDisabled = (element) => element.disabled === true || element.getAttribute('aria-disabled') === 'true';

/** Calls a function when a control is pressed, by pointer or keyboard, whatever its tag. */
function onPress(element, press) {
  element.addEventListener('click', press);
  if (isButton(element)) return;
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    press(event);
  });
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
