// Attribution of changes: which ones an action caused, and which the page makes by itself. A change is the action's
// when it happens while listeners of its events run, or right after; later, when those listeners scheduled something (a
// timer, a frame, a message) and the node has not been changing by itself.

const eventPhaseOf = getter(Event.prototype, "eventPhase");
const drawImage = OffscreenCanvasRenderingContext2D.prototype.drawImage;
const nativeSetTimeout = setTimeout, nativeClearTimeout = clearTimeout, nativeCancelFrame = cancelAnimationFrame;
const nativeRequestIdle = requestIdleCallback, nativeCancelIdle = cancelIdleCallback;

/** Self-mutating nodes: how often they changed lately, and since when. */
const selfMutating = new WeakMap();
/**
 * Least count of changes, the window after which a node without changes is at rest, and the interval within which
 * changes count as one.
 */
const MIN_SELF_MUTATIONS = 3, SELF_MUTATION_WINDOW_MS = 12000, SAME_MUTATION_MS = 10;
/** A node without changes for this many of its own intervals is at rest: it was only being built. */
const REST_INTERVALS = 3, INTERVAL_SLACK_MS = 50;
/** Records examined of one batch: a page that renders everything anew is no clock. */
const MAX_RECORDS = 2000;

/** Returns whether a node was changing by itself at that time. */
function isSelfMutating(node, since) {
  const entry = selfMutating.get(node);
  if (entry === undefined || entry.count < MIN_SELF_MUTATIONS) return false;
  const interval = (entry.at - entry.since) / Math.max(1, entry.times - 1);
  return since - entry.at <= Math.min(SELF_MUTATION_WINDOW_MS, REST_INTERVALS * interval + INTERVAL_SLACK_MS);
}

/** End of the last action and of the last one with effects; changes within `AFTERMATH_MS` may be its consequences. */
let lastActionEnd = -Infinity, lastEffectiveAction = -Infinity;
const AFTERMATH_MS = 1500, AFTERMATH_WEIGHT = 0.3;

function recordSelfMutation(node) {
  const now = performance.now(), entry = selfMutating.get(node);
  const weight = now - lastEffectiveAction < AFTERMATH_MS || action !== null && action.isScheduled ? AFTERMATH_WEIGHT : 1;
  if (entry === undefined || now - entry.at > SELF_MUTATION_WINDOW_MS) {
    selfMutating.set(node, { count: weight, times: 1, own: Math.floor(weight), since: now, at: now });
    return;
  }
  if (now - entry.at < SAME_MUTATION_MS) return;
  entry.own += Math.floor(weight);
  entry.at = now;
  entry.times++;
  entry.count += weight;
}

/** Observes the document from `DOMContentLoaded` on. */
const effectObserver = new MutationObserver(recordEffects);

function observeEffects() {
  effectObserver.observe(document, OBSERVE_ALL);
  for (const shadow of shadows) observeShadowEffects(shadow);
  for (const [, inside] of emptyFrames) effectObserver.observe(inside, OBSERVE_ALL);
}

/** Shadow roots whose mutations and events are observed. Events that are not composed do not leave them. */
const watchedShadows = new WeakSet();

function observeShadowEffects(shadow) {
  if (watchedShadows.has(shadow)) return;
  watchedShadows.add(shadow);
  effectObserver.observe(shadow, OBSERVE_ALL);
  listenForEffectEvents(shadow);
}

/** Times of the last changes that were not self-mutations, for actions in other documents. */
let changeTimes = [];
const MAX_CHANGE_TIMES = 32;
/** Time of the last message from another document. */
let lastMessageAt = -Infinity;

function recordChangeTime() {
  if (changeTimes.push(performance.now()) > MAX_CHANGE_TIMES) changeTimes.shift();
}

/**
 * After an event: the time within which untraced consequences surely come, such as by a message; the same in other
 * documents; and the time within which they may come, such as by a database read.
 */
const SOON_MS = 30, SOON_ELSEWHERE_MS = 150, DOUBTFUL_MS = 120;
/** A node that changed by itself once may do so again within this time: its interval is not known yet. */
const FIRST_INTERVAL_MS = 1500;

/** Returns whether listeners of the action's events are running. */
const isDispatching = () => action.events.some((event) => eventPhaseOf.call(event) !== 0);

