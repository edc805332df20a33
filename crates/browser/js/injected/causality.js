// Which changes an action caused, and which the page makes by itself. A change is the action's when it happens while
// listeners of its events run, or right after; later, when those listeners have something under way (a timer, a frame,
// a message) and the node has not been changing by itself.

const eventPhaseOf = getter(Event.prototype, "eventPhase");
const drawImage = OffscreenCanvasRenderingContext2D.prototype.drawImage;
const nativeSetTimeout = setTimeout, nativeClearTimeout = clearTimeout, nativeCancelFrame = cancelAnimationFrame;
const nativeRequestIdle = requestIdleCallback, nativeCancelIdle = cancelIdleCallback;

/** Nodes that change by themselves: how often they were seen to lately, and since when. */
const selfMutating = new WeakMap();
/** So many changes are no accident, and after so long without one it is over. What changes at once is one change. */
const MIN_SELF_MUTATIONS = 3, SELF_MUTATION_WINDOW_MS = 12000, SAME_MUTATION_MS = 10;
/** What has not changed for so many of its own pauses is at rest: it was only being built. */
const REST_INTERVALS = 3, INTERVAL_SLACK_MS = 50;
/** So many records of one batch are looked at: a page that draws itself anew is no clock. */
const MAX_RECORDS = 2000;

/** Whether a node changes by itself: it was doing so at that time. */
function isSelfMutating(node, since) {
  const seen = selfMutating.get(node);
  if (seen === undefined || seen.count < MIN_SELF_MUTATIONS) return false;
  const interval = (seen.at - seen.since) / Math.max(1, seen.times - 1);
  return since - seen.at <= Math.min(SELF_MUTATION_WINDOW_MS, REST_INTERVALS * interval + INTERVAL_SLACK_MS);
}

/** When something was last done that came to something, and for how long what changes then may be because of it. */
let lastActionEnd = -Infinity, lastEffectiveAction = -Infinity;
const AFTERMATH_MS = 1500, AFTERMATH_WEIGHT = 0.3;

function recordSelfMutation(node) {
  const now = performance.now(), seen = selfMutating.get(node);
  const weight = now - lastEffectiveAction < AFTERMATH_MS || action !== null && action.isScheduled ? AFTERMATH_WEIGHT : 1;
  if (seen === undefined || now - seen.at > SELF_MUTATION_WINDOW_MS) {
    selfMutating.set(node, { count: weight, times: 1, own: Math.floor(weight), since: now, at: now });
    return;
  }
  if (now - seen.at < SAME_MUTATION_MS) return;
  seen.own += Math.floor(weight);
  seen.at = now;
  seen.times++;
  seen.count += weight;
}

/** Watches the document from the moment its text is there. */
const effectObserver = new MutationObserver(recordEffects);

function observeEffects() {
  effectObserver.observe(document, OBSERVE_ALL);
  for (const shadow of shadows) observeShadowEffects(shadow);
  for (const [, inside] of emptyFrames) effectObserver.observe(inside, OBSERVE_ALL);
}

/** Shadow trees whose changes and events are watched. What is not composed does not leave them. */
const watchedShadows = new WeakSet();

function observeShadowEffects(shadow) {
  if (watchedShadows.has(shadow)) return;
  watchedShadows.add(shadow);
  effectObserver.observe(shadow, OBSERVE_ALL);
  listenForEffectEvents(shadow);
}

/** When the document last changed other than by itself: the last few times, for those who act in another document. */
let changeTimes = [];
const MAX_CHANGE_TIMES = 32;
/** When the last message came from another document. */
let lastMessageAt = -Infinity;

function recordChangeTime() {
  if (changeTimes.push(performance.now()) > MAX_CHANGE_TIMES) changeTimes.shift();
}

/**
 * How long after an event what it caused without a trace surely comes, such as by a message; in other documents; and for
 * how long it may come, such as by a read of a database.
 */
const SOON_MS = 30, SOON_ELSEWHERE_MS = 150, DOUBTFUL_MS = 120;
/** What changed by itself no longer ago than this may do so again: it is not known yet how often. */
const FIRST_INTERVAL_MS = 1500;

/** Whether listeners of the action's events are running now. */
const isDispatching = () => action.events.some((event) => eventPhaseOf.call(event) !== 0);

/** Whether what happens now comes right after an event of the action. */
const isSoonAfterInput = (ms = SOON_ELSEWHERE_MS) => performance.now() - action.inputAt <= ms;

