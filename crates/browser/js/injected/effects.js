// What is being done: the guard sees to it that it is done to nothing else, and what came of it is noted.

/** Whether something is scrolled as far as it was when it began. */
function isWhereItWas(target) {
  const box = target === document ? document.scrollingElement : target;
  const was = deed.places.get(box);
  return was !== undefined && was[0] === box.scrollLeft && was[1] === box.scrollTop;
}

/** How far everything around an element is scrolled. */
function placesAround(el) {
  const places = new Map();
  const note = (box) => { if (box) places.set(box, [box.scrollLeft, box.scrollTop]); };
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) note(at);
  note(document.scrollingElement);
  return places;
}

/** From here on, what happens is because of what is done. `guard` says what else is kept off: hands or keys. */
function begin(number, guard, on, id) {
  const el = elementOf(number);
  if (el === null) return false;
  return beginOn(el, guard, on || standIn(el), id);
}

/** What is selected, if anything is. */
function selectionNow() {
  const active = deepActive();
  if (active !== null && /^(?:input|textarea)$/.test(localNameOf.call(active))) {
    const { selectionStart: from, selectionEnd: to } = active;
    return from === null || from === to ? [] : [active, from, to];
  }
  const selection = getSelection();
  if (selection === null || selection.isCollapsed) return [];
  return [selection.anchorNode, selection.anchorOffset, selection.focusNode, selection.focusOffset];
}

function hasSelected() {
  const now = selectionNow();
  return now.length > 0 && now.some((part, at) => part !== deed.selected[at]);
}

function beginOn(el, guard, on, id) {
  heedMoves();
  // What has changed by now is not because of it.
  noteEffects(effects.takeRecords());
  const now = performance.now();
  deed = { id, el, on, guard, lease: 0, words: wordsOf(el), until: 0, hits: 0, presses: 0, clicks: 0, ups: 0, missed: "",
    mutations: 0, otherMutations: 0, late: [], stirs: 0, slides: false, isHovering: false,
    begun: now, selected: selectionNow(), places: placesAround(on),
    // What is done by script, or in another document, has no event here.
    inputAt: guard === "" || guard === "beside" || holdsDocument(el) ? now : -Infinity, events: [], spans: [], spanBegun: null, timers: null, frames: null, isScheduled: false, isUnheard: false,
    signs: new Set(), lateSigns: new Set(), hasScrolled: false, invalid: new Set(), mayHaveSubmitted: false, submission: null, pressedAt: null, downloads: 0,
    cookies: cookiesNow(), hasStored: false, pictures: picturesNow(), hasDrawn: false, isAnimated: isAnimating(),
    focused: null, active: deepActive(), value: heldValue(el), checked: factOf(el).isChecked, href: location.href };
  watchEffects();
  putUp();
  renewLease();
  return true;
}

/** Whether what is done to an element is done in a document of its own. */
const holdsDocument = (el) => /^(?:iframe|frame|object|embed)$/.test(localNameOf.call(el));

/** Watches for what comes, in a document that nothing is done to itself. */
function beginBeside(id) {
  const root = documentElementOf.call(document);
  return root !== null && beginOn(root, "beside", root, id);
}

/** Watches for what comes of something that is done to no element in particular. */
function beginAnywhere(id) {
  const root = documentElementOf.call(document);
  return root !== null && beginOn(root, "", root, id);
}

const heldValue = (el) => {
  switch (localNameOf.call(el)) {
    case "input": return inputValueOf.call(el);
    case "textarea": return areaValueOf.call(el);
    case "select": return [...selectedOptionsOf.call(el)].map((option) => option.value).join("\n");
    default: return isEditable(el) ? textContentOf.call(el) : "";
  }
};

