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
const EVENTS = ["input", "change", "focusin", "focusout", "scroll", "toggle", "resize", "hashchange", "popstate", "load", "play", "pause"];
/** What was faint, small or elsewhere while it lasted may be seen now. */
const ENDS = ["animationend", "animationcancel", "transitionend", "transitioncancel"];
const WATCHED = { subtree: true, childList: true, attributes: true, characterData: true };

/** What of that leaves everything where it was in the tree and in its rules. */
const LIGHT_EVENTS = new Set(["scroll", "load", "play", "pause"]);

function spoil() {
  isDirty = true;
  if (isAllChanged) watcher.disconnect();
  for (const tell of waiting) tell(true);
  waiting = [];
}

/** The elements that the mouse is over. */
let hovered = [];
/** Selectors of those for which that matters, or "": something is shown or hidden, something may be told otherwise, or coloured. */
let hoverShows = "", hoverTells = "", hoverColours = "";
/** Whether rules ask what is being pressed. */
let asksActive = false;

/** Takes in that the mouse went elsewhere. */
function heedHover(event) {
  if (hoverShows === "" && hoverTells === "" && hoverColours === "") return;
  const now = [];
  // A mouse that leaves the document is over nothing; one that leaves a shadow tree for its host is over that, and nothing
  // else says so.
  const over = event.type === "mouseout" ? event.relatedTarget : trueTarget(event);
  for (let at = over; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) now.push(at);
  const before = hovered;
  hovered = now;
  const differ = [...now.filter((el) => !before.includes(el)), ...before.filter((el) => !now.includes(el))];
  const isAmong = (el, selector) => selector !== "" && matches.call(el, selector);
  for (const el of differ) {
    if (!isConnectedOf.call(el)) continue;
    const shows = isAmong(el, hoverShows), tells = shows || isAmong(el, hoverTells);
    if (!tells && !isAmong(el, hoverColours)) continue;
    noteDeepChange(parentOf(el));
    // Links have another colour under the mouse on most pages; that matters where something is hidden by its colour.
    if (tells || dropped > 0) spoil();
    if (shows && deed !== null) deed.isHovering = true;
  }
}

/** A selector of all in a set; of everything when one of them is none. */
function selectorOf(all) {
  const selector = [...all].join();
  try {
    if (selector !== "") matches.call(documentElementOf.call(document), selector);
    return selector;
  } catch {
    return "*";
  }
}

/** Takes in that a button of the mouse, or a key, was pressed or released. */
function heedActive() {
  if (!asksActive) return;
  isAllChanged = true;
  spoil();
}

function heedEvent({ type }) {
  if (LIGHT_EVENTS.has(type)) lastShift = performance.now();
  else isAllChanged = true;
  if (!isDirty) spoil();
}

function heedEnd({ target }) {
  if (!(target instanceof Element)) return;
  noteDeepChange(target);
  spoil();
}

const QUIETLY = { capture: true, passive: true };

/**
 * Listens in a tree: the window, or a shadow root. Events that are not composed do not leave a shadow tree, nor do those of
 * the mouse and the focus that come from within the same tree. To listen twice is to listen once.
 */
function listenIn(tree) {
  for (const name of ENDS) listenTo.call(tree, name, heedEnd, QUIETLY);
  for (const name of ["mouseover", "mouseout"]) listenTo.call(tree, name, heedHover, QUIETLY);
  for (const name of ["mousedown", "mouseup", "keydown", "keyup"]) listenTo.call(tree, name, heedActive, QUIETLY);
  for (const name of EVENTS) listenTo.call(tree, name, heedEvent, QUIETLY);
}

/** Shadow roots that are listened in. */
const listened = new WeakSet();

/** Begins to watch from here on. */
function watch() {
  const { hovers, hoversTold, hoversColoured } = memo.rules;
  [hoverShows, hoverTells, hoverColours] = [selectorOf(hovers), selectorOf(hoversTold), selectorOf(hoversColoured)];
  watcher.disconnect();
  watcher.takeRecords();
  watcher.observe(document, WATCHED);
  for (const shadow of memo.read) watcher.observe(shadow, WATCHED);
  blankWatcher.disconnect();
  for (const [, inside] of blanks) blankWatcher.observe(inside, WATCHED);
  ({ asksActive } = memo.rules);
  for (const shadow of memo.read) {
    if (listened.has(shadow)) continue;
    listened.add(shadow);
    listenIn(shadow);
    watchShadow(shadow);
  }
  if (!isListening) {
    isListening = true;
    listenIn(globalThis);
    // The address can become another one without anything else.
    globalThis.navigation?.addEventListener("currententrychange", () => {
      if (lastWalk !== null && lastWalk.tellsUrls) isAllChanged = true;
      spoil();
    });
    // Loads in a document do not come by its window.
    listenTo.call(document, "load", heedEvent, QUIETLY);
  }
  isDirty = false;
  touched = new Set();
  fieldStates = fields.map(fieldState);
}

/** What the fields of the last walk held then. */
let fieldStates = [];
const fieldState = (el) => `${heldValue(el)}\n${checkedState(el)}`;
const checkedState = (el) => localNameOf.call(el) === "input" && checkedOf.call(el);

/** Takes in what scripts set in fields. */
function heedFields() {
  for (let at = 0; at < fieldStates.length; at++) {
    if (fieldState(fields[at]) === fieldStates[at]) continue;
    if (touched !== null) touched.add(fields[at]);
    spoil();
  }
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
  if (!isDirty) heedFields();
  return isDirty;
}

/** Answers when something has happened since the last observation. */
const dirtied = () => isSpoiled() || new Promise((tell) => waiting.push(tell));

/** Takes note of scripts that move things. */
function heedMoves(records = watcher.takeRecords()) {
  if (records.length === 0) return;
  if (arguments.length === 0) {
    heed(records);
    noteTouched(records);
    spoil();
  }
  if (records.some(({ type, attributeName }) => type === "attributes" && attributeName === "style")) lastMove = performance.now();
}

/** Where something changed since the last look; null when that is too much to know. */
let touched = new Set();
const MOST_TOUCHED = 1000;

function noteTouched(records) {
  for (let at = 0; at < records.length && touched !== null; at++) {
    touched.add(records[at].target);
    if (touched.size > MOST_TOUCHED) touched = null;
  }
}

/** Whether something changed since the last look in what an element is about: itself, its row, what is right around it. */
function isTouched(el) {
  if (touched === null) return true;
  const item = itemAround(el), scope = item === null ? el : item.box;
  for (const node of touched) {
    const at = nodeTypeOf.call(node) === 1 ? node : parentOf(node);
    if (at !== null && nodeTypeOf.call(at) === 1 && (isInside(at, scope) || isInside(el, at) && at !== bodyOf.call(document))) return true;
  }
  return false;
}
