// What is left of the last walk. A part of the page in which nothing has happened is not walked again: its lines are
// taken as they are. That is safe for what can only be changed by a change of the tree, and the tree says when it
// changes. Everything else is restless and walked each time: what scripts can set without a trace (values, checks,
// popovers), what refers to other parts of the page, what moves. What depends on where boxes are is taken for a few
// seconds: to ask for it, the browser would have to lay out the page again after each change.

/** Whether this walk takes and makes blocks: the lines of a part of the page, kept with its element like its number. */
let isCaching = false;
const CACHED_SUBTREE = Symbol();
/** Blocks of another era are good no more. */
let cacheEpoch = 0;
/** Whether something in the part that is being walked can change without a change of the tree. */
let isUncacheable = false;
/** When the oldest answer about boxes in that part was got; infinite when none was needed. */
let layoutReadAt = Infinity;
/** How long such an answer is good for, and when boxes were last seen to move. */
const LAYOUT_CACHE_MS = 5000;
let lastLayoutShift = 0;
/** The time of this walk. */
let walkedAt = 0;

/** Says that what is told depends on where boxes are. */
const markLayoutRead = () => { if (walkedAt < layoutReadAt) layoutReadAt = walkedAt; };
/** How much was put into blocks: a line or an element can be in as many as it is deep. */
let cachedSize = 0;

/** Elements that something changed in, and those below which nothing is taken as it was. */
let changedElements = new Set();
let changedSubtrees = new Set();
let changedDepth = 0;
/** Nothing can be taken as it was. */
let isAllChanged = true;
/** How many changes were taken in since the last walk. */
let mutationCount = 0;
/** Whether a rule asks for elements without content, and a selector of all whom a change beside them can matter to. */
let usesEmpty = false, siblingSelector = "*";
/** Elements whose children were seen to since the last walk. */
let changedParents = new Set();

/** What the last walk went by, and the shadow trees that what is left of earlier ones has in it. */
let lastWalk = null;
let previousShadowRoots = [];

/** The most lines or elements in a block. */
const MAX_CACHED_LINES = 3000;
/**
 * On a page with so many elements only larger parts are worth a block: what is left of a first walk costs the browser more than
 * walking a few lines again. What is walked again is so each time, and all of it is worth one.
 */
const LARGE_PAGE = 10000, MIN_LINES_ON_LARGE_PAGE = 60;
let isRewalk = false;
/** How much of `reportLines` is in a block, each entry counted once. */
let cachedLines = 0;

/** Whether a part with so many lines that are in no smaller block yet is worth a block. */
const isWorthCaching = (loose) => isRewalk || reportedElements.length <= LARGE_PAGE || loose >= MIN_LINES_ON_LARGE_PAGE;

