// Whether anything happened since the last observation, and where. Nothing here runs before somebody looks, and when
// too much has changed to be worth knowing, it rests until somebody looks again.

let isKnownDirty = true;
let dirtyWaiters = [];
let isListening = false;

const changeObserver = new MutationObserver((records) => {
  recordMutations(records);
  recordTouched(records);
  recordStyleMoves(records);
  markDirty();
});

/** Says when something comes into a frame in which there was nothing. */
const emptyFrameObserver = new MutationObserver(() => markDirty());

/** What changes a page and leaves no trace in its tree. */
const CHANGE_EVENTS = ["input", "change", "focusin", "focusout", "scroll", "toggle", "resize", "hashchange", "popstate", "load", "play", "pause"];
/** What was faint, small or elsewhere while it lasted may be seen now. */
const ANIMATION_END_EVENTS = ["animationend", "animationcancel", "transitionend", "transitioncancel"];
const OBSERVE_ALL = { subtree: true, childList: true, attributes: true, characterData: true };

/** What of that leaves everything where it was in the tree and in its rules. */
const LAYOUT_EVENTS = new Set(["scroll", "load", "play", "pause"]);

function markDirty() {
  isKnownDirty = true;
  if (isAllChanged) changeObserver.disconnect();
  for (const resolve of dirtyWaiters) resolve(true);
  dirtyWaiters = [];
}

/** The elements that the mouse is over. */
let hovered = [];
/** Selectors of those for which that matters, or "": something is shown or hidden, something may be told otherwise, or coloured. */
let visibilityHoverSelector = "", reportHoverSelector = "", colorHoverSelector = "";
/** Whether rules ask what is being pressed. */
let usesActive = false;

/** Takes in that the mouse went elsewhere. */
function handleHover(event) {
  if (visibilityHoverSelector === "" && reportHoverSelector === "" && colorHoverSelector === "") return;
  const now = [];
  // A mouse that leaves the document is over nothing; one that leaves a shadow tree for its host is over that, and nothing
  // else says so.
  const hoveredElement = event.type === "mouseout" ? event.relatedTarget : composedTarget(event);
  for (let at = hoveredElement; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) now.push(at);
  const before = hovered;
  hovered = now;
  const differ = [...now.filter((el) => !before.includes(el)), ...before.filter((el) => !now.includes(el))];
  const isAmong = (el, selector) => selector !== "" && matches.call(el, selector);
  for (const el of differ) {
    if (!isConnectedOf.call(el)) continue;
    const affectsVisibility = isAmong(el, visibilityHoverSelector), affectsReport = affectsVisibility || isAmong(el, reportHoverSelector);
    if (!affectsReport && !isAmong(el, colorHoverSelector)) continue;
    markSubtreeChanged(parentOf(el));
    // Links have another colour under the mouse on most pages; that matters where something is hidden by its colour.
    if (affectsReport || droppedTexts > 0) markDirty();
    if (affectsVisibility && action !== null) action.isHovering = true;
  }
}

/** A selector of all in a set; of everything when one of them is none. */
function combinedSelector(all) {
  const selector = [...all].join();
  try {
    if (selector !== "") matches.call(documentElementOf.call(document), selector);
    return selector;
  } catch {
    return "*";
  }
}

/** Takes in that a button of the mouse, or a key, was pressed or released. */
function handleActive() {
  if (!usesActive) return;
  isAllChanged = true;
  markDirty();
}

function handleChangeEvent({ type }) {
  if (LAYOUT_EVENTS.has(type)) lastLayoutShift = performance.now();
  else isAllChanged = true;
  if (!isKnownDirty) markDirty();
}

function handleAnimationEnd({ target }) {
  if (!(target instanceof Element)) return;
  markSubtreeChanged(target);
  markDirty();
}

const PASSIVE_CAPTURE = { capture: true, passive: true };

/**
 * Listens in a tree: the window, or a shadow root. Events that are not composed do not leave a shadow tree, nor do those of
 * the mouse and the focus that come from within the same tree. To listen twice is to listen once.
 */
function listenForChanges(tree) {
  for (const name of ANIMATION_END_EVENTS) addListener.call(tree, name, handleAnimationEnd, PASSIVE_CAPTURE);
  for (const name of ["mouseover", "mouseout"]) addListener.call(tree, name, handleHover, PASSIVE_CAPTURE);
  for (const name of ["mousedown", "mouseup", "keydown", "keyup"]) addListener.call(tree, name, handleActive, PASSIVE_CAPTURE);
  for (const name of CHANGE_EVENTS) addListener.call(tree, name, handleChangeEvent, PASSIVE_CAPTURE);
}

