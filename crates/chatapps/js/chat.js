// The chat app: composer, turns, streamed answers, menus, files. Everything it drives it knows by hooks.

let hooks = {};
const hook = (name) => hooks[name]?.[0];

// --- Reports -------------------------------------------------------------------------------------------------------

const pageId = crypto.randomUUID();
let reportCount = 0;

function report(event) {
  reportCount += 1;
  const body = JSON.stringify({ ...event, page: pageId, number: reportCount, path: location.pathname });
  // A reply that nobody reads shows as an aborted request.
  fetch('/api/event', { method: 'POST', body, keepalive: true }).then((reply) => reply.text(), () => {});
}

const note = (kind, detail = '') => report({ kind, detail: String(detail) });

/** Reports every event that could submit, before the page or anyone else handles it. */
function watchSubmissions() {
  const holds = (name, node) => (hooks[name] ?? []).some((element) => element.contains(node));
  const controlOf = (node) => {
    if (holds('Send', node)) return 'send';
    if (stopButton?.contains(node)) return 'stop';
    return null;
  };
  const isLost = (control) => control === 'send' && (losesClick || CONFIG.isBroken);
  window.addEventListener(
    'click',
    (event) => {
      const control = controlOf(event.target);
      if (control) {
        const ignored = isLost(control) || (control === 'send' && isDisabled(hook('Send')));
        report({ kind: 'click', control, trusted: event.isTrusted, ignored });
      } else if (holds('Decoy', event.target)) {
        note('decoy-clicked', event.target.closest('[aria-label]')?.getAttribute('aria-label') ?? event.target.textContent);
      }
    },
    true,
  );
  window.addEventListener(
    'keydown',
    (event) => {
      if (event.key !== 'Enter' || event.shiftKey) return;
      let control = controlOf(event.target);
      if (!control && holds('Composer', event.target)) control = 'composer';
      if (!control && holds('Decoy', event.target)) control = 'decoy';
      if (control) report({ kind: 'keydown', control, trusted: event.isTrusted, ignored: CONFIG.isBroken });
    },
    true,
  );
  window.addEventListener(
    'submit',
    (event) => report({ kind: 'submit', control: 'form', trusted: event.isTrusted, ignored: CONFIG.isBroken }),
    true,
  );
}

// --- State ---------------------------------------------------------------------------------------------------------

let editor = null;
let conversation = null;
let model = CONFIG.models[0];
let tool = null;
/** Attached files: `{ name, id, chip, isReady }`. */
let files = [];
/** Answer under way: its id, once the server has said it. */
let streaming = null;
let stopButton = null;
let losesClick = CONFIG.loseFirstClick;
let turnCount = 0;

function refresh() {
  const send = hook('Send');
  if (!send || CONFIG.isBroken) return;
  const isEmpty = editor.text().trim() === '';
  setDisabled(send, isEmpty || streaming !== null || files.some((file) => !file.isReady));
}

// --- Turns ---------------------------------------------------------------------------------------------------------

function addTurn(name, id) {
  hook('Greeting')?.setAttribute('hidden', '');
  turnCount += 1;
  const turn = build(name, { n: turnCount, id, index: Math.floor((turnCount - 1) / 2), model: model?.id ?? '' });
  for (const decoy of turn.hooks('Decoy')) {
    onPress(decoy, () => note('decoy-clicked', decoy.textContent));
  }
  hook('Feed').append(turn.element);
  turn.element.scrollIntoView({ block: 'end' });
  return turn;
}

function addUserTurn(id, text, names) {
  const turn = addTurn('userTurn', id);
  turn.hook('Content').textContent = text;
  for (const name of names) {
    const file = build('file');
    file.hook('ChipName').textContent = name;
    turn.hook('TurnFiles').append(file.element);
  }
}