/** Returns whether an event of the action happened just now. */
const isSoonAfterInput = (ms = SOON_ELSEWHERE_MS) => performance.now() - action.inputAt <= ms;

/** Returns whether a node may be changing by itself now. */
function maySelfMutate(node, now) {
  const entry = selfMutating.get(node);
  if (entry === undefined || entry.own === 0) return false;
  const interval = entry.times < 2 ? FIRST_INTERVAL_MS : REST_INTERVALS * (entry.at - entry.since) / (entry.times - 1) + INTERVAL_SLACK_MS;
  return now - entry.at <= interval;
}

function recordEffects(records) {
  if (records.length === 0) return;
  if (action === null) return recordIdleMutations(records);
  const isDispatchingNow = isDispatching(), isSoonWithoutPointer = action.guard !== "pointer" && isSoonAfterInput();
  const now = performance.now(), ms = now - action.inputAt;
  if (ms <= SOON_MS) action.changeCount++;
  for (const record of records) {
    const isSelfMutatingNode = !isDispatchingNow && isSelfMutating(record.target, action.begun);
    const isNew = isDispatchingNow || !maySelfMutate(record.target, now);
    if (isDispatchingNow || !isSelfMutatingNode && (action.isScheduled || isSoonWithoutPointer && isNew)) {
      countMutation(record);
      continue;
    }
    recordSelfMutation(record.target);
    if (!isSelfMutatingNode && action.lateRecords.length < MAX_RECORDS) action.lateRecords.push({ record, ms, isNew });
  }
}

/**
 * Attributes changes right after an event to the action, where listeners exist and nodes do not change by themselves.
 */
function attributeSoonRecords() {
  const isAttributed = ({ ms, isNew }) => isNew && ms <= SOON_MS;
  for (const { record } of action.lateRecords.filter(isAttributed)) countMutation(record);
  action.lateRecords = action.lateRecords.filter((it) => !isAttributed(it));
  if (action.hasScrolled) countEffectEvent("scroll");
  action.hasScrolled = false;
}

/** Records changes while no action is under way. */
function recordIdleMutations(records) {
  const now = performance.now();
  let isUnexpected = records.length > MAX_RECORDS;
  for (let at = 0; at < records.length && at < MAX_RECORDS; at++) {
    const { target } = records[at];
    isUnexpected ||= !maySelfMutate(target, now);
    recordSelfMutation(target);
  }
  if (isUnexpected) recordChangeTime();
}

function countMutation({ type, target, attributeName }) {
  action.mutations++;
  action.changeCount++;
  if (attributeName === "style") action.hasStyleMutation = true;
  // Moving an element changes its style, or that of its ancestors.
  const isPlacement = type === "attributes" && /^(?:style|class)$/.test(attributeName) && isInside(action.el, target);
  if (!isPlacement) action.otherMutations++;
}

/** Attributes late changes to the action, which has scheduled something. */
function attributeLateRecords() {
  for (const { record } of action.lateRecords.splice(0)) countMutation(record);
  for (const type of action.lateEventTypes) countEffectEvent(type);
  action.lateEventTypes.clear();
}

/** Attributes soon changes too, on nodes that never changed before or since. */
function attributeDoubtfulRecords() {
  for (const { record, ms } of action.lateRecords.splice(0)) {
    if (ms <= DOUBTFUL_MS && selfMutating.get(record.target)?.own <= 1) countMutation(record);
  }
}

/** Events of effects that leave no DOM mutation. */
const EFFECT_EVENTS = ["input", "change", "focusin", "scroll", "toggle", "submit", "reset", "close", "fullscreenchange", "invalid",
  "play", "pause", "volumechange", "ratechange", "seeking", "copy", "cut"];
/** Events that actions consist of. */
const INPUT_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu", "keydown", "keypress",
  "keyup", "beforeinput", "input", "change", "focus", "blur", "focusin", "focusout", "dragstart", "dragover", "drop", "dragend", "wheel",
  "pointermove", "mousemove", "mouseover", "pointerover"];

const POINTER_MOVES = /^(?:pointer|mouse)(?:move|over)$/;

