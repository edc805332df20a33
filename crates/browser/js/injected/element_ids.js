// Ids of elements: numbers by which the outside refers to the elements of this world.

/**
 * Where an element's number is kept: with the element as this world has it, which no other world can see. A map that holds
 * its keys weakly would do the same, at a third of the time of a first walk.
 */
const NUMBER = Symbol();
let lastNumber = 0;
const numberOf = (el) => el[NUMBER] ??= ++lastNumber;
/** The elements of the last observation and their numbers. */
let seen = [], seenNumbers = [];
let byNumber = null;

/** The element with a number, if it was in the last observation. */
function elementOf(number) {
  if (byNumber === null) byNumber = new Map(seenNumbers.map((number, at) => [number, seen[at]]));
  return byNumber.get(number) || null;
}

/** Numbers for elements that may not have been part of an observation, so that they can be asked for. */
function remember(found) {
  const given = found.map(numberOf);
  elementOf(0);
  given.forEach((number, at) => byNumber.set(number, found[at]));
  return given;
}
