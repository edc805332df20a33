// Which changes an action caused, and which the page makes by itself. A change is the action's when it happens while
// listeners of its events run, or right after; later, when those listeners have something under way (a timer, a frame,
// a message) and the node has not been changing by itself.

const eventPhaseOf = getter(Event.prototype, "eventPhase");
const drawOn = OffscreenCanvasRenderingContext2D.prototype.drawImage;
const tellTimer = setTimeout, dropTimer = clearTimeout, dropFrame = cancelAnimationFrame;
const tellIdle = requestIdleCallback, dropIdle = cancelIdleCallback;

/** Nodes that change by themselves: how often they were seen to lately, and since when. */
const restless = new WeakMap();
/** So many changes are no accident, and after so long without one it is over. What changes at once is one change. */
const MANY = 3, LATELY_MS = 12000, AT_ONCE_MS = 10;
/** What has not changed for so many of its own pauses is at rest: it was only being built. */
const PAUSES = 3, PAUSE_MS = 50;
/** So many records of one batch are looked at: a page that draws itself anew is no clock. */
const MOST_RECORDS = 2000;

/** Whether a node changes by itself: it was doing so at that time. */
function isRestlessNode(node, since) {
  const seen = restless.get(node);
  if (seen === undefined || seen.count < MANY) return false;
  const pause = (seen.at - seen.since) / Math.max(1, seen.times - 1);
  return since - seen.at <= Math.min(LATELY_MS, PAUSES * pause + PAUSE_MS);
}

/** When something was last done that came to something, and for how long what changes then may be because of it. */
let lastDeed = -Infinity, lastCause = -Infinity;
const LATE_MS = 1500, LATE_WEIGHT = 0.3;

function noteRestless(node) {
  const now = performance.now(), seen = restless.get(node);
  const weight = now - lastCause < LATE_MS || deed !== null && deed.isScheduled ? LATE_WEIGHT : 1;
  if (seen === undefined || now - seen.at > LATELY_MS) {
    restless.set(node, { count: weight, times: 1, own: Math.floor(weight), since: now, at: now });
    return;
  }
  if (now - seen.at < AT_ONCE_MS) return;
  seen.own += Math.floor(weight);
  seen.at = now;
  seen.times++;
  seen.count += weight;
}

/** Watches the document from the moment its text is there. */
const effects = new MutationObserver(noteEffects);

function watchEffects() {
  effects.observe(document, WATCHED);
  for (const shadow of shadows) watchShadow(shadow);
  for (const [, inside] of blanks) effects.observe(inside, WATCHED);
}

/** Shadow trees whose changes and events are watched. What is not composed does not leave them. */
const watchedShadows = new WeakSet();

function watchShadow(shadow) {
  if (watchedShadows.has(shadow)) return;
  watchedShadows.add(shadow);
  effects.observe(shadow, WATCHED);
  listenForSigns(shadow);
}

/** When the document last changed other than by itself: the last few times, for those who act in another document. */
let changeTimes = [];
const MOST_TIMES = 32;
/** When the last message came from another document. */
let lastMessage = -Infinity;

function noteChangeTime() {
  if (changeTimes.push(performance.now()) > MOST_TIMES) changeTimes.shift();
}

/**
 * How long after an event what it caused without a trace surely comes, such as by a message; in other documents; and for
 * how long it may come, such as by a read of a database.
 */
const NEAR_MS = 30, NEAR_BESIDE_MS = 150, DOUBT_MS = 120;
/** What changed by itself no longer ago than this may do so again: it is not known yet how often. */
const ONCE_MS = 1500;

/** Whether listeners of the action's events are running now. */
const isDispatching = () => deed.events.some((event) => eventPhaseOf.call(event) !== 0);

/** Whether what happens now comes right after an event of the action. */
const isNearInput = (ms = NEAR_BESIDE_MS) => performance.now() - deed.inputAt <= ms;

/** Whether a node may change by itself about now, as far as is known. */
function mayChangeItself(node, now) {
  const seen = restless.get(node);
  if (seen === undefined || seen.own === 0) return false;
  const pause = seen.times < 2 ? ONCE_MS : PAUSES * (seen.at - seen.since) / (seen.times - 1) + PAUSE_MS;
  return now - seen.at <= pause;
}

function noteEffects(records) {
  if (records.length === 0) return;
  if (deed === null) return noteIdle(records);
  const isDirect = isDispatching(), isUnasked = deed.guard !== "hands" && isNearInput();
  const now = performance.now(), ms = now - deed.inputAt;
  if (ms <= NEAR_MS) deed.stirs++;
  for (const record of records) {
    const isRestless = !isDirect && isRestlessNode(record.target, deed.begun);
    const isNew = isDirect || !mayChangeItself(record.target, now);
    if (isDirect || !isRestless && (deed.isScheduled || isUnasked && isNew)) {
      noteEffect(record);
      continue;
    }
    noteRestless(record.target);
    if (!isRestless && deed.late.length < MOST_RECORDS) deed.late.push({ record, ms, isNew });
  }
}

