// Elements with click listeners, as reported by the browser: a script in an isolated world cannot list them itself.

/** Levels from an icon up to the element with the click listener. */
const ICON_LEVELS = 4;

/** Returns whether an icon is the only content of an element with a click listener. */
function isClickableIcon(el) {
  if (listenerTargetCount === 0) return false;
  let at = el;
  for (let level = 0; level < ICON_LEVELS && at !== null && nodeTypeOf.call(at) === 1; level++, at = parentOf(at)) {
    if (listenerTargets.has(at)) return textContentOf.call(at).trim() === "";
  }
  return false;
}

/** Elements with click listeners, supplied from outside. */
const listenerTargets = new WeakSet();
let listenerTargetCount = 0;
/** A listener became known after the last walk, and would have changed its report. */
let hasMissedListener = false;

/** Most elements in a box that is there for its icon. */
const MAX_ICON_ELEMENTS = 12;

/** Returns whether an element is an SVG `use`, or a small box around one: its title names a click target. */
const wrapsIcon = (el) => findInside.call(el, "use") !== null && findAllInside.call(el, "*").length <= MAX_ICON_ELEMENTS;

/** Returns whether the role or name of an element depends on having a click listener. */
function dependsOnListener(el) {
  const tag = localNameOf.call(el);
  return tag === "tbody" || tag === "a" && !hasAttribute.call(el, "href") || wrapsIcon(el);
}

/**
 * Registers elements with click listeners and returns their ids, after `!,` when the last walk would have reported one
 * of them otherwise: the next walk will. `checkAndArm` may register one between two observations, and the next
 * observation has to know all the same.
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