function listenForEffectEvents(tree) {
  for (const name of EFFECT_EVENTS) addListener.call(tree, name, recordEffectEvent, { capture: true, passive: true });
}

/** Keys for the events of one type at a node, in the map of self-mutating nodes. */
const eventKeys = new WeakMap();

function eventKey(node, type) {
  if (!eventKeys.has(node)) eventKeys.set(node, new Map());
  const types = eventKeys.get(node);
  if (!types.has(type)) types.set(type, {});
  return types.get(type);
}

function recordEffectEvent({ type, target }) {
  const key = eventKey(target, type);
  if (action === null) {
    if (!maySelfMutate(key, performance.now())) recordChangeTime();
    // Consequences of an action go on for a while.
    if (performance.now() - lastActionEnd > AFTERMATH_MS) recordSelfMutation(key);
    return;
  }
  // Scrolling of our own on the way to the element.
  if (type === "scroll" && isScrolledAsBefore(target)) return;
  if (type === "invalid") return void action.invalid.add(target);
  if (type === "focusin") action.focused = target;
  const isSelfMutatingNode = isSelfMutating(key, action.begun);
  const isSoon = (isSoonAfterInput() || MEDIA_EVENTS.includes(type)) && !maySelfMutate(key, performance.now());
  const isOwn = type === "scroll" && action.guard === "pointer";
  // Scrolling by script takes effect with the next frame, which a page can delay.
  const isScripted = type === "scroll" && action.guard === "" && !isSelfMutatingNode;
  if (isScripted || isDispatching() || isSoon && !isOwn || action.isScheduled && !isSelfMutatingNode) return countEffectEvent(type);
  // No click scrolls by itself.
  if (isSoon) action.hasScrolled = true;
  if (!isSelfMutatingNode) action.lateEventTypes.add(type);
  recordSelfMutation(key);
}

function countEffectEvent(type) {
  action.changeCount++;
  action.eventTypes.add(type);
}

/** Timers and frames of our own, which the document counts with those of the page. */
let ownTimers = 0, ownFrames = 0;

/** `setTimeout`, counted as our own. */
function setOwnTimeout(go, ms) {
  ownTimers++;
  return nativeSetTimeout(go, ms);
}

/** `requestAnimationFrame`, counted as our own. */
function requestOwnFrame(go) {
  ownFrames++;
  return nativeRequestFrame(go);
}

/** Timers and idle callbacks that the page has requested: ids are consecutive. */
function pageTimerCount() {
  const timer = setOwnTimeout(() => {}, 0), idle = nativeRequestIdle(() => {});
  ownTimers++;
  nativeClearTimeout(timer);
  nativeCancelIdle(idle);
  return timer + idle - ownTimers;
}

/** Animation frames that the page has requested. */
function pageFrameCount() {
  const ticket = requestOwnFrame(() => {});
  nativeCancelFrame(ticket);
  return ticket - ownFrames;
}

/** Records an event of the action: what its listeners schedule is caused by it. */
function recordInput(event) {
  if (action === null || !event.isTrusted && action.guard !== "" || action.guard === "ancestor") return;
  // Browsers repeat pointer moves after each layout.
  if (action.hits > 0 && POINTER_MOVES.test(event.type)) return;
  action.inputAt = performance.now();
  action.events = action.events.filter((it) => eventPhaseOf.call(it) !== 0);
  action.events.push(event);
  if (event.type === "click") recordSubmitter(event);
  if (event.type === "keydown" && event.key === "Enter") action.mayHaveSubmitted = true;
  if (event.type === "mousedown" && event.button === 0) action.pressedAt = rectKey(action.el);
  action.framesBefore = pageFrameCount();
  endListenerSpan();
  action.spanStart = performance.now();
  if (action.timersBefore !== null) return;
  action.timersBefore = pageTimerCount();
  compareCookies(false);
  const pending = action;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { if (action === pending) endInputTask(); };
  port2.postMessage(0);
}

/** Called after the listeners of the event. */
function endInputTask() {
  endListenerSpan();
  action.inputAt = performance.now();
  if (pageTimerCount() > action.timersBefore) markScheduled();
  action.timersBefore = null;
  compareCookies(true);
}

