// What is left of the last walk. A part of the page in which nothing has happened is not walked again: its lines are
// taken as they are. That is safe for what can only be changed by a change of the tree, and the tree says when it
// changes. Everything else is restless and walked each time: what scripts can set without a trace (values, checks,
// popovers), what refers to other parts of the page, what moves. What depends on where boxes are is taken for a few
// seconds: to ask for it, the browser would have to lay out the page again after each change.

/** Whether this walk takes and makes blocks: the lines of a part of the page, kept with its element like its number. */
let isKeeping = false;
const BLOCK = Symbol();
/** Blocks of another era are good no more. */
let era = 0;
/** Whether something in the part that is being walked can change without a change of the tree. */
let isRestless = false;
/** When the oldest answer about boxes in that part was got; infinite when none was needed. */
let laidOutAt = Infinity;
/** How long such an answer is good for, and when boxes were last seen to move. */
const LAYOUT_MS = 5000;
let lastShift = 0;
/** The time of this walk. */
let walkedAt = 0;

/** Says that what is told depends on where boxes are. */
const asksLayout = () => { if (walkedAt < laidOutAt) laidOutAt = walkedAt; };
/** How much was put into blocks: a line or an element can be in as many as it is deep. */
let keptSize = 0;

/** Elements that something changed in, and those below which nothing is taken as it was. */
let changes = new Set();
let deepChanges = new Set();
let deepLevel = 0;
/** Nothing can be taken as it was. */
let isAllChanged = true;
/** How many changes were taken in since the last walk. */
let heeded = 0;
/** Whether a rule asks for elements without content, and a selector of all whom a change beside them can matter to. */
let seesEmpty = false, neighbourly = "*";
/** Elements whose children were seen to since the last walk. */
let seenTo = new Set();

/** What the last walk went by, and the shadow trees that what is left of earlier ones has in it. */
let lastWalk = null;
let treesBefore = [];

/** The most lines or elements in a block. */
const MOST_IN_BLOCK = 3000;
/**
 * On a page with so many elements only larger parts are worth a block: what is left of a first walk costs the browser more than
 * walking a few lines again. What is walked again is so each time, and all of it is worth one.
 */
const VAST = 10000, LEAST_LINES_OF_VAST = 60;
let isAgain = false;
/** How much of `out` is in a block, each entry counted once. */
let covered = 0;

/** Whether a part with so many lines that are in no smaller block yet is worth a block. */
const isWorthIt = (loose) => isAgain || seen.length <= VAST || loose >= LEAST_LINES_OF_VAST;

/** Lines of a block in one piece. Apart, each would be something for the browser to keep and to clean up. */
class Bundle {
  constructor(lines) {
    this.text = lines.join("\n");
    this.count = lines.length;
  }

  get length() {
    return this.text.length;
  }

  toString() {
    return this.text;
  }
}

/** So many lines are put in one piece. */
const LEAST_IN_BUNDLE = 60;
/** How many pieces this walk has told so far: none is put into another, so that little has to be taken apart again. */
let bundles = 0;

const RESTLESS = new Set((
  "input textarea select label iframe frame object embed fencedframe video audio progress meter area map slot").split(" "));
/** Attributes that make an element depend on others. */
const REFERRING = new Set((
  "aria-labelledby aria-describedby aria-owns aria-activedescendant aria-details aria-errormessage aria-controls usemap").split(" "));

/** What rules can ask of the window: the event that tells of a change comes only when the browser draws next. */
const darkness = matchMedia("(prefers-color-scheme: dark)");
const viewNow = () => `${innerWidth} ${innerHeight} ${devicePixelRatio} ${darkness.matches}`;

/** What is chosen; to ask the whole document for that would take longer. */
const checkedNow = () => ["input", "option"].flatMap((tag) =>
  Array.prototype.filter.call(byTag.call(document, tag), (el) => matches.call(el, ":checked")));

/** The same in shadow trees. */
const checkedInside = (trees) => trees.flatMap((tree) => [...findAllInFragment.call(tree, "input:checked, option:checked")]);

const isSameList = (one, other) => one.length === other.length && one.every((it, at) => it === other[at]);

