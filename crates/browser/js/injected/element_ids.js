// Element ids: numbers by which Rust refers to elements of this world.

/**
 * Symbol property for the id of an element. It lives on the wrapper of this world, invisible to other worlds. A
 * `WeakMap` would do the same, but takes a third of the time of a first walk.
 */
const ELEMENT_ID = Symbol();
let lastId = 0;
const idOf = (el) => el[ELEMENT_ID] ??= ++lastId;
/** Elements of the last observation and their ids. */
let reportedElements = [], reportedIds = [];
let elementsById = null;

/** Element with an id, if it was in the last observation or was assigned one since. */
function elementOf(id) {
  if (elementsById === null) elementsById = new Map(reportedIds.map((id, at) => [id, reportedElements[at]]));
  return elementsById.get(id) || null;
}

/** Assigns ids to elements that may not be part of an observation, so that `elementOf` finds them. */
function assignIds(found) {
  const ids = found.map(idOf);
  elementOf(0);
  ids.forEach((id, at) => elementsById.set(id, found[at]));
  return ids;
}