/** Adds a turn of the assistant; the object it returns shows the answer in it. */
function addAssistantTurn(id, retry) {
  const turn = addTurn('assistantTurn', id);
  const view = markdownView(turn.hook('Content'));
  let text = '';
  let status = null;
  let willScroll = false;
  const scroll = () => {
    if (willScroll) return;
    willScroll = true;
    requestAnimationFrame(() => {
      willScroll = false;
      turn.element.scrollIntoView({ block: 'end' });
    });
  };
  const showStatus = (placeholder) => {
    const { element } = build('status', { placeholder });
    if (status) status.replaceWith(element);
    else turn.hook('StatusSlot').append(element);
    status = element;
  };
  showStatus('');
  return {
    show(line) {
      if (line.text) {
        text += line.text;
        view.append(line.text);
        scroll();
      }
      const placeholder = text === '' ? line.placeholder : '';
      if (status && status.textContent !== placeholder) showStatus(placeholder);
    },
    finish(end) {
      status?.remove();
      if (end === 'error') {
        const error = build('error');
        onPress(error.hook('ChipButton'), () => retry?.());
        turn.element.append(error.element);
        return;
      }
      turn.hook('Footer')?.classList.add(CONFIG.completeClass);
      const actions = build('actions');
      onPress(actions.hook('Copy'), () => copyText(text));
      turn.hook('ActionsSlot').append(actions.element);
      scroll();
    },
  };
}

async function copyText(text) {
  try {
    if (CONFIG.clipboardItem) {
      const item = new ClipboardItem({ 'text/plain': new Blob([text], { type: 'text/plain' }) });
      await navigator.clipboard.write([item]);
    } else {
      await navigator.clipboard.writeText(text);
    }
    note('copied', text.length);
  } catch (error) {
    note('copy-failed', error.name);
  }
}

// --- Sending and answers -------------------------------------------------------------------------------------------

async function send() {
  const text = editor.text();
  if (CONFIG.isBroken || text.trim() === '' || streaming || files.some((file) => !file.isReady)) return;
  const sent = files;
  files = [];
  hook('Chips').replaceChildren();
  editor.clear();
  await sendPrompt(text, sent);
}

async function sendPrompt(text, sent) {
  const clientMessageId = crypto.randomUUID();
  addUserTurn(clientMessageId, text, sent.map((file) => file.name));
  const turn = addAssistantTurn(clientMessageId, () => {
    if (!streaming) sendPrompt(text, sent);
  });
  begin({ id: null });
  try {
    const response = await fetch(`/api/prompt?${CONFIG.query}`, {
      method: 'POST',
      body: JSON.stringify({
        clientMessageId,
        text,
        model: model.id,
        tool: tool?.id ?? null,
        files: sent.map((file) => file.id),
        conversation,
      }),
    });
    const accepted = await response.json();
    if (conversation !== accepted.conversation) {
      conversation = accepted.conversation;
      history.pushState(null, '', accepted.path);
    }
    streaming.id = accepted.answer;
    await follow(accepted.answer, turn);
  } catch {
    turn.finish('error');
  }
  end();
}

/** Replaces the send button by the stop button while an answer is under way. */
function begin(answer) {
  streaming = answer;
  const stop = build('stop');
  stopButton = stop.element;
  onPress(stopButton, async (event) => {
    event.preventDefault();
    note('stopped', streaming?.id ?? '');
    // Stopped before the server has said its id: as soon as it has.
    while (streaming && !streaming.id) await sleep(20);
    if (streaming) await (await fetch(`/api/stop/${streaming.id}`, { method: 'POST' })).text();
  });
  hook('Send').replaceWith(stopButton);
}

function end() {
  stopButton?.replaceWith(hook('Send'));
  stopButton = null;
  streaming = null;
  refresh();
}

/** Shows an answer until it ends; a stream that breaks off is taken up where it was. */
async function follow(id, turn) {
  let from = 0;
  let failures = 0;
  while (failures < 20) {
    try {
      const response = await fetch(`/api/answer/${id}?from=${from}`);
      if (!response.ok) break;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let buffer = '';
      let ended = null;
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        const lines = (buffer + chunk.value).split('\n');
        buffer = lines.pop();
        for (const text of lines) {
          const line = JSON.parse(text);
          from = line.next;
          failures = 0;
          turn.show(line);
          if (line.status !== 'streaming') ended = line.status;
        }
      }
      if (ended) {
        turn.finish(ended);
        return;
      }
    } catch {
      failures += 1;
      await sleep(250);
    }
  }
  turn.finish('error');
}