/** What is known of the rules in shadow trees. */
const sheetsInside = (trees) => trees.flatMap((tree) => [...tree.styleSheets, ...tree.adoptedStyleSheets].map(readSheet));

/** Decides what of the last walk can be taken. `isOwning` says that somebody has children that stand elsewhere. */
function beginBlocks(active, modal, isOwning) {
  isKeeping = false;
  isRestless = false;
  laidOutAt = Infinity;
  walkedAt = performance.now();
  deepLevel = 0;
  keptSize = covered = bundles = 0;
  if (!options.watch || options.boxes) return;
  heed(watcher.takeRecords());
  const { firewall: isWary, hidden, urls, full } = options;
  const walk = { sheets: memo.sheets, tellsUrls: urls, checked: checkedNow(),
    terms: [active, modal, isWary, hidden, urls, full, viewNow()] };
  const canTake = lastWalk !== null && !isAllChanged && options.since === lastReport && !memo.rules.looksInside &&
    !lastWalk.looksInside && !isOwning && isSameList(walk.terms, lastWalk.terms) &&
    isSameList(walk.sheets, lastWalk.sheets) && isSameList(walk.checked, lastWalk.checked) &&
    isSameList(sheetsInside(lastWalk.trees), lastWalk.sheetsInside) &&
    isSameList(checkedInside(lastWalk.trees), lastWalk.checkedInside);
  treesBefore = canTake ? lastWalk.trees : [];
  isAgain = canTake && lastReport > 0;
  lastWalk = walk;
  if (!canTake) era++;
  isKeeping = true;
  if (memo.moving !== null) for (const el of memo.moving) noteChange(el);
}

/** `isCut` says that the walk ended early: what it did not come to is still as it was, with what changed there. */
function endBlocks(isWhole, isCut) {
  if (!isKeeping) return;
  // Shadow trees have brought theirs by now.
  ({ seesEmpty } = memo.rules);
  lastWalk.trees = isCut ? [...new Set([...treesBefore, ...memo.read])] : [...memo.read];
  lastWalk.sheetsInside = sheetsInside(lastWalk.trees);
  lastWalk.checkedInside = checkedInside(lastWalk.trees);
  lastWalk.looksInside = memo.rules.looksInside;
  neighbourly = memo.rules.neighbours.has("*") ? "*" : [...memo.rules.neighbours].join();
  isKeeping = false;
  isAllChanged = false;
  if (!isWhole) lastWalk = null;
  if (isCut) return;
  seenTo = new Set();
  changes = new Set();
  deepChanges = new Set();
  heeded = 0;
}

const isSameSight = (one, other) => one === other ||
  one.lost === other.lost && one.doubt === other.doubt && one.fade === other.fade && one.tiny === other.tiny &&
  one.color === other.color && one.ground === other.ground;

/** Whether a part of the page is as it was, and would be told in the same way. */
function isAsBefore(block, el, depth, around) {
  const was = block.around;
  return block.era === era && deepLevel === 0 && (block.laidOutAt > walkedAt || block.laidOutAt > lastShift && walkedAt - block.laidOutAt < LAYOUT_MS) &&
    block.depth === depth && block.numberBefore === previousNumber && !changes.has(el) &&
    (was === around || was.isOff === around.isOff && was.cursor === around.cursor && was.transform === around.transform &&
      was.isVisible === around.isVisible && was.isFlexible === around.isFlexible && isSameSight(was.sight, around.sight));
}

function takeBlock({ lines, elements, elementNumbers, droppedInside, numberAfter, laidOutAt: laidOut }) {
  if (laidOut < laidOutAt) laidOutAt = laidOut;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    if (typeof line !== "string") bundles++;
    out.push(line);
  }
  for (let at = 0; at < elements.length; at++) {
    seen.push(elements[at]);
    seenNumbers.push(elementNumbers[at]);
  }
  covered += lines.length;
  dropped += droppedInside;
  previousNumber = numberAfter;
}

function beginBlock(depth, around) {
  const block = { depth, around, line: out.length, element: seen.length, dropped, number: previousNumber, covered, bundles,
    isRestless, laidOutAt };
  isRestless = false;
  laidOutAt = Infinity;
  return block;
}

