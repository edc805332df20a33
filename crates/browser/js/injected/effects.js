// What is being done: the guard sees to it that it is done to nothing else, and what came of it is noted.

/** Whether something is scrolled as far as it was when it began. */
function isScrolledAsBefore(target) {
  const box = target === document ? document.scrollingElement : target;
  const was = action.scrollPositions.get(box);
  return was !== undefined && was[0] === box.scrollLeft && was[1] === box.scrollTop;
}

/** How far everything around an element is scrolled. */
function scrollPositionsAround(el) {
  const places = new Map();
  const note = (box) => { if (box) places.set(box, [box.scrollLeft, box.scrollTop]); };
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) note(at);
  note(document.scrollingElement);
  return places;
}

/** From here on, what happens is because of what is done. `guard` says what else is kept off: hands or keys. */
function beginAction(elementId, guard, eventTarget, guardId) {
  const el = elementOf(elementId);
  if (el === null) return false;
  return beginActionOn(el, guard, eventTarget || visibleProxy(el), guardId);
}

/** What is selected, if anything is. */
function selectionEndpoints() {
  const active = deepActiveElement();
  if (active !== null && /^(?:input|textarea)$/.test(localNameOf.call(active))) {
    const { selectionStart: from, selectionEnd: to } = active;
    return from === null || from === to ? [] : [active, from, to];
  }
  const selection = getSelection();
  if (selection === null || selection.isCollapsed) return [];
  return [selection.anchorNode, selection.anchorOffset, selection.focusNode, selection.focusOffset];
}

function hasSelectionChanged() {
  const now = selectionEndpoints();
  return now.length > 0 && now.some((part, at) => part !== action.selected[at]);
}

function beginActionOn(el, guard, eventTarget, guardId) {
  recordStyleMoves();
  // What has changed by now is not because of it.
  recordEffects(effectObserver.takeRecords());
  const now = performance.now();
  action = { guardId, el, eventTarget, guard, lease: 0, identity: identityText(el), expiresAt: 0, hits: 0, presses: 0, clicks: 0, releases: 0, missed: "",
    mutations: 0, otherMutations: 0, lateRecords: [], changeCount: 0, hasStyleMutation: false, isHovering: false,
    begun: now, selected: selectionEndpoints(), scrollPositions: scrollPositionsAround(eventTarget),
    // What is done by script, or in another document, has no event here.
    inputAt: guard === "" || guard === "ancestor" || isFrameElement(el) ? now : -Infinity, events: [], spans: [], spanStart: null, timersBefore: null, framesBefore: null, isScheduled: false,
    eventTypes: new Set(), lateEventTypes: new Set(), hasScrolled: false, invalid: new Set(), mayHaveSubmitted: false, submission: null, pressedAt: null, downloads: 0,
    cookies: readCookies(), hasStored: false, canvasSums: canvasChecksums(), hasDrawn: false, isAnimated: isAnimating(),
    focused: null, active: deepActiveElement(), value: currentValue(el), checked: controlState(el).isChecked, href: location.href };
  observeEffects();
  installGuard();
  renewLease();
  return true;
}

/** Whether what is done to an element is done in a document of its own. */
const isFrameElement = (el) => /^(?:iframe|frame|object|embed)$/.test(localNameOf.call(el));

/** Watches for what comes, in a document that nothing is done to itself. */
function beginInAncestor(guardId) {
  const root = documentElementOf.call(document);
  return root !== null && beginActionOn(root, "ancestor", root, guardId);
}

/** Watches for what comes of something that is done to no element in particular. */
function beginUntargeted(guardId) {
  const root = documentElementOf.call(document);
  return root !== null && beginActionOn(root, "", root, guardId);
}

const currentValue = (el) => {
  switch (localNameOf.call(el)) {
    case "input": return inputValueOf.call(el);
    case "textarea": return areaValueOf.call(el);
    case "select": return [...selectedOptionsOf.call(el)].map((option) => option.value).join("\n");
    default: return isEditable(el) ? textContentOf.call(el) : "";
  }
};