/** Shows the conversation that the address names. */
async function restore() {
  const prefix = CONFIG.conversationPrefix;
  if (!location.pathname.startsWith(prefix)) return;
  const id = location.pathname.slice(prefix.length);
  const response = await fetch(`/api/conversation/${id}`);
  if (!response.ok) {
    const turn = addAssistantTurn(crypto.randomUUID());
    turn.finish('error');
    return;
  }
  conversation = id;
  begin({ id: null });
  for (const exchange of await response.json()) {
    addUserTurn(exchange.clientMessageId, exchange.text, exchange.files.map((file) => file.name));
    const turn = addAssistantTurn(exchange.clientMessageId, () => {
      if (!streaming) sendPrompt(exchange.text, []);
    });
    streaming.id = exchange.answer;
    await follow(exchange.answer, turn);
  }
  end();
}

// --- Menus ---------------------------------------------------------------------------------------------------------

let openMenu = null;

/** Closes the open menu. The focus goes back to its button, unless a click elsewhere has just moved it. */
function closeMenu({ keepFocus = false } = {}) {
  if (!openMenu) return;
  const { element, button, name } = openMenu;
  openMenu = null;
  element.remove();
  button.setAttribute('aria-expanded', 'false');
  if (!keepFocus) button.focus();
  note('menu-closed', name);
}

/** Opens a menu at a button, or closes it. `isChecked` and `select` are asked by the item's position. */
function toggleMenu(name, button, { isChecked = () => false, select }) {
  const wasOpen = openMenu?.button === button;
  closeMenu();
  if (wasOpen) return;
  const { element, hooks: all } = build(name);
  const items = all('Item');
  all('ItemCheck').forEach((check, index) => {
    check.style.visibility = isChecked(index) ? 'visible' : 'hidden';
  });
  items.forEach((item, index) => {
    if (item.hasAttribute('aria-checked')) item.setAttribute('aria-checked', String(isChecked(index)));
    onPress(item, () => {
      closeMenu();
      select(index);
    });
  });
  element.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = items.indexOf(document.activeElement) + step;
    items.at(index % items.length).focus();
  });
  document.body.append(element);
  const box = button.getBoundingClientRect();
  const height = element.offsetHeight;
  const top = box.bottom + height + 8 < innerHeight ? box.bottom + 4 : Math.max(8, box.top - height - 4);
  const left = Math.max(8, Math.min(box.left, innerWidth - element.offsetWidth - 8));
  element.style.top = `${top}px`;
  element.style.left = `${left}px`;
  button.setAttribute('aria-expanded', 'true');
  openMenu = { element, button, name };
  items[0]?.focus();
  note('menu-opened', name);
}

function watchMenus() {
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && openMenu) {
      event.preventDefault();
      closeMenu();
    }
  });
  document.addEventListener(
    'click',
    (event) => {
      if (!openMenu || openMenu.element.contains(event.target) || openMenu.button.contains(event.target)) return;
      closeMenu({ keepFocus: true });
    },
    true,
  );
}

function selectModel(index) {
  const before = model;
  model = CONFIG.models[index];
  for (const name of hooks.ModelName ?? []) name.textContent = model.label;
  for (const picker of hooks.ModelPicker ?? []) {
    const label = picker.getAttribute('aria-label');
    if (label?.endsWith(` ${before.label}`)) {
      picker.setAttribute('aria-label', label.slice(0, -before.label.length) + model.label);
    }
  }
  note('model-selected', model.id);
}