/** Lines of a block in one piece. Apart, each would be something for the browser to keep and to clean up. */
class LineBundle {
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
const MIN_BUNDLE_LINES = 60;
/** How many pieces this walk has told so far: none is put into another, so that little has to be taken apart again. */
let bundleCount = 0;

const UNCACHEABLE_TAGS = new Set((
  "input textarea select label iframe frame object embed fencedframe video audio progress meter area map slot").split(" "));
/** Attributes that make an element depend on others. */
const REFERENCE_ATTRIBUTES = new Set((
  "aria-labelledby aria-describedby aria-owns aria-activedescendant aria-details aria-errormessage aria-controls usemap").split(" "));

/** What rules can ask of the window: the event that tells of a change comes only when the browser draws next. */
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const viewportKey = () => `${innerWidth} ${innerHeight} ${devicePixelRatio} ${prefersDark.matches}`;

/** What is chosen; to ask the whole document for that would take longer. */
const checkedControls = () => ["input", "option"].flatMap((tag) =>
  Array.prototype.filter.call(byTag.call(document, tag), (el) => matches.call(el, ":checked")));

/** The same in shadow trees. */
const checkedInShadows = (trees) => trees.flatMap((tree) => [...findAllInFragment.call(tree, "input:checked, option:checked")]);

const isSameList = (one, other) => one.length === other.length && one.every((it, at) => it === other[at]);

/** What is known of the rules in shadow trees. */
const sheetsInShadows = (trees) => trees.flatMap((tree) => [...tree.styleSheets, ...tree.adoptedStyleSheets].map(readSheet));

/** Decides what of the last walk can be taken. `isOwning` says that somebody has children that stand elsewhere. */
function beginCaching(active, modal, hasAriaOwns) {
  isCaching = false;
  isUncacheable = false;
  layoutReadAt = Infinity;
  walkedAt = performance.now();
  changedDepth = 0;
  cachedSize = cachedLines = bundleCount = 0;
  if (!options.watch || options.boxes) return;
  recordMutations(changeObserver.takeRecords());
  const { firewall: hasFirewall, hidden, urls, full } = options;
  const walk = { sheets: memo.sheets, tellsUrls: urls, checked: checkedControls(),
    conditions: [active, modal, hasFirewall, hidden, urls, full, viewportKey()] };
  const canReuse = lastWalk !== null && !isAllChanged && options.since === lastReportId && !memo.rules.dependsOnDescendants &&
    !lastWalk.dependsOnDescendants && !hasAriaOwns && isSameList(walk.conditions, lastWalk.conditions) &&
    isSameList(walk.sheets, lastWalk.sheets) && isSameList(walk.checked, lastWalk.checked) &&
    isSameList(sheetsInShadows(lastWalk.shadowRoots), lastWalk.sheetsInShadows) &&
    isSameList(checkedInShadows(lastWalk.shadowRoots), lastWalk.checkedInShadows);
  previousShadowRoots = canReuse ? lastWalk.shadowRoots : [];
  isRewalk = canReuse && lastReportId > 0;
  lastWalk = walk;
  if (!canReuse) cacheEpoch++;
  isCaching = true;
  if (memo.animated !== null) for (const el of memo.animated) markChanged(el);
}

/** `isCut` says that the walk ended early: what it did not come to is still as it was, with what changed there. */
function endCaching(isWhole, isPartial) {
  if (!isCaching) return;
  // Shadow trees have brought theirs by now.
  ({ usesEmpty } = memo.rules);
  lastWalk.shadowRoots = isPartial ? [...new Set([...previousShadowRoots, ...memo.shadowRoots])] : [...memo.shadowRoots];
  lastWalk.sheetsInShadows = sheetsInShadows(lastWalk.shadowRoots);
  lastWalk.checkedInShadows = checkedInShadows(lastWalk.shadowRoots);
  lastWalk.dependsOnDescendants = memo.rules.dependsOnDescendants;
  siblingSelector = memo.rules.siblingSelectors.has("*") ? "*" : [...memo.rules.siblingSelectors].join();
  isCaching = false;
  isAllChanged = false;
  if (!isWhole) lastWalk = null;
  if (isPartial) return;
  changedParents = new Set();
  changedElements = new Set();
  changedSubtrees = new Set();
  mutationCount = 0;
}

const isSameVisibility = (one, other) => one === other ||
  one.hiddenReason === other.hiddenReason && one.needsGeometry === other.needsGeometry && one.opacity === other.opacity && one.hasSmallFont === other.hasSmallFont &&
  one.color === other.color && one.background === other.background;

/** Whether a part of the page is as it was, and would be told in the same way. */
function isCacheValid(block, el, depth, inherited) {
  const previous = block.inherited;
  return block.epoch === cacheEpoch && changedDepth === 0 && (block.layoutReadAt > walkedAt || block.layoutReadAt > lastLayoutShift && walkedAt - block.layoutReadAt < LAYOUT_CACHE_MS) &&
    block.depth === depth && block.idBefore === previousId && !changedElements.has(el) &&
    (previous === inherited || previous.isDisabled === inherited.isDisabled && previous.cursor === inherited.cursor && previous.transform === inherited.transform &&
      previous.isVisible === inherited.isVisible && previous.isFlexible === inherited.isFlexible && isSameVisibility(previous.visibility, inherited.visibility));
}

function reuseSubtree({ lines, elements, elementIds, droppedInside, idAfter, layoutReadAt: readAt }) {
  if (readAt < layoutReadAt) layoutReadAt = readAt;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    if (typeof line !== "string") bundleCount++;
    reportLines.push(line);
  }
  for (let at = 0; at < elements.length; at++) {
    reportedElements.push(elements[at]);
    reportedIds.push(elementIds[at]);
  }
  cachedLines += lines.length;
  droppedTexts += droppedInside;
  previousId = idAfter;
}

function beginSubtree(depth, inherited) {
  const block = { depth, inherited, line: reportLines.length, element: reportedElements.length, dropped: droppedTexts, previousId: previousId, cachedLines, bundleCount,
    isUncacheable, layoutReadAt };
  isUncacheable = false;
  layoutReadAt = Infinity;
  return block;
}