/** What came right after an event is the action's if scripts hear that, where nothing changes by itself. */
function promoteNear() {
  const isIts = ({ ms, isNew }) => isNew && ms <= NEAR_MS;
  for (const { record } of deed.late.filter(isIts)) noteEffect(record);
  deed.late = deed.late.filter((it) => !isIts(it));
  if (deed.hasScrolled) noteSignOf("scroll");
  deed.hasScrolled = false;
}

/** Takes in what changes while nothing is being done here. */
function noteIdle(records) {
  const now = performance.now();
  let isOdd = records.length > MOST_RECORDS;
  for (let at = 0; at < records.length && at < MOST_RECORDS; at++) {
    const { target } = records[at];
    isOdd ||= !mayChangeItself(target, now);
    noteRestless(target);
  }
  if (isOdd) noteChangeTime();
}

function noteEffect({ type, target, attributeName }) {
  deed.mutations++;
  deed.stirs++;
  if (attributeName === "style") deed.slides = true;
  // An element that is only moved is changed in its style, or those around it are.
  const isPlace = type === "attributes" && /^(?:style|class)$/.test(attributeName) && isInside(deed.el, target);
  if (!isPlace) deed.otherMutations++;
}

/** What came late is the action's, as it has something under way. */
function promoteLate() {
  for (const { record } of deed.late.splice(0)) noteEffect(record);
  for (const type of deed.lateSigns) noteSignOf(type);
  deed.lateSigns.clear();
}

/** What came soon is the action's, too, where nothing has ever changed before or since. */
function settleDoubts() {
  for (const { record, ms } of deed.late.splice(0)) {
    if (ms <= DOUBT_MS && restless.get(record.target)?.own <= 1) noteEffect(record);
  }
}

/** What happens to a page without a trace in its tree. */
const SIGNS = ["input", "change", "focusin", "scroll", "toggle", "submit", "reset", "close", "fullscreenchange", "invalid",
  "play", "pause", "volumechange", "ratechange", "seeking", "copy", "cut"];
/** What an action is made of. */
const INPUTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu", "keydown", "keypress",
  "keyup", "beforeinput", "input", "change", "focus", "blur", "focusin", "focusout", "dragstart", "dragover", "drop", "dragend", "wheel",
  "pointermove", "mousemove", "mouseover", "pointerover"];

const isMouseMove = /^(?:pointer|mouse)(?:move|over)$/;

function listenForSigns(tree) {
  for (const name of SIGNS) listenTo.call(tree, name, noteSign, { capture: true, passive: true });
}

/** What stands for the events of one type of a node among the nodes that change by themselves. */
const eventKeys = new WeakMap();

function eventKey(node, type) {
  if (!eventKeys.has(node)) eventKeys.set(node, new Map());
  const types = eventKeys.get(node);
  if (!types.has(type)) types.set(type, {});
  return types.get(type);
}

function noteSign({ type, target }) {
  const key = eventKey(target, type);
  if (deed === null) {
    if (!mayChangeItself(key, performance.now())) noteChangeTime();
    // What an action has set going goes on for a while.
    if (performance.now() - lastDeed > LATE_MS) noteRestless(key);
    return;
  }
  // What we scrolled ourselves to get there.
  if (type === "scroll" && isWhereItWas(target)) return;
  if (type === "invalid") return void deed.invalid.add(target);
  if (type === "focusin") deed.focused = target;
  const isRestless = isRestlessNode(key, deed.begun);
  const isSoon = (isNearInput() || MEDIA.includes(type)) && !mayChangeItself(key, performance.now());
  const isOwn = type === "scroll" && deed.guard === "hands";
  // What is done by script scrolls when it is drawn, which may take a page long.
  const isScripted = type === "scroll" && deed.guard === "" && !isRestless;
  if (isScripted || isDispatching() || isSoon && !isOwn || deed.isScheduled && !isRestless) return noteSignOf(type);
  // No click scrolls by itself.
  if (isSoon) deed.hasScrolled = true;
  if (!isRestless) deed.lateSigns.add(type);
  noteRestless(key);
}

function noteSignOf(type) {
  deed.stirs++;
  deed.signs.add(type);
}

/** Our own timers and frames, which the document counts like those of the page. */
let ownTimers = 0, ownFrames = 0;

/** A timer of ours. */
function later(go, ms) {
  ownTimers++;
  return tellTimer(go, ms);
}

/** A frame of ours. */
function nextPicture(go) {
  ownFrames++;
  return frame(go);
}