/** Checks and begins in one step: nothing can happen in between. */
async function checkAndArm(elementId, requirements, guard, isFresh, guardId) {
  // Who looked some time ago has to look again if something happened since then; who looked just now, if it
  // happened here.
  const el = elementOf(elementId);
  if (isDirty() && (!isFresh || el === null || isTouched(el))) return { problem: "dirty" };
  const identity = el === null ? [] : identityText(el);
  if (guard !== null) armingGuards.add(guardId);
  const found = await checkActionability(elementId, requirements);
  const isStillWanted = guard !== null && armingGuards.delete(guardId);
  // The check may have waited for things to come to rest.
  if (found.problem === undefined && !hasSameIdentity(el, identity)) return { problem: "dirty" };
  if (found.problem === undefined && isStillWanted) beginAction(found.field || elementId, guard, found.eventTarget || null, guardId);
  delete found.eventTarget;
  return found;
}

/** What has come of it so far. */
function collectEffects() {
  if (action === null) return null;
  recordEffects(effectObserver.takeRecords());
  if (action.timersBefore === null) compareCookies();
  const { el, hits, releases, missed, mutations, otherMutations, eventTypes: signs, focused, value, checked, href, downloads, hasStored, hasDrawn, isScheduled } = action;
  const active = deepActiveElement();
  // That the element itself takes the focus is what a click does, not what comes of it.
  const isOwn = action.guard === "pointer" && el !== documentElementOf.call(document) && active !== null && isInside(active, el);
  const hasMoved = active !== action.active && !isOwn;
  const state = controlState(el);
  return {
    hits, releases, missed, mutations, otherMutations, isScheduled, downloads, isHovering: action.isHovering, selected: hasSelectionChanged(),
    focus: hasMoved && focused !== null || isEditable(el) && active === el && action.active !== el,
    value: signs.has("input") || signs.has("change") || currentValue(el) !== value || state.isChecked !== checked,
    // The new state of a control that was clicked through its label.
    isChecked: state.control === undefined ? null : state.isChecked,
    scrolled: signs.has("scroll"), toggled: TOGGLE_EVENTS.some((type) => signs.has(type)), media: MEDIA_EVENTS.some((type) => signs.has(type)),
    copied: signs.has("copy") || signs.has("cut"), stored: hasStored, drawn: hasDrawn,
    moved: location.href !== href,
    blocking: blockingFields(), missingClick: missingClickReason(),
    spans: action.spans.slice(-MAX_LISTENER_SPANS), begunAt: performance.timeOrigin + action.begun, doneAt: performance.timeOrigin + Math.max(action.begun, action.inputAt),
  };
}

/** So many times of events are told, begin and end. */
const MAX_LISTENER_SPANS = 40;
const TOGGLE_EVENTS = ["toggle", "fullscreenchange", "close"], MEDIA_EVENTS = ["play", "pause", "volumechange", "ratechange", "seeking"];

const taskChannel = new MessageChannel();
let afterTask = null;
taskChannel.port1.onmessage = () => afterTask && afterTask();
/** Lets everything run that waits to. */
const nextTask = () => new Promise((go) => { afterTask = go; taskChannel.port2.postMessage(0); });

/** Waits until what the action set in motion has come to rest: animations that end, and scripts that move things. */
async function waitForAnimations(end) {
  // Components begin to move with the next picture.
  const isComponent = rootOf.call(action.el) instanceof ShadowRoot || localNameOf.call(action.el).includes("-");
  if (isComponent && action.mutations > 0) {
    await nextFrame();
    await nextFrame();
    if (action !== null) recordEffects(effectObserver.takeRecords());
  }
  for (;;) {
    const left = end - performance.now();
    if (action === null || left <= 0) return;
    const moving = [document, ...shadows].flatMap((tree) => tree.getAnimations()).filter(({ playState, startTime, effect }) => playState === "running" &&
      effect !== null && effect.getComputedTiming().endTime < Infinity && (startTime === null || startTime >= action.begun - 50));
    if (moving.length > 0) {
      // What a page does when they end is because of them.
      if (action.mutations > 0) markScheduled();
      const over = Promise.allSettled(moving.map(({ finished }) => finished));
      await Promise.race([over, new Promise((go) => setOwnTimeout(go, left))]);
      await waitForFollowUp();
      continue;
    }
    if (!action.hasStyleMutation) return;
    action.hasStyleMutation = false;
    await nextFrame();
    await nextFrame();
    if (action !== null) recordEffects(effectObserver.takeRecords());
  }
}

/** Lets a page hear that something has come to rest. What it puts in its place begins to move a few pictures later. */
async function waitForFollowUp() {
  const before = action === null ? 0 : action.changeCount;
  for (let frameCount = 0; action !== null && frameCount < 3; frameCount++) {
    await nextFrame();
    if (action === null) return;
    recordEffects(effectObserver.takeRecords());
    if (action.changeCount === before) return;
  }
}

