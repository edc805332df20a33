// Effects of an action: its start, the state before it, and what changed when the page settles.

/** Returns whether an element is scrolled as at the start of the action. */
function isScrolledAsBefore(target) {
  const box = target === document ? document.scrollingElement : target;
  const was = action.scrollPositions.get(box);
  return was !== undefined && was[0] === box.scrollLeft && was[1] === box.scrollTop;
}

/** Scroll positions of an element's ancestors and of the document. */
function scrollPositionsAround(el) {
  const places = new Map();
  const note = (box) => { if (box) places.set(box, [box.scrollLeft, box.scrollTop]); };
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) note(at);
  note(document.scrollingElement);
  return places;
}

/** Begins an action. `guard`: the input events to block elsewhere, "pointer" or "keyboard". */
function beginAction(elementId, guard, eventTarget, guardId) {
  const el = elementOf(elementId);
  if (el === null) return false;
  return beginActionOn(el, guard, eventTarget || visibleProxy(el), guardId);
}

/** Endpoints of the selection; empty when it is collapsed. */
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
  // Changes so far are not the action's.
  recordEffects(effectObserver.takeRecords());
  const now = performance.now();
  action = { guardId, el, eventTarget, guard, lease: 0, identity: identityText(el), expiresAt: 0, hits: 0, presses: 0, clicks: 0, releases: 0, missed: "",
    mutations: 0, otherMutations: 0, lateRecords: [], changeCount: 0, hasStyleMutation: false, isHovering: false,
    begun: now, selected: selectionEndpoints(), scrollPositions: scrollPositionsAround(eventTarget),
    // Actions by script, or in another document, dispatch no event here.
    inputAt: guard === "" || guard === "ancestor" || isFrameElement(el) ? now : -Infinity, events: [], spans: [], spanStart: null, timersBefore: null, framesBefore: null, isScheduled: false,
    eventTypes: new Set(), lateEventTypes: new Set(), hasScrolled: false, invalid: new Set(), mayHaveSubmitted: false, submission: null, pressedAt: null, downloads: 0,
    cookies: readCookies(), hasStored: false, canvasSums: canvasChecksums(), hasDrawn: false, isAnimated: isAnimating(),
    focused: null, active: deepActiveElement(), value: currentValue(el), checked: controlState(el).isChecked, href: location.href };
  observeEffects();
  installGuard();
  renewLease();
  return true;
}

/** Returns whether an element contains another document. */
const isFrameElement = (el) => /^(?:iframe|frame|object|embed)$/.test(localNameOf.call(el));

/** Observes effects in an ancestor document of the action's frame. */
function beginInAncestor(guardId) {
  const root = documentElementOf.call(document);
  return root !== null && beginActionOn(root, "ancestor", root, guardId);
}

/** Observes effects of an action without a target element. */
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

/** Checks actionability and arms the guard in one step, so that nothing can happen in between. */
async function checkAndArm(elementId, requirements, guard, isFresh, guardId) {
  // An older observation is stale after any change; a fresh one only if the change touched the element.
  const el = elementOf(elementId);
  if (isDirty() && (!isFresh || el === null || isTouched(el))) return { problem: "dirty" };
  const identity = el === null ? [] : identityText(el);
  if (guard !== null) armingGuards.add(guardId);
  const found = await checkActionability(elementId, requirements);
  const isStillWanted = guard !== null && armingGuards.delete(guardId);
  // The check may have waited for animations.
  if (found.problem === undefined && !hasSameIdentity(el, identity)) return { problem: "dirty" };
  if (found.problem === undefined && isStillWanted) beginAction(found.field || elementId, guard, found.eventTarget || null, guardId);
  delete found.eventTarget;
  return found;
}

/** Effects so far. */
function collectEffects() {
  if (action === null) return null;
  recordEffects(effectObserver.takeRecords());
  if (action.timersBefore === null) compareCookies();
  const { el, hits, releases, missed, mutations, otherMutations, eventTypes: eventTypes, focused, value, checked, href, downloads, hasStored, hasDrawn, isScheduled } = action;
  const active = deepActiveElement();
  // Focusing the clicked element is no effect of its own.
  const isFocusOnTarget = action.guard === "pointer" && el !== documentElementOf.call(document) && active !== null && isInside(active, el);
  const hasMoved = active !== action.active && !isFocusOnTarget;
  const state = controlState(el);
  return {
    hits, releases, missed, mutations, otherMutations, isScheduled, downloads, isHovering: action.isHovering, selected: hasSelectionChanged(),
    focus: hasMoved && focused !== null || isEditable(el) && active === el && action.active !== el,
    value: eventTypes.has("input") || eventTypes.has("change") || currentValue(el) !== value || state.isChecked !== checked,
    // New state of the control behind a clicked label.
    isChecked: state.control === undefined ? null : state.isChecked,
    scrolled: eventTypes.has("scroll"), toggled: TOGGLE_EVENTS.some((type) => eventTypes.has(type)), media: MEDIA_EVENTS.some((type) => eventTypes.has(type)),
    copied: eventTypes.has("copy") || eventTypes.has("cut"), stored: hasStored, drawn: hasDrawn,
    moved: location.href !== href,
    blocking: blockingFields(), missingClick: missingClickReason(),
    spans: action.spans.slice(-MAX_LISTENER_SPANS), begunAt: performance.timeOrigin + action.begun, doneAt: performance.timeOrigin + Math.max(action.begun, action.inputAt),
  };
}