function endSubtree(el, { depth, inherited, line, element, dropped: droppedBefore, previousId: previousIdBefore, cachedLines: cachedLinesBefore,
  bundleCount: bundlesBefore, isUncacheable: wasUncacheable, layoutReadAt: readAt }) {
  const count = reportLines.length - line, size = Math.max(count, reportedElements.length - element);
  const fits = isWorthCaching(count - (cachedLines - cachedLinesBefore)) && size <= MAX_CACHED_LINES && cachedSize < reportedElements.length * 16;
  if (fits && !isUncacheable) {
    cachedSize += size;
    let lines = reportLines.slice(line);
    if (count >= MIN_BUNDLE_LINES && bundleCount === bundlesBefore) {
      lines = [new LineBundle(lines)];
      reportLines.length = line;
      reportLines.push(lines[0]);
      bundleCount++;
    }
    cachedLines = cachedLinesBefore + lines.length;
    el[CACHED_SUBTREE] = { epoch: cacheEpoch, depth, inherited, idBefore: previousIdBefore, idAfter: previousId, lines,
      elements: reportedElements.slice(element), elementIds: reportedIds.slice(element), droppedInside: droppedTexts - droppedBefore,
      layoutReadAt };
  } else if (el[CACHED_SUBTREE] !== undefined) el[CACHED_SUBTREE] = undefined;
  isUncacheable ||= wasUncacheable;
  if (readAt < layoutReadAt) layoutReadAt = readAt;
}

/** Notes that something happened in an element. What was kept of it is let go: it may hold what is gone by now. */
function markChanged(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1 && !changedElements.has(at); at = flatParentOf(at)) {
    changedElements.add(at);
    if (at[CACHED_SUBTREE] !== undefined) at[CACHED_SUBTREE] = undefined;
  }
}

/** Notes that anything below an element may be told differently now. */
function markSubtreeChanged(el) {
  if (el === null || nodeTypeOf.call(el) !== 1) return void (isAllChanged = true);
  // Whether cells are cells depends on all of their table.
  const table = closest.call(el, "table");
  const from = table === null ? el : parentOf(table) || table;
  markChanged(from);
  changedSubtrees.add(from);
}

/** What is in these in which way depends on all of it. */
const INTERDEPENDENT_TAGS = new Set("details fieldset figure ruby svg math table tbody thead tfoot tr colgroup select optgroup datalist".split(" "));

/** Notes that children of an element came, went or became others: that can matter to the rest of them. */
function markChildrenChanged(el) {
  if (changedParents.has(el)) return;
  changedParents.add(el);
  if (siblingSelector === "*" || INTERDEPENDENT_TAGS.has(localNameOf.call(el)) || anyShadowRootOf(el) !== null) return markSubtreeChanged(el);
  markChanged(el);
  if (siblingSelector !== "") for (const child of findAllInside.call(el, `:scope > :is(${siblingSelector})`)) markSubtreeChanged(child);
}

/** Notes that an element may be drawn or told differently, with all that is in it. */
function markElementChanged(el) {
  const parent = parentOf(el);
  if (parent === null || nodeTypeOf.call(parent) !== 1) return markSubtreeChanged(parent);
  markSubtreeChanged(el);
  markChildrenChanged(parent);
}

/** After so many changes a whole walk is no slower. */
const MAX_MUTATIONS = 3000;

/** Nodes that come and go without moving anything: texts, comments, scripts. Sheets are looked at anyway. */
const isUnrendered = (node) => nodeTypeOf.call(node) !== 1 || SKIPPED_TAGS.has(localNameOf.call(node));

/** Whether an element only says what the document is called. */
const isTitleElement = (el) => nodeTypeOf.call(el) === 1 && localNameOf.call(el) === "title" && namespaceOf.call(el) === HTML;

/**
 * Takes in what has happened in the tree. A rule can be about what is in a changed element, and about those beside it
 * and what is in them; no farther, unless it looks inside, see above.
 */
function recordMutations(records) {
  mutationCount += records.length;
  if (mutationCount > MAX_MUTATIONS) isAllChanged = true;
  for (let at = 0; at < records.length && !isAllChanged; at++) {
    const { type, target, addedNodes, removedNodes } = records[at];
    const el = nodeTypeOf.call(target) === 1 ? target : parentOf(target);
    // The title is read each time, and nothing else depends on it.
    if (el !== null && type !== "attributes" && isTitleElement(el)) continue;
    if (el === null || nodeTypeOf.call(el) !== 1 || SKIPPED_TAGS.has(localNameOf.call(el))) isAllChanged = true;
    else if (type === "attributes") markElementChanged(el);
    else {
      if (type === "characterData" || [...addedNodes, ...removedNodes].every(isUnrendered)) markChanged(el);
      else markChildrenChanged(el);
      if (usesEmpty) markElementChanged(el);
    }
  }
}