/** How many turns without a consequence are enough. */
const QUIET_TASKS = 3;

/** How long a click may take to arrive before somebody asks what became of it. */
const CLICK_ARRIVAL_MS = 250;

/**
 * Waits until what was done has no more consequences, or the time is up; then says what they are. `ups` is how many
 * times a button of the mouse is going to be released before that; `look` is how to look at the page afterwards.
 */
async function settle(ms, releases = 0, observeOptions = null) {
  renewLease();
  const begun = performance.now();
  const end = begun + ms;
  let quiet = 0;
  while (action !== null && action.releases < releases && performance.now() < begun + CLICK_ARRIVAL_MS) await nextTask();
  while (action !== null && performance.now() < end && quiet < QUIET_TASKS) {
    const before = action.changeCount;
    await nextTask();
    if (action === null) break;
    recordEffects(effectObserver.takeRecords());
    quiet = action.changeCount === before ? quiet + 1 : 0;
  }
  if (action !== null && quiet >= QUIET_TASKS) await waitForAnimations(end);
  // Where something came of it, what changed at once is part of that.
  if (action !== null && hasEffects(collectEffects())) attributeSoonRecords();
  const collected = { ...collectEffects(), isQuiet: quiet >= QUIET_TASKS, blockedLinks: takeBlockedLinks() };
  // Asked for later, a look would have to wait for the picture that comes next.
  if (observeOptions !== null && collected.isQuiet && collected.mutations > 0) collected.report = observe(observeOptions);
  return collected;
}

/** Whether an outcome says that anything came of it. */
const hasEffects = ({ mutations, focus, value, scrolled, toggled, media, copied, stored, drawn, moved, downloads, blocking }) =>
  mutations > 0 || focus || value || scrolled || toggled || media || copied || stored || drawn || moved || downloads > 0 ||
  blocking.length > 0 || blockedLinks.length > 0;

/** How often canvases are compared while a consequence is waited for. */
const CANVAS_POLL_MS = 100;

/**
 * Waits for the first consequence. `isHeard` says that scripts listen to events of the element, `isOpen` that the page has
 * something under way that leaves no trace here.
 */
async function firstEffect(ms, hasListeners = true, hasPendingWork = false) {
  renewLease();
  if (action === null) return false;
  const begun = performance.now(), end = begun + ms;
  if (hasPendingWork && hasListeners) markScheduled();
  let canvasesReadAt = begun;
  for (;;) {
    // What is selected is no sign: the page hears of that later, and may do something then.
    if (action !== null && hasListeners) {
      recordEffects(effectObserver.takeRecords());
      attributeSoonRecords();
    }
    if (action === null || hasEffects(collectEffects())) return action !== null;
    const now = performance.now(), isTimeUp = now >= end;
    if (action.canvasSums.size > 0 && (isTimeUp || now - canvasesReadAt >= CANVAS_POLL_MS)) {
      canvasesReadAt = now;
      const hasChanged = await hasRedrawnCanvas();
      if (action !== null && hasChanged) action.hasDrawn = true;
      if (hasChanged) continue;
    }
    if (isTimeUp) {
      if (hasListeners) attributeDoubtfulRecords();
      return hasEffects(collectEffects());
    }
    await Promise.race([nextFrame(), new Promise((go) => setOwnTimeout(go, 10))]);
  }
}

/** Waits for anything new, such as what a page makes of an answer. `isCaused` says that the action asked for that. */
async function nextChange(ms, isCaused = false) {
  renewLease();
  if (isCaused) markScheduled();
  const end = performance.now() + ms;
  const before = action === null ? 0 : action.changeCount;
  while (action !== null && performance.now() < end) {
    recordEffects(effectObserver.takeRecords());
    if (action.changeCount !== before) return true;
    await Promise.race([nextFrame(), new Promise((go) => setOwnTimeout(go, 5))]);
  }
  return false;
}

/** It is done: hands are free again. */
function endAction() {
  const collected = collectEffects();
  if (collected !== null) {
    collected.blockedLinks = takeBlockedLinks();
    if (hasEffects(collected)) lastEffectiveAction = performance.now();
  }
  action = null;
  lastActionEnd = performance.now();
  return collected;
}