/** Most listener spans reported, as start and end times. */
const MAX_LISTENER_SPANS = 40;
const TOGGLE_EVENTS = ["toggle", "fullscreenchange", "close"], MEDIA_EVENTS = ["play", "pause", "volumechange", "ratechange", "seeking"];

const taskChannel = new MessageChannel();
let afterTask = null;
taskChannel.port1.onmessage = () => afterTask && afterTask();
/** Resolves after the tasks that are queued now. */
const nextTask = () => new Promise((go) => { afterTask = go; taskChannel.port2.postMessage(0); });

/** Waits until animations and style changes that the action started have ended. */
async function waitForAnimations(end) {
  // Web components start animations with the next frame.
  const isComponent = rootOf.call(action.el) instanceof ShadowRoot || localNameOf.call(action.el).includes("-");
  if (isComponent && action.mutations > 0) {
    await nextFrame();
    await nextFrame();
    if (action !== null) recordEffects(effectObserver.takeRecords());
  }
  for (;;) {
    const left = end - performance.now();
    if (action === null || left <= 0) return;
    const running = [document, ...shadows].flatMap((tree) => tree.getAnimations()).filter(({ playState, startTime, effect }) => playState === "running" &&
      effect !== null && effect.getComputedTiming().endTime < Infinity && (startTime === null || startTime >= action.begun - 50));
    if (running.length > 0) {
      // Changes at the end of these animations are caused by them.
      if (action.mutations > 0) markScheduled();
      const ended = Promise.allSettled(running.map(({ finished }) => finished));
      await Promise.race([ended, new Promise((go) => setOwnTimeout(go, left))]);
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

/** Lets the page react to the end of an animation. A replacement starts to move a few frames later. */
async function waitForFollowUp() {
  const before = action === null ? 0 : action.changeCount;
  for (let frameCount = 0; action !== null && frameCount < 3; frameCount++) {
    await nextFrame();
    if (action === null) return;
    recordEffects(effectObserver.takeRecords());
    if (action.changeCount === before) return;
  }
}

/** Tasks without a change after which the page counts as settled. */
const QUIET_TASKS = 3;

/** Longest wait for a click to arrive. */
const CLICK_ARRIVAL_MS = 250;

/**
 * Settles: waits until the action has no more consequences or the time is up, and returns its effects. `releases`:
 * mouse button releases to wait for first; `observeOptions`: options for an observation afterwards.
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
  // With other effects, changes right after the event are part of them.
  if (action !== null && hasEffects(collectEffects())) attributeSoonRecords();
  const collected = { ...collectEffects(), isQuiet: quiet >= QUIET_TASKS, blockedLinks: takeBlockedLinks() };
  // A later call would have to wait for the next frame.
  if (observeOptions !== null && collected.isQuiet && collected.mutations > 0) collected.report = observe(observeOptions);
  return collected;
}

/** Returns whether there are any effects. */
const hasEffects = ({ mutations, focus, value, scrolled, toggled, media, copied, stored, drawn, moved, downloads, blocking }) =>
  mutations > 0 || focus || value || scrolled || toggled || media || copied || stored || drawn || moved || downloads > 0 ||
  blocking.length > 0 || blockedLinks.length > 0;

/** Interval of canvas comparisons while waiting. */
const CANVAS_POLL_MS = 100;

/**
 * Waits for the first effect. `hasListeners`: the page listens to events of the element; `hasPendingWork`: it has work
 * under way that leaves no trace here.
 */
async function firstEffect(ms, hasListeners = true, hasPendingWork = false) {
  renewLease();
  if (action === null) return false;
  const begun = performance.now(), end = begun + ms;
  if (hasPendingWork && hasListeners) markScheduled();
  let canvasesReadAt = begun;
  for (;;) {
    // A selection alone does not count: the page is notified later, and may react.
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

/** Waits for the next change, such as the rendering of a response. `isCaused`: the action made the request. */
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

/** Ends the action and returns its effects. */
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
