// The event guard: while an action is under way, trusted input events reach only its target.

/** What a hand is about to do, and to what; null when nothing is being done. */
let deed = null;
/** The longest time that effects are watched for after the last word from outside. */
const DEED_MS = 60000;

/** Ids of guards that are being armed: whoever asked for one may release it before it is up. */
const arming = new Set();

/**
 * The guard is held on a lease. It is renewed whenever somebody outside asks about the action and with every event
 * that is let through, and ends so many ticks later: whoever armed it may have been killed, and a person's own clicks
 * must go through then. Ticks and no clock: a page that is busy does not tick, and guards what waits for it.
 */
const LEASE_TICKS = 30, TICK_MS = 100;
let leaseTimer = 0;

function renewLease() {
  if (deed === null) return;
  deed.lease = LEASE_TICKS;
  deed.until = performance.now() + DEED_MS;
  if (leaseTimer === 0) leaseTimer = later(leaseTick, TICK_MS);
}

function leaseTick() {
  leaseTimer = 0;
  if (deed === null) return;
  if (performance.now() > deed.until) return void over();
  deed.lease--;
  leaseTimer = later(leaseTick, TICK_MS);
}

/** Releases a guard, also one that is not up yet. */
function release(id) {
  arming.delete(id);
  if (deed !== null && deed.id === id) over();
}

const HANDS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu"];
const KEYS = ["keydown", "keypress", "keyup", "beforeinput"];
const isPress = /^(?:pointerdown|mousedown|keydown|beforeinput)$/;

/** Lets nothing through to anything but the element that was checked, as long as it is what it was. */
function keepOff(event) {
  if (deed === null || !event.isTrusted || deed.lease <= 0 || deed.guard === "") return;
  const isKey = event instanceof KeyboardEvent || event instanceof InputEvent;
  if (isKey !== (deed.guard === "keys")) return;
  const hit = isKey ? deepActive() : trueTarget(event);
  if (event.type === "mouseup") deed.ups++;
  // Once it was let in, what the page makes of it is the page's own business.
  const isSame = () => deed.hits > 0 || isStill(deed.el, deed.words);
  if (deed.guard !== "beside" && hit !== null && isLetThrough(hit, event) && isSame()) {
    if (COUNTED.test(event.type)) deed.hits++;
    if (event.type === "mousedown") deed.presses++;
    if (event.type === "click") deed.clicks++;
    renewLease();
    return;
  }
  preventDefault.call(event);
  stopImmediately.call(event);
  // What follows a press that was let in is no miss.
  if (deed.missed === "" && deed.hits === 0) {
    deed.missed = deed.guard !== "beside" && hit !== null && isMeant(hit, deed.el) ? "changed" : described(hit);
  }
}

/** Of each press, what says that it has arrived. */
const COUNTED = /^(?:mousedown|click|keydown|beforeinput)$/;

/** What an event is about; inside closed shadow trees that is not told. */
function trueTarget(event) {
  let hit = composedPathOf.call(event)[0];
  if (!(hit instanceof Element)) return null;
  // Inside of a closed tree, open ones are not told either.
  for (let shadow = closedCount > 0 ? closedRoots.get(hit) || null : null; shadow !== null; shadow = shadowOf(hit)) {
    const inner = pointInShadow.call(shadow, event.clientX, event.clientY);
    if (inner === null || inner === hit) break;
    hit = inner;
  }
  return hit;
}

function isLetThrough(hit, event) {
  const { el, on } = deed;
  if (isMeant(hit, el) || isMeant(hit, on)) return true;
  // Typing moves on where the page moves the focus on, as from one digit of a code to the next.
  if (deed.guard === "keys" && deed.hits > 0) return true;
  // The release belongs to the press. The click that may come of both must be the element's again.
  if (deed.hits > 0 && /^(?:pointerup|mouseup)$/.test(event.type)) return true;
  // A click in a label is followed by one on the labelled control.
  const control = activatedControl(on) || activatedControl(el);
  if (event.type !== "click" || control === null) return false;
  // In a closed shadow tree its target is not told, and its focus may have scrolled it away from under the mouse.
  return hit === control || deed.clicks > 0 && isInside(control, composedPathOf.call(event)[0]);
}

/** `document.open()` takes all listeners away: they are put up again before anything is done. */
function putUp() {
  for (const name of [...HANDS, ...KEYS]) addEventListener(name, keepOff, { capture: true, passive: false });
}
putUp();
