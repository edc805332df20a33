// Cache of subtrees across walks. A subtree without changes is not walked again: its report lines are reused. That is
// safe for what only DOM mutations can change, which `MutationObserver` reports. Everything else is uncacheable and
// walked each time: what scripts set without a mutation (values, checkedness, popovers), references to other parts of
// the page, animations. What depends on layout is reused for a few seconds: reading it would force a layout after each
// change.

/** This walk uses the cache. A subtree's lines are stored on its root element, like its id. */
let isCaching = false;
const CACHED_SUBTREE = Symbol();
/** Cached subtrees of an earlier epoch are invalid. */
let cacheEpoch = 0;
/** The subtree being walked can change without a DOM mutation. */
let isUncacheable = false;
/** Time of the oldest layout read in that subtree; infinite without one. */
let layoutReadAt = Infinity;
/** Lifetime of layout reads, and the time of the last layout shift. */
const LAYOUT_CACHE_MS = 5000;
let lastLayoutShift = 0;
/** Time of this walk. */
let walkedAt = 0;

/** Marks the current subtree as dependent on layout. */
const markLayoutRead = () => { if (walkedAt < layoutReadAt) layoutReadAt = walkedAt; };
/** Size of all cached subtrees: a line or element counts once for each cached ancestor. */
let cachedSize = 0;

/** Elements with changes, and those whose whole subtree is invalid. */
let changedElements = new Set();
let changedSubtrees = new Set();
let changedDepth = 0;
/** The whole cache is invalid. */
let isAllChanged = true;
/** Mutation records since the last walk. */
let mutationCount = 0;
/** Rules use `:empty`, and a selector of all elements that a change among their siblings can affect. */
let usesEmpty = false, siblingSelector = "*";
/** Elements whose child list changes were handled since the last walk. */
let changedParents = new Set();

/** Conditions of the last walk, and the shadow roots in cached subtrees of earlier ones. */
let lastWalk = null;
let previousShadowRoots = [];

/** Most lines or elements in a cached subtree. */
const MAX_CACHED_LINES = 3000;
/**
 * On a page with so many elements only larger subtrees are cached in a first walk: storing them costs the browser more
 * than walking a few lines again. A walk after a change caches every subtree.
 */
const LARGE_PAGE = 10000, MIN_LINES_ON_LARGE_PAGE = 60;
let isRewalk = false;
/** Entries of `reportLines` in cached subtrees, each counted once. */
let cachedLines = 0;

/** Returns whether a subtree with so many lines outside smaller cached ones is worth caching. */
const isWorthCaching = (uncachedLines) => isRewalk || reportedElements.length <= LARGE_PAGE || uncachedLines >= MIN_LINES_ON_LARGE_PAGE;

/** Lines of a cached subtree joined to one string: separate ones would each be an object for the garbage collector. */
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

/** Least lines of a bundle. */
const MIN_BUNDLE_LINES = 60;
/** Bundles in this walk so far: they are not nested, so that little has to be split again. */
let bundleCount = 0;

const UNCACHEABLE_TAGS = new Set((
  "input textarea select label iframe frame object embed fencedframe video audio progress meter area map slot").split(" "));
/** Attributes that refer to other elements. */
const REFERENCE_ATTRIBUTES = new Set((
  "aria-labelledby aria-describedby aria-owns aria-activedescendant aria-details aria-errormessage aria-controls usemap").split(" "));

/** Viewport and colour scheme as media queries see them: change events come only with the next frame. */
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const viewportKey = () => `${innerWidth} ${innerHeight} ${devicePixelRatio} ${prefersDark.matches}`;

/** Checked controls of the document; `querySelectorAll(":checked")` would take longer. */
const checkedControls = () => ["input", "option"].flatMap((tag) =>
  Array.prototype.filter.call(byTag.call(document, tag), (el) => matches.call(el, ":checked")));

/** The same in shadow trees. */
const checkedInShadows = (trees) => trees.flatMap((tree) => [...findAllInFragment.call(tree, "input:checked, option:checked")]);

const isSameList = (one, other) => one.length === other.length && one.every((it, at) => it === other[at]);

/** Rules of the sheets in shadow trees. */
const sheetsInShadows = (trees) => trees.flatMap((tree) => [...tree.styleSheets, ...tree.adoptedStyleSheets].map(readSheet));

