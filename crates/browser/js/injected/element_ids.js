// Ids of elements: numbers by which the outside refers to the elements of this world.

/**
 * Where an element's number is kept: with the element as this world has it, which no other world can see. A map that holds
 * its keys weakly would do the same, at a third of the time of a first walk.
 */
const ELEMENT_ID = Symbol();
let lastId = 0;
const idOf = (el) => el[ELEMENT_ID] ??= ++lastId;
/** The elements of the last observation and their numbers. */
let reportedElements = [], reportedIds = [];
let elementsById = null;

/** The element with a number, if it was in the last observation. */
function elementOf(id) {
  if (elementsById === null) elementsById = new Map(reportedIds.map((id, at) => [id, reportedElements[at]]));
  return elementsById.get(id) || null;
}

/** Numbers for elements that may not have been part of an observation, so that they can be asked for. */
function assignIds(found) {
  const ids = found.map(idOf);
  elementOf(0);
  ids.forEach((id, at) => elementsById.set(id, found[at]));
  return ids;
}
