// Elements with click listeners, as reported by the browser: a script in an isolated world cannot list them itself.

/** How far around a drawing the box is whose clicks a script listens to. */
const ICON_LEVELS = 4;

/** Whether a drawing is all that tells what a box is for whose clicks a script listens to. */
function isListenedIcon(el) {
  if (hearingCount === 0) return false;
  let at = el;
  for (let level = 0; level < ICON_LEVELS && at !== null && nodeTypeOf.call(at) === 1; level++, at = parentOf(at)) {
    if (hearing.has(at)) return textContentOf.call(at).trim() === "";
  }
  return false;
}

/** Elements whose clicks a script listens to, as told from outside. */
const hearing = new WeakSet();
let hearingCount = 0;
/** One of them came to be known after the last walk, and would have been told of otherwise in it. */
let isHearingMissed = false;

/** The most elements in a box that is there for its icon. */
const MOST_IN_ICON = 12;

/** Whether an element is a drawing taken from elsewhere, or a small box around one: that names it when it is listened to. */
const isAroundIcon = (el) => findInside.call(el, "use") !== null && findAllInside.call(el, "*").length <= MOST_IN_ICON;

/** Whether an element is something else when somebody listens to it. */
function isMadeByHearing(el) {
  const tag = localNameOf.call(el);
  return tag === "tbody" || tag === "a" && !hasAttribute.call(el, "href") || isAroundIcon(el);
}

/**
 * Takes in elements whose clicks a script listens to, and tells their numbers. A mark at the beginning says that one was
 * not told of by the last walk, because nothing else speaks for it: the next walk will. Who got ready to look may have
 * brought it in between, and who looks has to know all the same.
 */
function hears(nodes) {
  const given = nodes.map(numberOf);
  nodes.forEach((node, at) => {
    if (hearing.has(node) || nodeTypeOf.call(node) !== 1) return;
    hearing.add(node);
    hearingCount++;
    if (elementOf(given[at]) !== null && !isMadeByHearing(node) || !isShown.call(node)) return;
    isHearingMissed = true;
    if (isAroundIcon(node)) noteDeepChange(node);
    else noteChange(node);
  });
  return (isHearingMissed ? "!," : "") + given.join();
}