/** How many timers and idle callbacks the page has asked for: each asking has the next number. */
function timersNow() {
  const timer = later(() => {}, 0), idle = tellIdle(() => {});
  ownTimers++;
  dropTimer(timer);
  dropIdle(idle);
  return timer + idle - ownTimers;
}

/** How many frames the page has asked for. */
function framesNow() {
  const ticket = nextPicture(() => {});
  dropFrame(ticket);
  return ticket - ownFrames;
}

/** Takes in that the action's event has begun: what its listeners ask for is under way because of it. */
function noteInput(event) {
  if (deed === null || !event.isTrusted && deed.guard !== "" || deed.guard === "beside") return;
  // Browsers say again where the mouse is whenever something was laid out anew.
  if (deed.hits > 0 && isMouseMove.test(event.type)) return;
  deed.inputAt = performance.now();
  deed.events = deed.events.filter((it) => eventPhaseOf.call(it) !== 0);
  deed.events.push(event);
  if (event.type === "click") noteSubmitter(event);
  if (event.type === "keydown" && event.key === "Enter") deed.mayHaveSubmitted = true;
  if (event.type === "mousedown" && event.button === 0) deed.pressedAt = placeOf(deed.el);
  deed.frames = framesNow();
  endSpan();
  deed.spanBegun = performance.now();
  if (deed.timers !== null) return;
  deed.timers = timersNow();
  heedCookies(false);
  const pending = deed;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { if (deed === pending) endInput(); };
  port2.postMessage(0);
}

/** Its listeners are through. */
function endInput() {
  endSpan();
  deed.inputAt = performance.now();
  if (timersNow() > deed.timers) schedule();
  deed.timers = null;
  heedCookies(true);
}

/** Takes in from when to when listeners of an event ran. */
function endSpan() {
  if (deed.spanBegun === null) return;
  deed.spans.push(performance.timeOrigin + deed.spanBegun, performance.timeOrigin + performance.now());
  deed.spanBegun = null;
}

/** Almost all of its listeners are through. A page that animates asks for frames in between. */
function noteFrames() {
  if (deed === null || deed.frames === null) return;
  endSpan();
  if (framesNow() > deed.frames) schedule();
  deed.frames = null;
}

/** The action has something under way. */
function schedule() {
  if (deed === null || deed.isScheduled) return;
  deed.isScheduled = true;
  promoteLate();
}

function watchInputs() {
  for (const name of INPUTS) {
    addEventListener(name, noteInput, { capture: true, passive: true });
    addEventListener(name, noteFrames, { passive: true });
  }
  addEventListener("message", () => {
    lastMessage = performance.now();
    if (deed !== null && (deed.guard === "beside" || holdsDocument(deed.el))) schedule();
  }, { capture: true, passive: true });
  listenForSigns(globalThis);
}

/**
 * Whether this document, in which nothing is done, changed because of what was done in another one between those times, in
 * ms since 1970. `isScheduled` says that it has something under way there.
 */
function hasChanged(begun, done, isScheduled) {
  if (deed === null) noteEffects(effects.takeRecords());
  const from = begun - performance.timeOrigin;
  const limit = isScheduled || lastMessage >= from ? Infinity : done - performance.timeOrigin + NEAR_BESIDE_MS;
  return changeTimes.some((at) => at >= from && at <= limit);
}

/** Answers when it has, or when the time is up. */
async function changed(begun, done, isScheduled, ms) {
  const end = performance.now() + ms;
  while (!hasChanged(begun, done, isScheduled)) {
    if (performance.now() >= end) return false;
    await new Promise((go) => later(go, 20));
  }
  return true;
}

/** Whatever hears an event at an element: it, and all that is around it. */
function path(number) {
  const all = [];
  for (let at = elementOf(number); at !== null; at = nodeTypeOf.call(at) === 9 ? null : flatParentOf(at)) all.push(at);
  return all;
}

/** Cookies that scripts can read; a document of nobody has none. */
function cookiesNow() {
  try {
    return document.cookie;
  } catch {
    return "";
  }
}

/** Takes in cookies that scripts set since this was last asked, which was when an event began or later. */
function heedCookies(isCaused = deed.isScheduled) {
  const now = cookiesNow();
  if (now === deed.cookies) return;
  deed.cookies = now;
  if (isCaused) deed.hasStored = true;
}

/** Canvases are compared in so many places each way, and the nearest few of them. */
const PICTURE_SIDE = 256, MOST_PICTURES = 4;

/** What is drawn on the canvases in view, by canvas; those whose pixels nobody may read are left out. */
function picturesNow() {
  const all = byTag.call(document, "canvas"), pictures = new Map();
  for (let at = 0; at < all.length && pictures.size < MOST_PICTURES; at++) {
    const canvas = all[at], { left, top, right, bottom, width, height } = rectOf.call(canvas);
    if (width < 2 || height < 2 || right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight) continue;
    const picture = canvasSum(canvas);
    if (picture !== null) pictures.set(canvas, picture);
  }
  return pictures;
}