/** Records the time span of an event's listeners. */
function endListenerSpan() {
  if (action.spanStart === null) return;
  action.spans.push(performance.timeOrigin + action.spanStart, performance.timeOrigin + performance.now());
  action.spanStart = null;
}

/**
 * Called after almost all listeners: in the bubble phase of the window. Later, a page that animates requests frames of
 * its own.
 */
function compareFrameCount() {
  if (action === null || action.framesBefore === null) return;
  endListenerSpan();
  if (pageFrameCount() > action.framesBefore) markScheduled();
  action.framesBefore = null;
}

/** Marks that the action has scheduled something. */
function markScheduled() {
  if (action === null || action.isScheduled) return;
  action.isScheduled = true;
  attributeLateRecords();
}

function listenForInput() {
  for (const name of INPUT_EVENTS) {
    addEventListener(name, recordInput, { capture: true, passive: true });
    addEventListener(name, compareFrameCount, { passive: true });
  }
  addEventListener("message", () => {
    lastMessageAt = performance.now();
    if (action !== null && (action.guard === "ancestor" || isFrameElement(action.el))) markScheduled();
  }, { capture: true, passive: true });
  listenForEffectEvents(globalThis);
}

/**
 * Returns whether this document changed because of an action in another one, begun and done at those times (ms since
 * 1970). `isScheduled`: the action has scheduled something there.
 */
function hasChanged(begun, done, isScheduled) {
  if (action === null) recordEffects(effectObserver.takeRecords());
  const from = begun - performance.timeOrigin;
  const limit = isScheduled || lastMessageAt >= from ? Infinity : done - performance.timeOrigin + SOON_ELSEWHERE_MS;
  return changeTimes.some((at) => at >= from && at <= limit);
}

/** Polls `hasChanged` up to a time limit. */
async function whenChanged(begun, done, isScheduled, ms) {
  const end = performance.now() + ms;
  while (!hasChanged(begun, done, isScheduled)) {
    if (performance.now() >= end) return false;
    await new Promise((go) => setOwnTimeout(go, 20));
  }
  return true;
}

/** Event path of an element: itself and its flat tree ancestors. */
function eventPath(id) {
  const all = [];
  for (let at = elementOf(id); at !== null; at = nodeTypeOf.call(at) === 9 ? null : flatParentOf(at)) all.push(at);
  return all;
}

/** Cookies that scripts can read; opaque origins have none. */
function readCookies() {
  try {
    return document.cookie;
  } catch {
    return "";
  }
}

/** Compares cookies with the last read, at or after the start of an event. */
function compareCookies(isCaused = action.isScheduled) {
  const now = readCookies();
  if (now === action.cookies) return;
  action.cookies = now;
  if (isCaused) action.hasStored = true;
}

/** Samples per side in which canvases are compared, and the number of canvases. */
const CANVAS_SAMPLE_SIDE = 256, MAX_CANVASES = 4;

/** Checksums of the canvases in view; those with unreadable pixels are left out. */
function canvasChecksums() {
  const all = byTag.call(document, "canvas"), checksums = new Map();
  for (let at = 0; at < all.length && checksums.size < MAX_CANVASES; at++) {
    const canvas = all[at], { left, top, right, bottom, width, height } = rectOf.call(canvas);
    if (width < 2 || height < 2 || right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight) continue;
    const checksum = canvasChecksum(canvas);
    if (checksum !== null) checksums.set(canvas, checksum);
  }
  return checksums;
}

/** Checksum of the pixels of a canvas. */
function canvasChecksum(canvas) {
  const { width, height } = canvas;
  if (width === 0 || height === 0) return null;
  const across = Math.min(width, CANVAS_SAMPLE_SIDE), down = Math.min(height, CANVAS_SAMPLE_SIDE);
  try {
    const copy = new OffscreenCanvas(across, down).getContext("2d", { willReadFrequently: true });
    copy.imageSmoothingQuality = "high";
    drawImage.call(copy, canvas, 0, 0, across, down);
    const pixels = new Uint32Array(copy.getImageData(0, 0, across, down).data.buffer);
    let sum = 0;
    for (let at = 0; at < pixels.length; at++) sum = Math.imul(sum ^ pixels[at], 0x01000193) + at | 0;
    return sum;
  } catch {
    return null;
  }
}

