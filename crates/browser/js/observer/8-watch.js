// Whether anything happened since the last observation, and where. Nothing here runs before somebody looks, and when
// too much has changed to be worth knowing, it rests until somebody looks again.

let isDirty = true;
let waiting = [];
let isListening = false;

const watcher = new MutationObserver((records) => {
  heed(records);
  noteTouched(records);
  heedMoves(records);
  spoil();
});

/** Says when something comes into a frame in which there was nothing. */
const blankWatcher = new MutationObserver(() => spoil());

/** What changes a page and leaves no trace in its tree. */
const EVENTS = ["input", "change", "focusin", "focusout", "scroll", "toggle", "resize", "hashchange", "popstate", "load"];
/** What was faint, small or elsewhere while it lasted may be seen now. */
const ENDS = ["animationend", "animationcancel", "transitionend", "transitioncancel"];
const WATCHED = { subtree: true, childList: true, attributes: true, characterData: true };

/** What of that leaves everything where it was in the tree and in its rules. */
const LIGHT_EVENTS = new Set(["scroll", "load"]);

function spoil() {
  isDirty = true;
  if (isAllChanged) watcher.disconnect();
  for (const tell of waiting) tell(true);
  waiting = [];
}

/** What the mouse is over, and what makes that matter: a selector, or "". */
let hovered = [];
let hoverSelector = "";

/** Takes in that the mouse went elsewhere. */
function heedHover(event) {
  if (hoverSelector === "") return;
  const now = composedPathOf.call(event).filter((node) => node instanceof Element);
  const before = hovered;
  hovered = now;
  const differ = [...now.filter((el) => !before.includes(el)), ...before.filter((el) => !now.includes(el))];
  let isChanged = false;
  for (const el of differ) {
    if (!isConnectedOf.call(el) || !matches.call(el, hoverSelector)) continue;
    noteDeepChange(parentOf(el));
    isChanged = true;
  }
  if (!isChanged) return;
  spoil();
  if (deed !== null) deed.isHovering = true;
}

/** Begins to watch from here on. */
function watch() {
  try {
    const all = [...memo.rules.hovers].join();
    if (all !== "") matches.call(documentElementOf.call(document), all);
    hoverSelector = all;
  } catch {
    hoverSelector = "*";
  }
  watcher.disconnect();
  watcher.takeRecords();
  watcher.observe(document, WATCHED);
  for (const shadow of memo.read) watcher.observe(shadow, WATCHED);
  blankWatcher.disconnect();
  for (const [, inside] of blanks) blankWatcher.observe(inside, WATCHED);
  if (!isListening) {
    isListening = true;
    const heard = ({ type }) => {
      if (LIGHT_EVENTS.has(type)) lastShift = performance.now();
      else isAllChanged = true;
      if (!isDirty) spoil();
    };
    const ended = ({ target }) => {
      if (!(target instanceof Element)) return;
      noteDeepChange(target);
      spoil();
    };
    for (const name of ENDS) addEventListener(name, ended, { capture: true, passive: true });
    addEventListener("mouseover", heedHover, { capture: true, passive: true });
    for (const name of EVENTS) addEventListener(name, heard, { capture: true, passive: true });
    // The address can become another one without anything else.
    globalThis.navigation?.addEventListener("currententrychange", () => {
      if (lastWalk !== null && lastWalk.tellsUrls) isAllChanged = true;
      spoil();
    });
    // Loads in a document do not come by its window.
    listenTo.call(document, "load", heard, { capture: true, passive: true });
  }
  isDirty = false;
  touched = new Set();
}

/** Whether something has happened since the last observation. */
function isSpoiled() {
  const records = watcher.takeRecords();
  if (records.length > 0) {
    heed(records);
    noteTouched(records);
    spoil();
  }
  if (blankWatcher.takeRecords().length > 0 || blanks.some(([el, inside]) => documentInside.call(el) !== inside)) spoil();
  if (lastWalk !== null && lastWalk.terms.at(-1) !== viewNow()) spoil();
  return isDirty;
}

/** Answers when something has happened since the last observation. */
const dirtied = () => isSpoiled() || new Promise((tell) => waiting.push(tell));
