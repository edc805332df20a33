// The event guard: while an action is under way, trusted input events reach only its target.

/** What a hand is about to do, and to what; null when nothing is being done. */
let action = null;
/** The longest time that effects are watched for after the last word from outside. */
const MAX_ACTION_MS = 60000;

/** Ids of guards that are being armed: whoever asked for one may release it before it is up. */
const armingGuards = new Set();

/**
 * The guard is held on a lease. It is renewed whenever somebody outside asks about the action and with every event
 * that is let through, and ends so many ticks later: whoever armed it may have been killed, and a person's own clicks
 * must go through then. Ticks and no clock: a page that is busy does not tick, and guards what waits for it.
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

/** Releases a guard, also one that is not up yet. */
function releaseGuard(guardId) {
  armingGuards.delete(guardId);
  if (action !== null && action.guardId === guardId) endAction();
}

const POINTER_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu"];
const KEY_EVENTS = ["keydown", "keypress", "keyup", "beforeinput"];

/** Lets nothing through to anything but the element that was checked, as long as it is what it was. */
function guardEvent(event) {
  if (action === null || !event.isTrusted || action.lease <= 0 || action.guard === "") return;
  const isKey = event instanceof KeyboardEvent || event instanceof InputEvent;
  if (isKey !== (action.guard === "keyboard")) return;
  const hit = isKey ? deepActiveElement() : composedTarget(event);
  if (event.type === "mouseup") action.releases++;
  // Once it was let in, what the page makes of it is the page's own business.
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
  // What follows a press that was let in is no miss.
  if (action.missed === "" && action.hits === 0) {
    action.missed = action.guard !== "ancestor" && hit !== null && isEventFor(hit, action.el) ? "changed" : describe(hit);
  }
}

/** Of each press, what says that it has arrived. */
const COUNTED_EVENTS = /^(?:mousedown|click|keydown|beforeinput)$/;

/** What an event is about; inside closed shadow trees that is not told. */
function composedTarget(event) {
  let hit = composedPathOf.call(event)[0];
  if (!(hit instanceof Element)) return null;
  // Inside of a closed tree, open ones are not told either.
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
  // Typing moves on where the page moves the focus on, as from one digit of a code to the next.
  if (action.guard === "keyboard" && action.hits > 0) return true;
  // The release belongs to the press. The click that may come of both must be the element's again.
  if (action.hits > 0 && /^(?:pointerup|mouseup)$/.test(event.type)) return true;
  // A click in a label is followed by one on the labelled control.
  const control = labelledControl(eventTarget) || labelledControl(el);
  if (event.type !== "click" || control === null) return false;
  // In a closed shadow tree its target is not told, and its focus may have scrolled it away from under the mouse.
  return hit === control || action.clicks > 0 && isInside(control, composedPathOf.call(event)[0]);
}

/** `document.open()` takes all listeners away: they are put up again before anything is done. */
function installGuard() {
  for (const name of [...POINTER_EVENTS, ...KEY_EVENTS]) addEventListener(name, guardEvent, { capture: true, passive: false });
}
installGuard();