function endBlock(el, { depth, around, line, element, dropped: droppedBefore, number, covered: coveredBefore,
  bundles: bundlesBefore, isRestless: wasRestless, laidOutAt: laidOut }) {
  const count = out.length - line, size = Math.max(count, seen.length - element);
  const fits = isWorthIt(count - (covered - coveredBefore)) && size <= MOST_IN_BLOCK && keptSize < seen.length * 16;
  if (fits && !isRestless) {
    keptSize += size;
    let lines = out.slice(line);
    if (count >= LEAST_IN_BUNDLE && bundles === bundlesBefore) {
      lines = [new Bundle(lines)];
      out.length = line;
      out.push(lines[0]);
      bundles++;
    }
    covered = coveredBefore + lines.length;
    el[BLOCK] = { era, depth, around, numberBefore: number, numberAfter: previousNumber, lines,
      elements: seen.slice(element), elementNumbers: seenNumbers.slice(element), droppedInside: dropped - droppedBefore,
      laidOutAt };
  } else if (el[BLOCK] !== undefined) el[BLOCK] = undefined;
  isRestless ||= wasRestless;
  if (laidOut < laidOutAt) laidOutAt = laidOut;
}

/** Notes that something happened in an element. What was kept of it is let go: it may hold what is gone by now. */
function noteChange(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1 && !changes.has(at); at = flatParentOf(at)) {
    changes.add(at);
    if (at[BLOCK] !== undefined) at[BLOCK] = undefined;
  }
}

/** Notes that anything below an element may be told differently now. */
function noteDeepChange(el) {
  if (el === null || nodeTypeOf.call(el) !== 1) return void (isAllChanged = true);
  // Whether cells are cells depends on all of their table.
  const table = closest.call(el, "table");
  const from = table === null ? el : parentOf(table) || table;
  noteChange(from);
  deepChanges.add(from);
}

/** What is in these in which way depends on all of it. */
const ENTANGLED = new Set("details fieldset figure ruby svg math table tbody thead tfoot tr colgroup select optgroup datalist".split(" "));

/** Notes that children of an element came, went or became others: that can matter to the rest of them. */
function noteChildren(el) {
  if (seenTo.has(el)) return;
  seenTo.add(el);
  if (neighbourly === "*" || ENTANGLED.has(localNameOf.call(el)) || shadowOf(el) !== null) return noteDeepChange(el);
  noteChange(el);
  if (neighbourly !== "") for (const child of findAllInside.call(el, `:scope > :is(${neighbourly})`)) noteDeepChange(child);
}

/** Notes that an element may be drawn or told differently, with all that is in it. */
function noteElement(el) {
  const parent = parentOf(el);
  if (parent === null || nodeTypeOf.call(parent) !== 1) return noteDeepChange(parent);
  noteDeepChange(el);
  noteChildren(parent);
}

/** After so many changes a whole walk is no slower. */
const MOST_CHANGES = 3000;

/** Nodes that come and go without moving anything: texts, comments, scripts. Sheets are looked at anyway. */
const isLight = (node) => nodeTypeOf.call(node) !== 1 || SILENT.has(localNameOf.call(node));

/** Whether an element only says what the document is called. */
const isTitle = (el) => nodeTypeOf.call(el) === 1 && localNameOf.call(el) === "title" && namespaceOf.call(el) === HTML;

/**
 * Takes in what has happened in the tree. A rule can be about what is in a changed element, and about those beside it
 * and what is in them; no farther, unless it looks inside, see above.
 */
function heed(records) {
  heeded += records.length;
  if (heeded > MOST_CHANGES) isAllChanged = true;
  for (let at = 0; at < records.length && !isAllChanged; at++) {
    const { type, target, addedNodes, removedNodes } = records[at];
    const el = nodeTypeOf.call(target) === 1 ? target : parentOf(target);
    // The title is read each time, and nothing else depends on it.
    if (el !== null && type !== "attributes" && isTitle(el)) continue;
    if (el === null || nodeTypeOf.call(el) !== 1 || SILENT.has(localNameOf.call(el))) isAllChanged = true;
    else if (type === "attributes") noteElement(el);
    else {
      if (type === "characterData" || [...addedNodes, ...removedNodes].every(isLight)) noteChange(el);
      else noteChildren(el);
      if (seesEmpty) noteElement(el);
    }
  }
}