/** A number that stands for what is drawn on a canvas. */
function canvasSum(canvas) {
  const { width, height } = canvas;
  if (width === 0 || height === 0) return null;
  const across = Math.min(width, PICTURE_SIDE), down = Math.min(height, PICTURE_SIDE);
  try {
    const copy = new OffscreenCanvas(across, down).getContext("2d", { willReadFrequently: true });
    copy.imageSmoothingQuality = "high";
    drawOn.call(copy, canvas, 0, 0, across, down);
    const words = new Uint32Array(copy.getImageData(0, 0, across, down).data.buffer);
    let sum = 0;
    for (let at = 0; at < words.length; at++) sum = Math.imul(sum ^ words[at], 0x01000193) + at | 0;
    return sum;
  } catch {
    return null;
  }
}

/** Frames that were asked for until the last action, and when that was: a page that animates asks for many. */
let lastFrames = null;
/** So many frames a second are an animation. */
const ANIMATED = 15;

/** Whether the page has been asking for one frame after the other since this was last asked. */
function isAnimating() {
  const now = { frames: framesNow(), at: performance.now() };
  const was = lastFrames;
  lastFrames = now;
  // Of a page in which nothing has been done yet that is not known.
  return was === null || now.at - was.at > 50 && (now.frames - was.frames) * 1000 / (now.at - was.at) >= ANIMATED;
}

/**
 * Whether something else is drawn on a canvas than when the deed began. What is drawn anew all the time counts only once
 * it is at rest.
 */
async function hasDrawn() {
  if (deed === null || deed.pictures.size === 0) return false;
  const differs = (was, now) => [...was].some(([canvas, picture]) => now.has(canvas) && now.get(canvas) !== picture);
  const now = picturesNow();
  if (!differs(deed.pictures, now)) return false;
  if (!deed.isAnimated) return true;
  await nextFrame();
  await nextFrame();
  return deed !== null && !differs(now, picturesNow());
}

/** Takes in which button would send a form when this click goes through. */
function noteSubmitter(event) {
  deed.mayHaveSubmitted = true;
  const isSubmitter = (at) => at instanceof Element && matches.call(at, "button, input[type=submit], input[type=image]") &&
    at.form !== null && (localNameOf.call(at) !== "button" || at.type === "submit");
  const submitter = composedPathOf.call(event).find(isSubmitter);
  if (submitter !== undefined) deed.submission = { event, submitter };
}

/** How many fields are named. */
const MOST_FIELDS = 5;
const REASONS = ["valueMissing", "typeMismatch", "patternMismatch", "tooLong", "tooShort", "rangeUnderflow", "rangeOverflow",
  "stepMismatch", "badInput", "customError"];

/** The fields because of which the browser did not send their form. Scripts may only have asked whether it could be sent. */
function blockingFields() {
  if (deed.invalid.size === 0 || !deed.mayHaveSubmitted || deed.signs.has("submit")) return [];
  const { submission, invalid, el } = deed, active = deepActive();
  const isRefused = (field) => submission !== null && !submission.event.defaultPrevented && !submission.submitter.formNoValidate &&
    submission.submitter.form === field.form && !field.form.noValidate;
  const fields = [...invalid].filter((field) => field.validity !== undefined && !field.validity.valid);
  // When it may not be sent, the first of them is focused.
  const isShown = fields.some((field) => field === active && (field !== el || deed.guard !== "hands"));
  return fields.filter((field) => isShown || isRefused(field)).slice(0, MOST_FIELDS).map((field) => ({
    element: numberOf(field), name: fieldName(field), message: field.validationMessage,
    reason: REASONS.find((reason) => field.validity[reason]) || "",
  }));
}

/** How a field is called: by its label, else by what else says what it is for. */
function fieldName(field) {
  const labels = [...field.labels || []].map((label) => collapse(textContentOf.call(label)));
  const name = attributeOf.call(field, "aria-label") || labels.find(Boolean) || attributeOf.call(field, "placeholder") ||
    attributeOf.call(field, "title") || attributeOf.call(field, "name") || localNameOf.call(field);
  return name.slice(0, 200);
}

/**
 * Why a press that arrived was not followed by a click: the element moved away, so that the button of the mouse was
 * released elsewhere; "" when it was, or for another reason.
 */
function unclicked() {
  const { el, presses, clicks, pressedAt } = deed;
  if (presses === 0 || clicks > 0 || pressedAt === null) return "";
  const { width, height } = rectOf.call(el);
  if (!isConnectedOf.call(el) || width === 0 || height === 0) return "gone";
  return placeOf(el) === pressedAt ? "" : "moved";
}

watchInputs();