/** Whether a node may change by itself about now, as far as is known. */
function maySelfMutate(node, now) {
  const seen = selfMutating.get(node);
  if (seen === undefined || seen.own === 0) return false;
  const interval = seen.times < 2 ? FIRST_INTERVAL_MS : REST_INTERVALS * (seen.at - seen.since) / (seen.times - 1) + INTERVAL_SLACK_MS;
  return now - seen.at <= interval;
}

function recordEffects(records) {
  if (records.length === 0) return;
  if (action === null) return recordIdleMutations(records);
  const isDispatchingNow = isDispatching(), isUntargeted = action.guard !== "pointer" && isSoonAfterInput();
  const now = performance.now(), ms = now - action.inputAt;
  if (ms <= SOON_MS) action.changeCount++;
  for (const record of records) {
    const isSelfMutatingNode = !isDispatchingNow && isSelfMutating(record.target, action.begun);
    const isNew = isDispatchingNow || !maySelfMutate(record.target, now);
    if (isDispatchingNow || !isSelfMutatingNode && (action.isScheduled || isUntargeted && isNew)) {
      countMutation(record);
      continue;
    }
    recordSelfMutation(record.target);
    if (!isSelfMutatingNode && action.lateRecords.length < MAX_RECORDS) action.lateRecords.push({ record, ms, isNew });
  }
}

/** What came right after an event is the action's if scripts hear that, where nothing changes by itself. */
function attributeSoonRecords() {
  const isAttributed = ({ ms, isNew }) => isNew && ms <= SOON_MS;
  for (const { record } of action.lateRecords.filter(isAttributed)) countMutation(record);
  action.lateRecords = action.lateRecords.filter((it) => !isAttributed(it));
  if (action.hasScrolled) countEffectEvent("scroll");
  action.hasScrolled = false;
}

/** Takes in what changes while nothing is being done here. */
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
  // An element that is only moved is changed in its style, or those around it are.
  const isPlace = type === "attributes" && /^(?:style|class)$/.test(attributeName) && isInside(action.el, target);
  if (!isPlace) action.otherMutations++;
}

/** What came late is the action's, as it has something under way. */
function attributeLateRecords() {
  for (const { record } of action.lateRecords.splice(0)) countMutation(record);
  for (const type of action.lateEventTypes) countEffectEvent(type);
  action.lateEventTypes.clear();
}

/** What came soon is the action's, too, where nothing has ever changed before or since. */
function attributeDoubtfulRecords() {
  for (const { record, ms } of action.lateRecords.splice(0)) {
    if (ms <= DOUBTFUL_MS && selfMutating.get(record.target)?.own <= 1) countMutation(record);
  }
}

/** What happens to a page without a trace in its tree. */
const EFFECT_EVENTS = ["input", "change", "focusin", "scroll", "toggle", "submit", "reset", "close", "fullscreenchange", "invalid",
  "play", "pause", "volumechange", "ratechange", "seeking", "copy", "cut"];
/** What an action is made of. */
const INPUT_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu", "keydown", "keypress",
  "keyup", "beforeinput", "input", "change", "focus", "blur", "focusin", "focusout", "dragstart", "dragover", "drop", "dragend", "wheel",
  "pointermove", "mousemove", "mouseover", "pointerover"];

const POINTER_MOVES = /^(?:pointer|mouse)(?:move|over)$/;

function listenForEffectEvents(tree) {
  for (const name of EFFECT_EVENTS) addListener.call(tree, name, recordEffectEvent, { capture: true, passive: true });
}

/** What stands for the events of one type of a node among the nodes that change by themselves. */
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
    // What an action has set going goes on for a while.
    if (performance.now() - lastActionEnd > AFTERMATH_MS) recordSelfMutation(key);
    return;
  }
  // What we scrolled ourselves to get there.
  if (type === "scroll" && isScrolledAsBefore(target)) return;
  if (type === "invalid") return void action.invalid.add(target);
  if (type === "focusin") action.focused = target;
  const isSelfMutatingNode = isSelfMutating(key, action.begun);
  const isSoon = (isSoonAfterInput() || MEDIA_EVENTS.includes(type)) && !maySelfMutate(key, performance.now());
  const isOwn = type === "scroll" && action.guard === "pointer";
  // What is done by script scrolls when it is drawn, which may take a page long.
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

/** Our own timers and frames, which the document counts like those of the page. */
let ownTimers = 0, ownFrames = 0;

