// Elements with click listeners, as reported by the browser: a script in an isolated world cannot list them itself.

/** How far around a drawing the box is whose clicks a script listens to. */
const ICON_LEVELS = 4;

/** Whether a drawing is all that tells what a box is for whose clicks a script listens to. */
function isClickableIcon(el) {
  if (listenerTargetCount === 0) return false;
  let at = el;
  for (let level = 0; level < ICON_LEVELS && at !== null && nodeTypeOf.call(at) === 1; level++, at = parentOf(at)) {
    if (listenerTargets.has(at)) return textContentOf.call(at).trim() === "";
  }
  return false;
}

/** Elements whose clicks a script listens to, as told from outside. */
const listenerTargets = new WeakSet();
let listenerTargetCount = 0;
/** One of them came to be known after the last walk, and would have been told of otherwise in it. */
let hasMissedListener = false;

/** The most elements in a box that is there for its icon. */
const MAX_ICON_ELEMENTS = 12;

/** Whether an element is a drawing taken from elsewhere, or a small box around one: that names it when it is listened to. */
const wrapsIcon = (el) => findInside.call(el, "use") !== null && findAllInside.call(el, "*").length <= MAX_ICON_ELEMENTS;

/** Whether an element is something else when somebody listens to it. */
function dependsOnListener(el) {
  const tag = localNameOf.call(el);
  return tag === "tbody" || tag === "a" && !hasAttribute.call(el, "href") || wrapsIcon(el);
}

/**
 * Takes in elements whose clicks a script listens to, and tells their numbers. A mark at the beginning says that one was
 * not told of by the last walk, because nothing else speaks for it: the next walk will. Who got ready to look may have
 * brought it in between, and who looks has to know all the same.
 */
function addListenerTargets(nodes) {
  const ids = nodes.map(idOf);
  nodes.forEach((node, at) => {
    if (listenerTargets.has(node) || nodeTypeOf.call(node) !== 1) return;
    listenerTargets.add(node);
    listenerTargetCount++;
    if (elementOf(ids[at]) !== null && !dependsOnListener(node) || !checkVisibility.call(node)) return;
    hasMissedListener = true;
    if (wrapsIcon(node)) markSubtreeChanged(node);
    else markChanged(node);
  });
  return (hasMissedListener ? "!," : "") + ids.join();
}
