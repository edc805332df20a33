// The event guard: while an action is under way, trusted input events reach only its target.

/** State of the action under way; null when there is none. */
let action = null;
/** Longest time an action is observed after the last call from Rust. */
const MAX_ACTION_MS = 60000;

/** Ids of guards being armed: a client may release one before it is installed. */
const armingGuards = new Set();

/**
 * Lease of the guard. It is renewed with every call about the action and every event let through, and ends after so
 * many ticks: the client may have been killed, and a person's own clicks must go through then. Ticks instead of a
 * clock: a busy page does not tick, and stays guarded.
 */
const LEASE_TICKS = 30, TICK_MS = 100;
let leaseTimer = 0;

function renewLease() {
  if (action === null) return;
  action.lease = LEASE_TICKS;
  action.expiresAt = performance.now() + MAX_ACTION_MS;
  if (leaseTimer === 0) leaseTimer = setOwnTimeout(leaseTick, TICK_MS);
}

function leaseTick() {
  leaseTimer = 0;
  if (action === null) return;
  if (performance.now() > action.expiresAt) return void endAction();
  action.lease--;
  leaseTimer = setOwnTimeout(leaseTick, TICK_MS);
}

/** Releases a guard, also one that is still being armed. */
function releaseGuard(guardId) {
  armingGuards.delete(guardId);
  if (action !== null && action.guardId === guardId) endAction();
}

const POINTER_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu"];
const KEY_EVENTS = ["keydown", "keypress", "keyup", "beforeinput"];

/** Blocks input events to anything but the checked element, as long as it has the same identity. */
function guardEvent(event) {
  if (action === null || !event.isTrusted || action.lease <= 0 || action.guard === "") return;
  const isKey = event instanceof KeyboardEvent || event instanceof InputEvent;
  if (isKey !== (action.guard === "keyboard")) return;
  const hit = isKey ? deepActiveElement() : composedTarget(event);
  if (event.type === "mouseup") action.releases++;
  // After the first event, changes by the page are its own business.
  const isSame = () => action.hits > 0 || hasSameIdentity(action.el, action.identity);
  if (action.guard !== "ancestor" && hit !== null && isEventAllowed(hit, event) && isSame()) {
    if (COUNTED_EVENTS.test(event.type)) action.hits++;
    if (event.type === "mousedown") action.presses++;
    if (event.type === "click") action.clicks++;
    renewLease();
    return;
  }
  preventDefault.call(event);
  stopImmediatePropagation.call(event);
  // Events after a press that reached the element are no miss.
  if (action.missed === "" && action.hits === 0) {
    action.missed = action.guard !== "ancestor" && hit !== null && isEventFor(hit, action.el) ? "changed" : describe(hit);
  }
}

/** Events that count as arrived input. */
const COUNTED_EVENTS = /^(?:mousedown|click|keydown|beforeinput)$/;

/** Innermost target of an event, looked up by point inside closed shadow trees. */
function composedTarget(event) {
  let hit = composedPathOf.call(event)[0];
  if (!(hit instanceof Element)) return null;
  // Open shadow trees inside a closed one are not in the path either.
  for (let shadow = closedCount > 0 ? closedRoots.get(hit) || null : null; shadow !== null; shadow = anyShadowRootOf(hit)) {
    const inner = pointInShadow.call(shadow, event.clientX, event.clientY);
    if (inner === null || inner === hit) break;
    hit = inner;
  }
  return hit;
}

function isEventAllowed(hit, event) {
  const { el, eventTarget } = action;
  if (isEventFor(hit, el) || isEventFor(hit, eventTarget)) return true;
  // Typing may continue where the page moves the focus, such as the next digit of a code.
  if (action.guard === "keyboard" && action.hits > 0) return true;
  // The release belongs to the press; the click that results must be the element's again.
  if (action.hits > 0 && /^(?:pointerup|mouseup)$/.test(event.type)) return true;
  // A click in a label is followed by one on the labelled control.
  const control = labelledControl(eventTarget) || labelledControl(el);
  if (event.type !== "click" || control === null) return false;
  // A closed shadow tree hides its target, and focusing it may have scrolled it away from the pointer.
  return hit === control || action.clicks > 0 && isInside(control, composedPathOf.call(event)[0]);
}

/** Installs the guard's listeners. Repeated before each action, as `document.open()` removes them. */
function installGuard() {
  for (const name of [...POINTER_EVENTS, ...KEY_EVENTS]) addEventListener(name, guardEvent, { capture: true, passive: false });
}
installGuard();