/** A timer of ours. */
function setOwnTimeout(go, ms) {
  ownTimers++;
  return nativeSetTimeout(go, ms);
}

/** A frame of ours. */
function requestOwnFrame(go) {
  ownFrames++;
  return nativeRequestFrame(go);
}

/** How many timers and idle callbacks the page has asked for: each asking has the next number. */
function pageTimerCount() {
  const timer = setOwnTimeout(() => {}, 0), idle = nativeRequestIdle(() => {});
  ownTimers++;
  nativeClearTimeout(timer);
  nativeCancelIdle(idle);
  return timer + idle - ownTimers;
}

/** How many frames the page has asked for. */
function pageFrameCount() {
  const ticket = requestOwnFrame(() => {});
  nativeCancelFrame(ticket);
  return ticket - ownFrames;
}

/** Takes in that the action's event has begun: what its listeners ask for is under way because of it. */
function recordInput(event) {
  if (action === null || !event.isTrusted && action.guard !== "" || action.guard === "ancestor") return;
  // Browsers say again where the mouse is whenever something was laid out anew.
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

/** Its listeners are through. */
function endInputTask() {
  endListenerSpan();
  action.inputAt = performance.now();
  if (pageTimerCount() > action.timersBefore) markScheduled();
  action.timersBefore = null;
  compareCookies(true);
}

/** Takes in from when to when listeners of an event ran. */
function endListenerSpan() {
  if (action.spanStart === null) return;
  action.spans.push(performance.timeOrigin + action.spanStart, performance.timeOrigin + performance.now());
  action.spanStart = null;
}

/** Almost all of its listeners are through. A page that animates asks for frames in between. */
function compareFrameCount() {
  if (action === null || action.framesBefore === null) return;
  endListenerSpan();
  if (pageFrameCount() > action.framesBefore) markScheduled();
  action.framesBefore = null;
}

/** The action has something under way. */
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
 * Whether this document, in which nothing is done, changed because of what was done in another one between those times, in
 * ms since 1970. `isScheduled` says that it has something under way there.
 */
function hasChanged(begun, done, isScheduled) {
  if (action === null) recordEffects(effectObserver.takeRecords());
  const from = begun - performance.timeOrigin;
  const limit = isScheduled || lastMessageAt >= from ? Infinity : done - performance.timeOrigin + SOON_ELSEWHERE_MS;
  return changeTimes.some((at) => at >= from && at <= limit);
}

/** Answers when it has, or when the time is up. */
async function whenChanged(begun, done, isScheduled, ms) {
  const end = performance.now() + ms;
  while (!hasChanged(begun, done, isScheduled)) {
    if (performance.now() >= end) return false;
    await new Promise((go) => setOwnTimeout(go, 20));
  }
  return true;
}

/** Whatever hears an event at an element: it, and all that is around it. */
function eventPath(id) {
  const all = [];
  for (let at = elementOf(id); at !== null; at = nodeTypeOf.call(at) === 9 ? null : flatParentOf(at)) all.push(at);
  return all;
}

/** Cookies that scripts can read; a document of nobody has none. */
function readCookies() {
  try {
    return document.cookie;
  } catch {
    return "";
  }
}

/** Takes in cookies that scripts set since this was last asked, which was when an event began or later. */
function compareCookies(isCaused = action.isScheduled) {
  const now = readCookies();
  if (now === action.cookies) return;
  action.cookies = now;
  if (isCaused) action.hasStored = true;
}

/** Canvases are compared in so many places each way, and the nearest few of them. */
const CANVAS_SAMPLE_SIDE = 256, MAX_CANVASES = 4;

/** What is drawn on the canvases in view, by canvas; those whose pixels nobody may read are left out. */
function canvasChecksums() {
  const all = byTag.call(document, "canvas"), pictures = new Map();
  for (let at = 0; at < all.length && pictures.size < MAX_CANVASES; at++) {
    const canvas = all[at], { left, top, right, bottom, width, height } = rectOf.call(canvas);
    if (width < 2 || height < 2 || right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight) continue;
    const picture = canvasChecksum(canvas);
    if (picture !== null) pictures.set(canvas, picture);
  }
  return pictures;
}

/** A number that stands for what is drawn on a canvas. */
function canvasChecksum(canvas) {
  const { width, height } = canvas;
  if (width === 0 || height === 0) return null;
  const across = Math.min(width, CANVAS_SAMPLE_SIDE), down = Math.min(height, CANVAS_SAMPLE_SIDE);
  try {
    const copy = new OffscreenCanvas(across, down).getContext("2d", { willReadFrequently: true });
    copy.imageSmoothingQuality = "high";
    drawImage.call(copy, canvas, 0, 0, across, down);
    const words = new Uint32Array(copy.getImageData(0, 0, across, down).data.buffer);
    let sum = 0;
    for (let at = 0; at < words.length; at++) sum = Math.imul(sum ^ words[at], 0x01000193) + at | 0;
    return sum;
  } catch {
    return null;
  }
}

/** Frames that were asked for until the last action, and when that was: a page that animates asks for many. */
let lastFrameCount = null;
/** So many frames a second are an animation. */
const ANIMATION_FPS = 15;

/** Whether the page has been asking for one frame after the other since this was last asked. */
function isAnimating() {
  const now = { count: pageFrameCount(), at: performance.now() };
  const previous = lastFrameCount;
  lastFrameCount = now;
  // Of a page in which nothing has been done yet that is not known.
  return previous === null || now.at - previous.at > 50 && (now.count - previous.count) * 1000 / (now.at - previous.at) >= ANIMATION_FPS;
}

/**
 * Whether something else is drawn on a canvas than when the deed began. What is drawn anew all the time counts only once
 * it is at rest.
 */
async function hasRedrawnCanvas() {
  if (action === null || action.canvasSums.size === 0) return false;
  const differs = (previous, now) => [...previous].some(([canvas, picture]) => now.has(canvas) && now.get(canvas) !== picture);
  const now = canvasChecksums();
  if (!differs(action.canvasSums, now)) return false;
  if (!action.isAnimated) return true;
  await nextFrame();
  await nextFrame();
  return action !== null && !differs(now, canvasChecksums());
}

/** Takes in which button would send a form when this click goes through. */
function recordSubmitter(event) {
  action.mayHaveSubmitted = true;
  const isSubmitter = (at) => at instanceof Element && matches.call(at, "button, input[type=submit], input[type=image]") &&
    at.form !== null && (localNameOf.call(at) !== "button" || at.type === "submit");
  const submitter = composedPathOf.call(event).find(isSubmitter);
  if (submitter !== undefined) action.submission = { event, submitter };
}

/** How many fields are named. */
const MAX_BLOCKING_FIELDS = 5;
const VALIDITY_FLAGS = ["valueMissing", "typeMismatch", "patternMismatch", "tooLong", "tooShort", "rangeUnderflow", "rangeOverflow",
  "stepMismatch", "badInput", "customError"];

/** The fields because of which the browser did not send their form. Scripts may only have asked whether it could be sent. */
function blockingFields() {
  if (action.invalid.size === 0 || !action.mayHaveSubmitted || action.eventTypes.has("submit")) return [];
  const { submission, invalid, el } = action, active = deepActiveElement();
  const isRefused = (field) => submission !== null && !submission.event.defaultPrevented && !submission.submitter.formNoValidate &&
    submission.submitter.form === field.form && !field.form.noValidate;
  const fields = [...invalid].filter((field) => field.validity !== undefined && !field.validity.valid);
  // When it may not be sent, the first of them is focused.
  const isShown = fields.some((field) => field === active && (field !== el || action.guard !== "pointer"));
  return fields.filter((field) => isShown || isRefused(field)).slice(0, MAX_BLOCKING_FIELDS).map((field) => ({
    element: idOf(field), name: fieldName(field), message: field.validationMessage,
    reason: VALIDITY_FLAGS.find((reason) => field.validity[reason]) || "",
  }));
}

/** How a field is called: by its label, else by what else says what it is for. */
function fieldName(field) {
  const labels = [...field.labels || []].map((label) => collapseSpace(textContentOf.call(label)));
  const name = attributeOf.call(field, "aria-label") || labels.find(Boolean) || attributeOf.call(field, "placeholder") ||
    attributeOf.call(field, "title") || attributeOf.call(field, "name") || localNameOf.call(field);
  return name.slice(0, 200);
}

/**
 * Why a press that arrived was not followed by a click: the element moved away, so that the button of the mouse was
 * released elsewhere; "" when it was, or for another reason.
 */
function missingClickReason() {
  const { el, presses, clicks, pressedAt } = action;
  if (presses === 0 || clicks > 0 || pressedAt === null) return "";
  const { width, height } = rectOf.call(el);
  if (!isConnectedOf.call(el) || width === 0 || height === 0) return "gone";
  return rectKey(el) === pressedAt ? "" : "moved";
}

listenForInput();
