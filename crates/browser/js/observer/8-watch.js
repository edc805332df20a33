// Whether anything happened since the last observation. Nothing here runs before somebody looks, and after the first
// change it rests until somebody looks again.

let isDirty = true;
let waiting = [];
let isListening = false;

const watcher = new MutationObserver(spoil);

/** What changes a page and leaves no trace in its tree. */
const EVENTS = ["input", "change", "focusin", "focusout", "scroll", "toggle", "resize", "hashchange", "popstate", "load"];
const WATCHED = { subtree: true, childList: true, attributes: true, characterData: true };

function spoil() {
  isDirty = true;
  watcher.disconnect();
  for (const tell of waiting) tell(true);
  waiting = [];
}

/** Begins to watch from here on. */
function watch() {
  watcher.disconnect();
  watcher.takeRecords();
  watcher.observe(document, WATCHED);
  for (const shadow of memo.read) watcher.observe(shadow, WATCHED);
  if (!isListening) {
    isListening = true;
    const heard = () => { if (!isDirty) spoil(); };
    for (const name of EVENTS) addEventListener(name, heard, { capture: true, passive: true });
  }
  isDirty = false;
}

/** Whether something has happened since the last observation. */
function isSpoiled() {
  if (!isDirty && watcher.takeRecords().length > 0) spoil();
  return isDirty;
}

/** Answers when something has happened since the last observation. */
const dirtied = () => isSpoiled() || new Promise((tell) => waiting.push(tell));