function selectTool(index) {
  const isSame = tool === CONFIG.tools[index];
  hook('ToolChips').replaceChildren();
  if (isSame) {
    note('tool-removed', tool.id);
    tool = null;
    return;
  }
  tool = CONFIG.tools[index];
  const chip = build('toolChip', { name: tool.label });
  chip.hook('ChipName').textContent = tool.label;
  onPress(chip.hook('ChipButton') ?? chip.element, () => selectTool(index));
  hook('ToolChips').append(chip.element);
  note('tool-selected', tool.id);
}

// --- Files ---------------------------------------------------------------------------------------------------------

async function attach(content) {
  const chip = build('chip', { name: content.name });
  const file = { name: content.name, id: null, isReady: false };
  const remove = () => {
    chip.element.remove();
    files = files.filter((other) => other !== file);
    refresh();
  };
  chip.hook('ChipName').textContent = content.name;
  onPress(chip.hook('ChipButton'), () => {
    remove();
    note('file-removed', content.name);
  });
  hook('Chips').append(chip.element);
  files.push(file);
  note('file-chosen', content.name);
  refresh();
  try {
    const name = encodeURIComponent(content.name);
    const [response] = await Promise.all([
      fetch(`/api/upload?name=${name}`, { method: 'POST', body: content }),
      sleep(CONFIG.uploadMs),
    ]);
    file.id = (await response.json()).id;
  } catch {
    remove();
    return;
  }
  if (CONFIG.dropUploads) {
    remove();
    note('file-dropped', content.name);
    return;
  }
  file.isReady = true;
  chip.element.setAttribute('aria-busy', 'false');
  chip.element.querySelector('progress')?.remove();
  note('file-ready', content.name);
  refresh();
}

// --- Start ---------------------------------------------------------------------------------------------------------

function start() {
  hooks = resolveHooks(document.documentElement, CONFIG.hooks);
  watchSubmissions();
  hook('ModalClose')?.addEventListener('click', () => {
    hook('Modal').remove();
    note('modal-closed');
  });
  for (const link of document.querySelectorAll('[data-href]')) {
    onPress(link, () => location.assign(link.dataset.href));
  }
  if (!hook('Form')) return;
  watchMenus();
  for (const picker of hooks.ModelPicker ?? []) {
    const select = { isChecked: (index) => CONFIG.models[index] === model, select: selectModel };
    onPress(picker, () => toggleMenu('modelMenu', picker, select));
  }
  if (hook('Profile')) {
    onPress(hook('Profile'), () => toggleMenu('profileMenu', hook('Profile'), { select: () => {} }));
  }
  if (CONFIG.isBroken) {
    hook('Form').addEventListener('submit', (event) => event.preventDefault());
    note('ready');
    return;
  }
  editor = mountEditor(hook('Composer'), {
    changed: refresh,
    submit: () => {
      if (!streaming && !isDisabled(hook('Send'))) send();
    },
  });
  onPress(hook('Send'), (event) => {
    event.preventDefault();
    if (losesClick) {
      losesClick = false;
      return;
    }
    if (!isDisabled(hook('Send'))) send();
  });
  hook('Form').addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  if (hook('Tools')) {
    const select = { isChecked: (index) => CONFIG.tools[index] === tool, select: selectTool };
    onPress(hook('Tools'), () => toggleMenu('toolsMenu', hook('Tools'), select));
  }
  const choose = () => hook('FileInput').click();
  onPress(hook('Upload'), () => {
    if (!CONFIG.templates.uploadMenu) choose();
    else toggleMenu('uploadMenu', hook('Upload'), { select: (index) => index === 0 && choose() });
  });
  hook('FileInput').addEventListener('change', () => {
    for (const content of hook('FileInput').files) attach(content);
    hook('FileInput').value = '';
  });
  window.addEventListener('popstate', () => location.reload());
  refresh();
  note('ready');
  restore();
}

if (CONFIG.late) {
  const placeholder = at(document.documentElement, CONFIG.late.path);
  setTimeout(() => {
    const holder = document.createElement('template');
    holder.innerHTML = CONFIG.late.html;
    placeholder.replaceWith(holder.content);
    start();
  }, CONFIG.late.ms);
} else {
  start();
}
