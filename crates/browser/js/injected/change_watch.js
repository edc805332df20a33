// Change detection since the last observation. Nothing here runs before the first observation, and after too many
// changes it stops until the next one.

let isKnownDirty = true;
let dirtyWaiters = [];
let isListening = false;

const changeObserver = new MutationObserver((records) => {
  recordMutations(records);
  recordTouched(records);
  recordStyleMoves(records);
  markDirty();
});

/** Observes empty frames for content. */
const emptyFrameObserver = new MutationObserver(() => markDirty());

/** Events of changes that leave no DOM mutation. */
const CHANGE_EVENTS = ["input", "change", "focusin", "focusout", "scroll", "toggle", "resize", "hashchange", "popstate", "load", "play", "pause"];
/** Animation ends: what was transparent, small or elsewhere meanwhile may be visible now. */
const ANIMATION_END_EVENTS = ["animationend", "animationcancel", "transitionend", "transitioncancel"];
const OBSERVE_ALL = { subtree: true, childList: true, attributes: true, characterData: true };

/** Those of them that leave the DOM and the matching rules as they were. */
const LAYOUT_EVENTS = new Set(["scroll", "load", "play", "pause"]);

function markDirty() {
  isKnownDirty = true;
  if (isAllChanged) changeObserver.disconnect();
  for (const resolve of dirtyWaiters) resolve(true);
  dirtyWaiters = [];
}

/** Elements under the pointer. */
let hovered = [];
/** Selectors of elements for which hovering changes visibility, other report contents, or colour; "" for none. */
let visibilityHoverSelector = "", reportHoverSelector = "", colorHoverSelector = "";
/** Rules use `:active`. */
let usesActive = false;

/** Handles a pointer move to other elements. */
function handleHover(event) {
  if (visibilityHoverSelector === "" && reportHoverSelector === "" && colorHoverSelector === "") return;
  const now = [];
  // On `mouseout` the related target is hovered: null outside the document, or the host of a shadow tree that was left,
  // for which no other event comes.
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
    // On most pages links change colour on hover; that matters where text is hidden by its colour.
    if (affectsReport || droppedTexts > 0) markDirty();
    if (affectsVisibility && action !== null) action.isHovering = true;
  }
}

/** Combined selector of a set; "*" when one of them is invalid. */
function combinedSelector(all) {
  const selector = [...all].join();
  try {
    if (selector !== "") matches.call(documentElementOf.call(document), selector);
    return selector;
  } catch {
    return "*";
  }
}

/** Handles presses and releases of mouse buttons and keys, for `:active`. */
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
 * Installs listeners on the window or a shadow root. Events that are not composed stay in their shadow tree, as do
 * pointer and focus events between its elements. Repeated calls add nothing.
 */
function listenForChanges(tree) {
  for (const name of ANIMATION_END_EVENTS) addListener.call(tree, name, handleAnimationEnd, PASSIVE_CAPTURE);
  for (const name of ["mouseover", "mouseout"]) addListener.call(tree, name, handleHover, PASSIVE_CAPTURE);
  for (const name of ["mousedown", "mouseup", "keydown", "keyup"]) addListener.call(tree, name, handleActive, PASSIVE_CAPTURE);
  for (const name of CHANGE_EVENTS) addListener.call(tree, name, handleChangeEvent, PASSIVE_CAPTURE);
}

/** Shadow roots with listeners. */
const listenedRoots = new WeakSet();

/** Starts to watch for changes. */
function startWatching() {
  const { hoverVisibility: hoverVisibility, hoverReport: hoverReport, hoverColor: hoverColor } = memo.rules;
  [visibilityHoverSelector, reportHoverSelector, colorHoverSelector] = [combinedSelector(hoverVisibility), combinedSelector(hoverReport), combinedSelector(hoverColor)];
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
    // `history.pushState` changes the URL without any other event.
    globalThis.navigation?.addEventListener("currententrychange", () => {
      if (lastWalk !== null && lastWalk.tellsUrls) isAllChanged = true;
      markDirty();
    });
    // `load` events of elements do not reach the window.
    addListener.call(document, "load", handleChangeEvent, PASSIVE_CAPTURE);
  }
  isKnownDirty = false;
  touchedNodes = new Set();
  fieldStates = fields.map(fieldState);
}

/** Values of the fields of the last walk. */
let fieldStates = [];
const fieldState = (el) => `${currentValue(el)}\n${checkedState(el)}`;
const checkedState = (el) => localNameOf.call(el) === "input" && checkedOf.call(el);

/** Detects values that scripts set. */
function compareFields() {
  for (let at = 0; at < fieldStates.length; at++) {
    if (fieldState(fields[at]) === fieldStates[at]) continue;
    if (touchedNodes !== null) touchedNodes.add(fields[at]);
    markDirty();
  }
}

/** Returns whether anything changed since the last observation. */
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

/** Resolves when anything has changed since the last observation. */
const whenDirty = () => isDirty() || new Promise((resolve) => dirtyWaiters.push(resolve));

/** Records style changes, by which scripts move elements. */
function recordStyleMoves(records = changeObserver.takeRecords()) {
  if (records.length === 0) return;
  if (arguments.length === 0) {
    recordMutations(records);
    recordTouched(records);
    markDirty();
  }
  if (records.some(({ type, attributeName }) => type === "attributes" && attributeName === "style")) lastStyleMove = performance.now();
}

/** Nodes with mutations since the last observation; null when there are too many. */
let touchedNodes = new Set();
const MAX_TOUCHED = 1000;

function recordTouched(records) {
  for (let at = 0; at < records.length && touchedNodes !== null; at++) {
    touchedNodes.add(records[at].target);
    if (touchedNodes.size > MAX_TOUCHED) touchedNodes = null;
  }
}

/** Returns whether a mutation since the last observation touched an element, its item or its ancestors. */
function isTouched(el) {
  if (touchedNodes === null) return true;
  const item = enclosingItem(el), scope = item === null ? el : item.box;
  for (const node of touchedNodes) {
    const at = nodeTypeOf.call(node) === 1 ? node : parentOf(node);
    if (at !== null && nodeTypeOf.call(at) === 1 && (isInside(at, scope) || isInside(el, at) && at !== bodyOf.call(document))) return true;
  }
  return false;
}