/** Checks and begins in one step: nothing can happen in between. */
async function ready(number, wants, guard, isSure, id) {
  // Who looked some time ago has to look again if something happened since then; who looked just now, if it
  // happened here.
  const el = elementOf(number);
  if (isSpoiled() && (!isSure || el === null || isTouched(el))) return { problem: "spoiled" };
  const words = el === null ? [] : wordsOf(el);
  if (guard !== null) arming.add(id);
  const found = await check(number, wants);
  const isWanted = guard !== null && arming.delete(id);
  // The check may have waited for things to come to rest.
  if (found.problem === undefined && !isStill(el, words)) return { problem: "spoiled" };
  if (found.problem === undefined && isWanted) begin(found.field || number, guard, found.on || null, id);
  delete found.on;
  return found;
}

/** What has come of it so far. */
function outcome() {
  if (deed === null) return null;
  noteEffects(effects.takeRecords());
  if (deed.timers === null) heedCookies();
  const { el, hits, ups, missed, mutations, otherMutations, signs, focused, value, checked, href, downloads, hasStored, hasDrawn, isScheduled } = deed;
  const active = deepActive();
  // That the element itself takes the focus is what a click does, not what comes of it.
  const isOwn = deed.guard === "hands" && el !== documentElementOf.call(document) && active !== null && isInside(active, el);
  const hasMoved = active !== deed.active && !isOwn;
  const fact = factOf(el);
  return {
    hits, ups, missed, mutations, otherMutations, isScheduled, downloads, isHovering: deed.isHovering, selected: hasSelected(),
    focus: hasMoved && focused !== null || isEditable(el) && active === el && deed.active !== el,
    value: signs.has("input") || signs.has("change") || heldValue(el) !== value || fact.isChecked !== checked,
    // The new state of a control that was clicked through its label.
    isChecked: fact.control === undefined ? null : fact.isChecked,
    scrolled: signs.has("scroll"), toggled: TOGGLES.some((type) => signs.has(type)), media: MEDIA.some((type) => signs.has(type)),
    copied: signs.has("copy") || signs.has("cut"), stored: hasStored, drawn: hasDrawn,
    moved: location.href !== href, gone: !isConnectedOf.call(el),
    blocking: blockingFields(), unclicked: unclicked(),
    spans: deed.spans.slice(-MOST_SPANS), begunAt: performance.timeOrigin + deed.begun, doneAt: performance.timeOrigin + Math.max(deed.begun, deed.inputAt),
  };
}

/** So many times of events are told, begin and end. */
const MOST_SPANS = 40;
const TOGGLES = ["toggle", "fullscreenchange", "close"], MEDIA = ["play", "pause", "volumechange", "ratechange", "seeking"];

const turnOfEvents = new MessageChannel();
let afterTurn = null;
turnOfEvents.port1.onmessage = () => afterTurn && afterTurn();
/** Lets everything run that waits to. */
const nextTurn = () => new Promise((go) => { afterTurn = go; turnOfEvents.port2.postMessage(0); });

/** Waits until what the action set in motion has come to rest: animations that end, and scripts that move things. */
async function rested(end) {
  // Components begin to move with the next picture.
  const isComponent = rootOf.call(deed.el) instanceof ShadowRoot || localNameOf.call(deed.el).includes("-");
  if (isComponent && deed.mutations > 0) {
    await nextFrame();
    await nextFrame();
    if (deed !== null) noteEffects(effects.takeRecords());
  }
  for (;;) {
    const left = end - performance.now();
    if (deed === null || left <= 0) return;
    const moving = [document, ...shadows].flatMap((tree) => tree.getAnimations()).filter(({ playState, startTime, effect }) => playState === "running" &&
      effect !== null && effect.getComputedTiming().endTime < Infinity && (startTime === null || startTime >= deed.begun - 50));
    if (moving.length > 0) {
      // What a page does when they end is because of them.
      if (deed.mutations > 0) schedule();
      const over = Promise.allSettled(moving.map(({ finished }) => finished));
      await Promise.race([over, new Promise((go) => later(go, left))]);
      await andThen();
      continue;
    }
    if (!deed.slides) return;
    deed.slides = false;
    await nextFrame();
    await nextFrame();
    if (deed !== null) noteEffects(effects.takeRecords());
  }
}