/** Shadow roots that are listened in. */
const listenedRoots = new WeakSet();

/** Begins to watch from here on. */
function startWatching() {
  const { hoverVisibility: hovers, hoverReport: hoversTold, hoverColor: hoversColoured } = memo.rules;
  [visibilityHoverSelector, reportHoverSelector, colorHoverSelector] = [combinedSelector(hovers), combinedSelector(hoversTold), combinedSelector(hoversColoured)];
  changeObserver.disconnect();
  changeObserver.takeRecords();
  changeObserver.observe(document, OBSERVE_ALL);
  for (const shadow of memo.shadowRoots) changeObserver.observe(shadow, OBSERVE_ALL);
  emptyFrameObserver.disconnect();
  for (const [, inside] of emptyFrames) emptyFrameObserver.observe(inside, OBSERVE_ALL);
  ({ usesActive } = memo.rules);
  for (const shadow of memo.shadowRoots) {
    if (listenedRoots.has(shadow)) continue;
    listenedRoots.add(shadow);
    listenForChanges(shadow);
    observeShadowEffects(shadow);
  }
  if (!isListening) {
    isListening = true;
    listenForChanges(globalThis);
    // The address can become another one without anything else.
    globalThis.navigation?.addEventListener("currententrychange", () => {
      if (lastWalk !== null && lastWalk.tellsUrls) isAllChanged = true;
      markDirty();
    });
    // Loads in a document do not come by its window.
    addListener.call(document, "load", handleChangeEvent, PASSIVE_CAPTURE);
  }
  isKnownDirty = false;
  touchedNodes = new Set();
  fieldStates = fields.map(fieldState);
}

/** What the fields of the last walk held then. */
let fieldStates = [];
const fieldState = (el) => `${currentValue(el)}\n${checkedState(el)}`;
const checkedState = (el) => localNameOf.call(el) === "input" && checkedOf.call(el);

/** Takes in what scripts set in fields. */
function compareFields() {
  for (let at = 0; at < fieldStates.length; at++) {
    if (fieldState(fields[at]) === fieldStates[at]) continue;
    if (touchedNodes !== null) touchedNodes.add(fields[at]);
    markDirty();
  }
}

/** Whether something has happened since the last observation. */
function isDirty() {
  const records = changeObserver.takeRecords();
  if (records.length > 0) {
    recordMutations(records);
    recordTouched(records);
    markDirty();
  }
  if (emptyFrameObserver.takeRecords().length > 0 || emptyFrames.some(([el, inside]) => contentDocumentOf.call(el) !== inside)) markDirty();
  if (lastWalk !== null && lastWalk.conditions.at(-1) !== viewportKey()) markDirty();
  if (!isKnownDirty) compareFields();
  return isKnownDirty;
}

/** Answers when something has happened since the last observation. */
const whenDirty = () => isDirty() || new Promise((resolve) => dirtyWaiters.push(resolve));

/** Takes note of scripts that move things. */
function recordStyleMoves(records = changeObserver.takeRecords()) {
  if (records.length === 0) return;
  if (arguments.length === 0) {
    recordMutations(records);
    recordTouched(records);
    markDirty();
  }
  if (records.some(({ type, attributeName }) => type === "attributes" && attributeName === "style")) lastStyleMove = performance.now();
}

/** Where something changed since the last look; null when that is too much to know. */
let touchedNodes = new Set();
const MAX_TOUCHED = 1000;

function recordTouched(records) {
  for (let at = 0; at < records.length && touchedNodes !== null; at++) {
    touchedNodes.add(records[at].target);
    if (touchedNodes.size > MAX_TOUCHED) touchedNodes = null;
  }
}

/** Whether something changed since the last look in what an element is about: itself, its row, what is right around it. */
function isTouched(el) {
  if (touchedNodes === null) return true;
  const item = enclosingItem(el), scope = item === null ? el : item.box;
  for (const node of touchedNodes) {
    const at = nodeTypeOf.call(node) === 1 ? node : parentOf(node);
    if (at !== null && nodeTypeOf.call(at) === 1 && (isInside(at, scope) || isInside(el, at) && at !== bodyOf.call(document))) return true;
  }
  return false;
}