/** Frame count at the last action, and its time. */
let lastFrameCount = null;
/** Frames per second from which a page counts as animating. */
const ANIMATION_FPS = 15;

/** Shortest time over which frames are counted, in milliseconds. */
const FRAME_WINDOW_MS = 50;

/** Returns whether the page has been requesting frames continuously since the last call. */
function isAnimating() {
  const now = { count: pageFrameCount(), at: performance.now() };
  const previous = lastFrameCount;
  const elapsed = previous === null ? 0 : now.at - previous.at;
  // An action that is tried again at once: too short to tell anything new.
  if (previous !== null && elapsed <= FRAME_WINDOW_MS) return previous.isAnimated;
  // Unknown on a page without an action before.
  now.isAnimated = previous === null || (now.count - previous.count) * 1000 / elapsed >= ANIMATION_FPS;
  lastFrameCount = now;
  return now.isAnimated;
}

/** Returns whether a canvas differs from the start of the action. On an animating page only once it is at rest. */
async function hasRedrawnCanvas() {
  if (action === null || action.canvasSums.size === 0) return false;
  const differs = (previous, now) => [...previous].some(([canvas, checksum]) => now.has(canvas) && now.get(canvas) !== checksum);
  const now = canvasChecksums();
  if (!differs(action.canvasSums, now)) return false;
  if (!action.isAnimated) return true;
  await nextFrame();
  await nextFrame();
  return action !== null && !differs(now, canvasChecksums());
}

/** Records the submit button that a click activates. */
function recordSubmitter(event) {
  action.mayHaveSubmitted = true;
  const isSubmitter = (at) => at instanceof Element && matches.call(at, "button, input[type=submit], input[type=image]") &&
    at.form !== null && (localNameOf.call(at) !== "button" || at.type === "submit");
  const submitter = composedPathOf.call(event).find(isSubmitter);
  if (submitter !== undefined) action.submission = { event, submitter };
}

/** Most blocking fields reported. */
const MAX_BLOCKING_FIELDS = 5;
const VALIDITY_FLAGS = ["valueMissing", "typeMismatch", "patternMismatch", "tooLong", "tooShort", "rangeUnderflow", "rangeOverflow",
  "stepMismatch", "badInput", "customError"];

/**
 * Fields whose validation kept the browser from submitting their form. A script may also only have called
 * `checkValidity`.
 */
function blockingFields() {
  if (action.invalid.size === 0 || !action.mayHaveSubmitted || action.eventTypes.has("submit")) return [];
  const { submission, invalid, el } = action, active = deepActiveElement();
  const isRefused = (field) => submission !== null && !submission.event.defaultPrevented && !submission.submitter.formNoValidate &&
    submission.submitter.form === field.form && !field.form.noValidate;
  const fields = [...invalid].filter((field) => field.validity !== undefined && !field.validity.valid);
  // When submission is blocked, the first invalid field is focused.
  const isShown = fields.some((field) => field === active && (field !== el || action.guard !== "pointer"));
  return fields.filter((field) => isShown || isRefused(field)).slice(0, MAX_BLOCKING_FIELDS).map((field) => ({
    element: idOf(field), name: fieldName(field), message: field.validationMessage,
    reason: VALIDITY_FLAGS.find((reason) => field.validity[reason]) || "",
  }));
}

/** Name of a field: its label, or another attribute that names it. */
function fieldName(field) {
  const labels = [...field.labels || []].map((label) => collapseSpace(textContentOf.call(label)));
  const name = attributeOf.call(field, "aria-label") || labels.find(Boolean) || attributeOf.call(field, "placeholder") ||
    attributeOf.call(field, "title") || attributeOf.call(field, "name") || localNameOf.call(field);
  return name.slice(0, 200);
}

/**
 * Reason why a press was not followed by a click: "moved" when the button was released elsewhere, "gone" when the
 * element vanished; otherwise "".
 */
function missingClickReason() {
  const { el, presses, clicks, pressedAt } = action;
  if (presses === 0 || clicks > 0 || pressedAt === null) return "";
  const { width, height } = rectOf.call(el);
  if (!isConnectedOf.call(el) || width === 0 || height === 0) return "gone";
  return rectKey(el) === pressedAt ? "" : "moved";
}

listenForInput();
