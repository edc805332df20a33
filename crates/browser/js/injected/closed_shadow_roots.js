// Candidates for closed shadow roots, about which the browser is asked from outside.

/**
 * Elements that may keep a shadow root to themselves, those first of which it is longest ago that the browser was asked.
 * No script is told of such a root, nor when it comes, so they are asked about whenever somebody looks.
 */
const possibleShadowHosts = new Set();
/** Those that were asked about at least once, and in this look. */
const askedOnce = new WeakSet();
let askedNow = new WeakSet();
/** How many are asked about again in one look, unless it is to be a fresh one: each takes the browser about 50 µs. */
const MAX_REPEATED_HOSTS = 100;

/** Whether an element can have a shadow root that we were not told of, and nothing in it speaks against it. */
function canHostShadow(el, tag) {
  return tag.includes("-") || SHADOW_HOST_TAGS.has(tag) && elementCountOf.call(el) === 0 && textContentOf.call(el) === "";
}

/**
 * Whom to ask the browser about next. `isFirst` says that a look has just begun, `withHolders` that the elements that hold
 * frames are wanted too, after the others.
 */
function nextShadowHosts(isFirst, withHolders) {
  if (isFirst) askedNow = new WeakSet();
  const maxRepeated = options.since > 0 ? MAX_REPEATED_HOSTS : Infinity;
  const asked = [];
  let again = 0;
  for (const el of possibleShadowHosts) {
    if (!isConnectedOf.call(el) || closedRoots.has(el) || !canHostShadow(el, localNameOf.call(el))) possibleShadowHosts.delete(el);
    else if (!askedNow.has(el) && (!askedOnce.has(el) || ++again <= maxRepeated)) asked.push(el);
  }
  for (const el of asked) {
    askedOnce.add(el);
    askedNow.add(el);
    possibleShadowHosts.delete(el);
    possibleShadowHosts.add(el);
  }
  return withHolders ? asked.concat(frameElements.map((id) => elementOf(parseInt(id)))) : asked;
}