/** Decides whether the cache of the last walk is valid. `hasAriaOwns`: some elements have children by `aria-owns`. */
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

/** Stores the conditions of this walk. `isPartial`: the walk ended early, so changes beyond its end stay recorded. */
function endCaching(isWhole, isPartial) {
  if (!isCaching) return;
  // Shadow trees have added their rules by now.
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

/** Returns whether a cached subtree is unchanged and its inherited context is the same. */
function isCacheValid(subtree, el, depth, inherited) {
  const previous = subtree.inherited;
  return subtree.epoch === cacheEpoch && changedDepth === 0 && (subtree.layoutReadAt > walkedAt || subtree.layoutReadAt > lastLayoutShift && walkedAt - subtree.layoutReadAt < LAYOUT_CACHE_MS) &&
    subtree.depth === depth && subtree.idBefore === previousId && !changedElements.has(el) &&
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
  const subtree = { depth, inherited, line: reportLines.length, element: reportedElements.length, dropped: droppedTexts, previousId: previousId, cachedLines, bundleCount,
    isUncacheable, layoutReadAt };
  isUncacheable = false;
  layoutReadAt = Infinity;
  return subtree;
}

function endSubtree(el, { depth, inherited, line, element, dropped: droppedBefore, previousId: previousIdBefore, cachedLines: cachedLinesBefore,
  bundleCount: bundlesBefore, isUncacheable: wasUncacheable, layoutReadAt: readAt }) {
  const count = reportLines.length - line, size = Math.max(count, reportedElements.length - element);
  const isCacheable = isWorthCaching(count - (cachedLines - cachedLinesBefore)) && size <= MAX_CACHED_LINES && cachedSize < reportedElements.length * 16;
  if (isCacheable && !isUncacheable) {
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

/** Marks an element and its ancestors as changed. Their cached lines are dropped: they may hold what is gone. */
function markChanged(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1 && !changedElements.has(at); at = flatParentOf(at)) {
    changedElements.add(at);
    if (at[CACHED_SUBTREE] !== undefined) at[CACHED_SUBTREE] = undefined;
  }
}

/** Marks a whole subtree as changed. */
function markSubtreeChanged(el) {
  if (el === null || nodeTypeOf.call(el) !== 1) return void (isAllChanged = true);
  // The roles of cells depend on the whole table.
  const table = closest.call(el, "table");
  const from = table === null ? el : parentOf(table) || table;
  markChanged(from);
  changedSubtrees.add(from);
}

/** Elements whose children depend on one another. */
const INTERDEPENDENT_TAGS = new Set("details fieldset figure ruby svg math table tbody thead tfoot tr colgroup select optgroup datalist".split(" "));

/** Marks a change of the child list, which can affect the other children. */
function markChildrenChanged(el) {
  if (changedParents.has(el)) return;
  changedParents.add(el);
  if (siblingSelector === "*" || INTERDEPENDENT_TAGS.has(localNameOf.call(el)) || anyShadowRootOf(el) !== null) return markSubtreeChanged(el);
  markChanged(el);
  if (siblingSelector !== "") for (const child of findAllInside.call(el, `:scope > :is(${siblingSelector})`)) markSubtreeChanged(child);
}

/** Marks an element whose attributes changed, with its subtree and siblings. */
function markElementChanged(el) {
  const parent = parentOf(el);
  if (parent === null || nodeTypeOf.call(parent) !== 1) return markSubtreeChanged(parent);
  markSubtreeChanged(el);
  markChildrenChanged(parent);
}

/** With more mutations than this, a full walk is as fast. */
const MAX_MUTATIONS = 3000;

/** Returns whether a node renders nothing by itself: text, comments, scripts. Sheets are compared anyway. */
const isUnrendered = (node) => nodeTypeOf.call(node) !== 1 || SKIPPED_TAGS.has(localNameOf.call(node));

/** Returns whether an element is the title of the document. */
const isTitleElement = (el) => nodeTypeOf.call(el) === 1 && localNameOf.call(el) === "title" && namespaceOf.call(el) === HTML;

/**
 * Records DOM mutations. A rule can affect the changed element, its siblings and their descendants; no others, except
 * with `dependsOnDescendants`.
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