/** Lets a page hear that something has come to rest. What it puts in its place begins to move a few pictures later. */
async function andThen() {
  const before = deed === null ? 0 : deed.stirs;
  for (let pictures = 0; deed !== null && pictures < 3; pictures++) {
    await nextFrame();
    if (deed === null) return;
    noteEffects(effects.takeRecords());
    if (deed.stirs === before) return;
  }
}

/** How many turns without a consequence are enough. */
const QUIET_TURNS = 3;

/** How long a click may take to arrive before somebody asks what became of it. */
const ARRIVAL_MS = 250;

/**
 * Waits until what was done has no more consequences, or the time is up; then says what they are. `ups` is how many
 * times a button of the mouse is going to be released before that; `look` is how to look at the page afterwards.
 */
async function settle(ms, ups = 0, look = null) {
  renewLease();
  const begun = performance.now();
  const end = begun + ms;
  let quiet = 0;
  while (deed !== null && deed.ups < ups && performance.now() < begun + ARRIVAL_MS) await nextTurn();
  while (deed !== null && performance.now() < end && quiet < QUIET_TURNS) {
    const before = deed.stirs;
    await nextTurn();
    if (deed === null) break;
    noteEffects(effects.takeRecords());
    quiet = deed.stirs === before ? quiet + 1 : 0;
  }
  if (deed !== null && quiet >= QUIET_TURNS) await rested(end);
  // Where something came of it, what changed at once is part of that.
  if (deed !== null && isSign(outcome())) promoteNear();
  const came = { ...outcome(), isQuiet: quiet >= QUIET_TURNS, turnedAway: tellTurnedAway() };
  // Asked for later, a look would have to wait for the picture that comes next.
  if (look !== null && came.isQuiet && came.mutations > 0) came.report = observe(look);
  return came;
}

/** Whether an outcome says that anything came of it. */
const isSign = ({ mutations, focus, value, scrolled, toggled, media, copied, stored, drawn, moved, downloads, blocking }) =>
  mutations > 0 || focus || value || scrolled || toggled || media || copied || stored || drawn || moved || downloads > 0 ||
  blocking.length > 0 || turnedAway.length > 0;

/** How often canvases are compared while a consequence is waited for. */
const PICTURE_MS = 100;

/**
 * Waits for the first consequence. `isHeard` says that scripts listen to events of the element, `isOpen` that the page has
 * something under way that leaves no trace here.
 */
async function sign(ms, isHeard = true, isOpen = false) {
  renewLease();
  if (deed === null) return false;
  const begun = performance.now(), end = begun + ms;
  deed.isUnheard = !isHeard;
  if (isOpen && isHeard) schedule();
  let picturesAt = begun;
  for (;;) {
    // What is selected is no sign: the page hears of that later, and may do something then.
    if (deed !== null && isHeard) {
      noteEffects(effects.takeRecords());
      promoteNear();
    }
    if (deed === null || isSign(outcome())) return deed !== null;
    const now = performance.now(), isOver = now >= end;
    if (deed.pictures.size > 0 && (isOver || now - picturesAt >= PICTURE_MS)) {
      picturesAt = now;
      const hasChanged = await hasDrawn();
      if (deed !== null && hasChanged) deed.hasDrawn = true;
      if (hasChanged) continue;
    }
    if (isOver) {
      if (isHeard) settleDoubts();
      return isSign(outcome());
    }
    await Promise.race([nextFrame(), new Promise((go) => later(go, 10))]);
  }
}

/** Waits for anything new, such as what a page makes of an answer. `isCaused` says that the action asked for that. */
async function stir(ms, isCaused = false) {
  renewLease();
  if (isCaused) schedule();
  const end = performance.now() + ms;
  const before = deed === null ? 0 : deed.stirs;
  while (deed !== null && performance.now() < end) {
    noteEffects(effects.takeRecords());
    if (deed.stirs !== before) return true;
    await Promise.race([nextFrame(), new Promise((go) => later(go, 5))]);
  }
  return false;
}

/** It is done: hands are free again. */
function over() {
  const came = outcome();
  if (came !== null) {
    came.turnedAway = tellTurnedAway();
    if (isSign(came)) lastCause = performance.now();
  }
  deed = null;
  lastDeed = performance.now();
  return came;
}
