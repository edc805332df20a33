// Candidate hosts of closed shadow roots, about which Rust asks the browser.

/**
 * Possible shadow hosts, least recently asked about first. No script can see a closed root, nor when it is attached, so
 * they are asked about at every observation.
 */
const possibleShadowHosts = new Set();
/** Hosts that were asked about at least once, and in this observation. */
const askedOnce = new WeakSet();
let askedNow = new WeakSet();
/** Hosts asked about again in one observation, unless it is a fresh one: each takes the browser about 50 µs. */
const MAX_REPEATED_HOSTS = 100;

/**
 * Returns whether an element can have a shadow root unknown to us: a custom element, or an empty element of a kind that
 * takes one.
 */
function canHostShadow(el, tag) {
  return tag.includes("-") || SHADOW_HOST_TAGS.has(tag) && elementCountOf.call(el) === 0 && textContentOf.call(el) === "";
}

/**
 * Hosts to ask the browser about next. `isFirst`: an observation has just begun. `withHolders`: append the elements
 * that hold frames.
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
