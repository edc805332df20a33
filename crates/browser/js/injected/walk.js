// The walk: one pass over the flat tree, one report line for each exposed element and text.

/** HTML parsers stop at 512; only scripts nest deeper. */
const MAX_DEPTH = 700;
/** The same for elements without a line: the stack is limited. */
const MAX_LEVEL = 900;
let walkDepth = 0;
/** Longest text of a report that was not requested in full. */
const MAX_TEXT = 4000, TAIL_TEXT = 200;

/** Shadow roots of the last observation. */
let shadows = [];

/** Never rendered. */
const SKIPPED_TAGS = new Set((
  "head script style template noscript link meta title base param source track datalist colgroup col " +
  "noembed noframes rp desc metadata defs symbol clipPath mask linearGradient radialGradient marker pattern filter").split(" "));
/** Elements whose content is the browser's own or fallback content. */
const LEAF_TAGS = new Set("iframe frame img input textarea video audio object embed progress meter hr br wbr area canvas".split(" "));
/** Elements that can have a shadow root, besides custom elements. */
const SHADOW_HOST_TAGS = new Set("article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split(" "));

const CONTROL_ROLES = new Set((
  "button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio searchbox slider " +
  "spinbutton switch tab textbox treeitem disclosuretriangle colorwell date datetime inputtime iframe").split(" "));

let reportLines = [];
let options = null;
let firewall = false;
let includesHidden = false;
let maxText = MAX_TEXT;
let previousId = 0;
/** Index of the first line of the children being walked, and the last `br`. */
let childrenStart = 0, lastBreak = null;
/** Form fields of the last walk. No event reports that a script set their value. */
let fields = [];
const FIELD_TAGS = new Set(["input", "textarea", "select"]);
/** Texts omitted because they are hidden. */
let droppedTexts = 0;
/** Ids of the reported elements that hold frames, with a mark after those whose frame is empty. */
let frameElements = [];
/** Empty frames: their elements and documents. */
let emptyFrames = [];
const FRAME_TAGS = new Set("iframe frame object embed fencedframe".split(" "));
/** Lines of the last report, some of them bundled, for the patch; and its id. */
let lastReportLines = [];
let lastReportId = 0;
/**
 * A walk with a time limit checks the clock each time this many elements are reported, and throws `TIME_UP` at the
 * deadline.
 */
let nextTimeCheck = Infinity;
let walkDeadline = Infinity;
const TIME_UP = {};
const TIME_CHECK_INTERVAL = 25;

/** Returns the report on this document. */
function observe(requested = {}) {
  options = requested;
  firewall = requested.firewall !== false;
  includesHidden = requested.hidden === true;
  maxText = requested.full ? Infinity : MAX_TEXT;
  memo = newMemo();
  memo.colors = new Map();
  memo.owned = null;
  memo.owners = null;
  memo.isWalk = true;
  tidyInput = tidyOutput = "";
  reportLines = [""];
  frameElements = [];
  emptyFrames = [];
  droppedTexts = 0;
  previousId = 0;
  fields = [];
  walkDepth = 0;
  hasMissedListener = false;
  let isWhole = false, isPartial = false;
  // A caller without the last report gets everything anew.
  if (!(requested.since > 0) && lastReportId > 0) sheetsValidFrom = performance.now();
  try {
    readSheets();
    if (requested.reportUnreadable && unreadableSheets.length > 0) return `?\n${unreadableSheets.join("\n")}`;
    const title = tidyText(titleOf.call(document));
    const modal = topModal();
    const active = deepActiveElement();
    const hasAriaOwns = find.call(document, "[aria-owns]") !== null;
    beginCaching(active, modal, hasAriaOwns);
    const top = { active, isDisabled: false, cursor: "", transform: "", isVisible: true, visibility: DEFAULT_VISIBILITY,
      isFlexible: false };
    reportedElements = [];
    reportedIds = [];
    elementsById = null;
    const root = documentElementOf.call(document);
    addElementLine(0, "webarea", document, title, document.hasFocus() ? "fF" : "f", "");
    if (root !== null) {
      if (hasAriaOwns) readAriaOwns();
      walk(modal || root, 1, top);
    }
    if (requested.watch) startWatching();
    shadows = [...memo.shadowRoots];
    isWhole = true;
    return finishReport(title);
  } catch (error) {
    // The next walk can reuse what was walked.
    if (error === TIME_UP && requested.watch) {
      startWatching();
      isWhole = isPartial = true;
    }
    throw error;
  } finally {
    endCaching(isWhole, isPartial);
    memo = null;
    tidyInput = tidyOutput = "";
    reportLines = [];
  }
}

/**
 * Pre-walk: walks the document while it loads, up to a time limit. The first observation then finds compiled code,
 * computed layout and most lines cached. Returns whether it finished.
 */
function prewalk(ms) {
  if (lastReportId > 0) return true;
  walkDeadline = performance.now() + ms;
  nextTimeCheck = TIME_CHECK_INTERVAL;
  try {
    observe({ firewall: true, hidden: false, urls: false, boxes: false, full: false, watch: true, since: 0 });
    return true;
  } catch {
    // Out of time or failed: an observation will report the error.
    return false;
  } finally {
    nextTimeCheck = walkDeadline = Infinity;
    [lastReportId, lastReportLines] = [0, []];
    [reportedElements, reportedIds, elementsById] = [[], [], null];
  }
}

/** Idle time that the pre-walk may take in all, in ms. */
let prewalkBudget = 400;
const PREWALK_SLICE_MS = 15;
/** Pause after `load`, in ms, so that a client that waited for it is not queued behind the pre-walk. */
const LOAD_PAUSE_MS = 150;
let prewalkPausedUntil = 0;

/**
 * Continues the pre-walk in turns with the tasks of the loading page, later when the page is idle. Posted tasks take no
 * timer ids, which would be missing in the page's own.
 */
function schedulePrewalk(delay = 0) {
  globalThis.scheduler?.postTask(() => {
    const begun = performance.now();
    if (begun < prewalkPausedUntil) return schedulePrewalk(prewalkPausedUntil - begun);
    const isOver = prewalk(PREWALK_SLICE_MS);
    prewalkBudget -= performance.now() - begun;
    if (!isOver && prewalkBudget > 0) schedulePrewalk();
  }, { priority: document.readyState === "complete" ? "background" : "user-visible", delay });
}

/** Checks the deadline of a limited walk. */
function checkTime() {
  if (performance.now() > walkDeadline) throw TIME_UP;
  nextTimeCheck = reportedElements.length + TIME_CHECK_INTERVAL;
}

const EMPTY_FRAME_TAGS = new Set("html head body meta base style".split(" "));

/** Marks of empty frames, by URL. */
const EMPTY_FRAME_MARKS = new Map([["about:blank", "-"], ["about:srcdoc", "="]]);

/** Mark of an empty frame, as many advertisements leave behind: no isolated world is needed there. "" for others. */
function emptyFrameMark(el) {
  // Null when cross-origin.
  const inside = contentDocumentOf.call(el);
  const mark = inside === null ? undefined : EMPTY_FRAME_MARKS.get(documentUrlOf.call(inside));
  if (mark === undefined || titleOf.call(inside) !== "") return "";
  const all = byTag.call(inside, "*");
  if (all.length > 8) return "";
  for (const it of all) if (!EMPTY_FRAME_TAGS.has(localNameOf.call(it)) || shadowRootOf.call(it) !== null) return "";
  const body = bodyOf.call(inside);
  if (body !== null && /\S/.test(textContentOf.call(body))) return "";
  emptyFrames.push([el, inside]);
  return mark;
}

/** Returns whether an element has content besides its child nodes. */
const hasImplicitContent = (tag) => LEAF_TAGS.has(tag) || tag === "details" || tag === "select" || tag === "q" || tag.includes("-");

/** Collects `aria-owns` relations. Hidden owners own nothing, and elements that are not rendered are not owned. */
function readAriaOwns() {
  memo.owned = new Set();
  memo.owners = new Map();
  for (const owner of findAll.call(document, "[aria-owns]")) {
    if (!checkVisibility.call(owner) && !isDisplayContents(owner) || closest.call(owner, "[aria-hidden=true]") !== null) continue;
    const children = referenced(owner, attributeOf.call(owner, "aria-owns"))
      .filter((child) => !memo.owned.has(child) && !contains.call(child, owner) && isRendered(child));
    for (const child of children) memo.owned.add(child);
    if (children.length > 0) memo.owners.set(owner, children);
  }
}

/** Focused element, also inside shadow trees. */
function deepActiveElement() {
  let active = activeElementOf.call(document);
  while (active) {
    const shadow = anyShadowRootOf(active);
    const inner = shadow && shadow.activeElement;
    if (!inner) break;
    active = inner;
  }
  return active;
}

/** Modal dialog on top; null when there is none. */
function topModal() {
  const all = findAll.call(document, "dialog:modal");
  let last = null;
  for (const dialog of all) {
    const rect = rectOf.call(dialog);
    const hit = document.elementFromPoint(rect.left + rect.width / 2, rect.top + Math.min(rect.height / 2, 20));
    if (last === null || (hit && contains.call(dialog, hit)) || contains.call(last, dialog)) last = dialog;
  }
  return last;
}

function walk(el, depth, inherited) {
  if (walkDepth > MAX_LEVEL) {
    const last = reportLines[reportLines.length - 1];
    if (reportLines.length > 1 && typeof last === "string") reportLines[reportLines.length - 1] = withFlag(last, "c");
    return;
  }
  walkDepth++;
  if (!isCaching) walkElement(el, depth, inherited);
  else {
    const cached = el[CACHED_SUBTREE];
    if (cached !== undefined && isCacheValid(cached, el, depth, inherited)) reuseSubtree(cached);
    else {
      const subtree = beginSubtree(depth, inherited);
      const isDeep = changedSubtrees.size > 0 && changedSubtrees.has(el);
      if (isDeep) changedDepth++;
      walkElement(el, depth, inherited);
      if (isDeep) changedDepth--;
      endSubtree(el, subtree);
      // Whether a line break is reported depends on what precedes it.
      if (lastBreak === el) el[CACHED_SUBTREE] = undefined;
    }
  }
  walkDepth--;
}

function walkElement(el, depth, inherited) {
  const tag = localNameOf.call(el);
  if (SKIPPED_TAGS.has(tag)) return;
  if (UNCACHEABLE_TAGS.has(tag) || tag.includes("-")) {
    isUncacheable = true;
    if (FIELD_TAGS.has(tag)) fields.push(el);
  }
  const attributes = attributesOf(el, tag);
  let mask;
  if (attributes !== null) {
    if (attributes["aria-hidden"] === "true" || attributes.inert !== undefined) {
      if (includesHidden && attributes["aria-hidden"] === "true") addAriaHiddenText(el, depth);
      return;
    }
    mask = attributes.mask;
  } else {
    mask = maskOfTag(tag);
    if (memo.animated !== null && memo.animated.has(el)) {
      mask = ALL_PROPERTIES;
      isUncacheable = true;
    }
  }
  if (memo.owned !== null && memo.owned.has(el) && inherited.owner === undefined) return;
  const isHtml = namespaceOf.call(el) === HTML;
  let isFlexible = false, isInline = false;
  if ((mask & DISPLAY) !== 0 || tag === "dialog" || tag === "details" || !isHtml) {
    const display = computed(el).display;
    if (display === "none" && !(isHtml && (tag === "option" || tag === "optgroup" || tag === "area"))) return;
    isFlexible = FLEX_OR_GRID.test(display);
    isInline = display === "inline";
  }
  if (tag === "input" && inputTypeOf.call(el) === "hidden") return;
  if (tag === "audio" && !hasAttribute.call(el, "controls")) return;
  const isVisible = (mask & VISIBILITY) === 0 ? inherited.isVisible : ownVisibility(el, tag);
  if (isVisible === null) return;
  const transform = textTransformOf(el, tag, mask, inherited.transform);
  const cursor = (mask & CURSOR) !== 0 ? computed(el).cursor
    : tag === "a" ? (hasAttribute.call(el, "href") ? "pointer" : inherited.cursor)
    : tag === "button" || tag === "input" || tag === "select" || tag === "textarea" ? "default"
    : inherited.cursor;
  const visibility = firewall ? visibilityOf(el, tag, mask, inherited.visibility) : DEFAULT_VISIBILITY;
  let role = roleOf(el, tag, isHtml, attributes);
  // A paragraph that is a flex container or inline is no paragraph of text.
  if (role === "paragraph" && (isFlexible || isInline)) role = "generic";
  // Presentational images and cells count when they can be clicked.
  if ((role === "none" || role === "layouttable") && (listenerTargetCount > 0 && listenerTargets.has(el) ||
      attributes !== null && attributes.tabindex !== undefined && isFocusable(el, tag, attributes))) role = "generic";
  let childDepth = depth;
  let flags = "";
  let line = 0, idBefore = 0;
  let source = "";
  if (tag === "area" && !isImageMapRendered(el)) return;
  if (role === "linebreak") {
    lastBreak = el;
    if (isVisible && reportLines.length > childrenStart) reportLines.push(`${depth}\t|`);
    return;
  }
  const isExposed = isVisible && role !== "none" && role !== "layouttable";
  let hiddenReason = !firewall || !isExposed ? "" : hiddenBoxReason(visibility, el);
  if (hiddenReason === "" && isExposed && firewall && FRAME_TAGS.has(tag) && isTinyBox(el)) hiddenReason = "zero-size";
  const isReported = isExposed &&
    (hiddenReason === "" || includesHidden || CONTROL_ROLES.has(role) || attributes !== null && isFocusable(el, tag, attributes));
  if (isReported) {
    childDepth = depth + 1;
    // Fast path: most elements are a link, a cell or a paragraph with plain text as its name.
    if (NAMED_BY_CONTENT.has(role) && (attributes === null || !hasOwnName(attributes)) && tag !== "button" && tag !== "details" && isHtml) {
      const text = (mask & (BEFORE | AFTER)) === 0 ? onlyText(el, tag) : null;
      if (text !== null) {
        const plain = tidyText(applyTextTransform(text, transform));
        if (plain !== "") {
          const why = firewall ? hiddenTextReason(visibility, el, null) : "";
          const rest = attributes === null ? plainStates(tag, role) : null;
          if (why === "" && rest !== null && !options.boxes) {
            addElementLine(depth, role, el, NAME_IS_TEXT, pointerFlag(cursor, inherited), rest);
            reportLines.push(textPrefix(childDepth) + plain);
            return;
          }
        }
      }
    }
    // Fast path: most others are generic containers.
    if (role === "generic" && (attributes === null || attributes.isBare) && hiddenReason === "" &&
        (mask & SCROLL) === 0 && !options.boxes && isHtml && tag !== "label") {
      flags = pointerFlag(cursor, inherited);
      addElementLine(depth, ".", el, "", flags, "");
      return walkGeneric(el, tag, mask, childDepth, inherited, cursor, transform, isVisible, visibility, isFlexible);
    }
    let name = nameOf(el, tag, role, attributes, mask, transform);
    source = nameSource;
    let [states, rest] = statesOf(el, tag, isHtml, role, attributes, inherited, mask);
    // A transparent control with a custom drawing under it is visible by that, unless its label stands for it.
    if (hiddenReason === "transparent" && tag === "input" && RESTYLED_INPUTS.has(inputTypeOf.call(el)) && labelsOf(el) === null && !isTinyBox(el)) {
      hiddenReason = "";
      isNameHidden = true;
    }
    // A hidden control can still be used, but its text is hidden.
    if (hiddenReason !== "" && !includesHidden && !isRevealedByHover(el)) {
      if (source !== "related" || isNameHidden) name = source = "";
      rest = rest.replace(/\t[vr][^\t]*/g, "");
    }
    flags = states + pointerFlag(cursor, inherited);
    if (name !== "" && source !== "content") flags += "g";
    if (isNameHidden) flags += "n";
    let more = rest;
    if (options.urls && role === "link") more += urlField(el);
    // A title describes an element without a name.
    if (name === "" && hiddenReason === "" && attributes !== null && attributes.title) more += `\td${tidyText(attributes.title)}`;
    if (options.boxes) more += boxField(el);
    if (hiddenReason !== "") {
      flags += "h";
      more += `\tw${hiddenReason}`;
    }
    const tidyName = tidyText(name);
    if (source === "content" && isNameOnlyText && isHtml && hiddenReason === "" && !includesHidden && childDepth <= MAX_DEPTH && !hasImplicitContent(tag)) {
      // Its name is its only content.
      const plain = tidyText(applyTextTransform(onlyText(el, tag), transform));
      if (plain === tidyName && (!firewall || hiddenTextReason(visibility, el, null) === "")) {
        addElementLine(depth, role === "generic" ? "." : role, el, NAME_IS_TEXT, flags, more);
        reportLines.push(textPrefix(childDepth) + plain);
        return;
      }
    }
    line = reportLines.length;
    idBefore = previousId;
    addElementLine(depth, role === "generic" ? "." : role, el, tidyName, flags, more);
    // This line stands for the default summary; the content is its sibling.
    if (tag === "details" && role === "disclosuretriangle") childDepth = depth;
    if (FRAME_TAGS.has(tag) && (hiddenReason === "" || includesHidden)) frameElements.push(previousId + (tag === "iframe" ? emptyFrameMark(el) : ""));
  }
  if (isHtml && LEAF_TAGS.has(tag)) return;
  if (childDepth > MAX_DEPTH) {
    if (line > 0) reportLines[line] = withFlag(reportLines[line], "c");
    return;
  }
  const ariaDisabled = attributes === null ? undefined : attributes["aria-disabled"];
  const isOff = ariaDisabled === "true" || inherited.isDisabled && ariaDisabled !== "false";
  const next = { active: inherited.active, isDisabled: isOff, cursor, transform, isVisible, visibility, isFlexible };
  if (isHtml && tag === "details" && !openOf.call(el)) {
    const summary = summaryOf(el);
    if (summary !== null) walk(summary, childDepth, next);
    return;
  }
  if (isHtml && tag === "select") return walkOptions(el, childDepth, next);
  const mark = reportLines.length;
  const droppedBefore = droppedTexts;
  walkChildren(el, tag, mask, childDepth, next);
  // An empty paragraph is a gap.
  if (role === "paragraph" && reportLines.length === mark && line > 0 && flags === "") {
    reportLines.pop();
    previousId = idBefore;
    return;
  }
  if (line > 0 && droppedTexts > droppedBefore && source === "content") {
    if (!CONTROL_ROLES.has(role) && reportLines.length === mark && !flags.includes("f")) {
      // All of its content is hidden, so it has no name.
      reportLines.pop();
      previousId = idBefore;
    } else {
      reportLines[line] = withFlag(reportLines[line], "n");
    }
  }
}

function walkGeneric(el, tag, mask, depth, inherited, cursor, transform, isVisible, visibility, isFlexible) {
  if (depth > MAX_DEPTH) {
    reportLines[reportLines.length - 1] = withFlag(reportLines[reportLines.length - 1], "c");
    return;
  }
  walkChildren(el, tag, mask, depth,
    { active: inherited.active, isDisabled: inherited.isDisabled, cursor, transform, isVisible, visibility, isFlexible });
}

function walkChildren(el, tag, mask, depth, next) {
  const { isVisible } = next;
  const from = reportLines.length;
  const only = memo.owners === null ? onlyText(el, tag) : null;
  if (isVisible && (mask & BEFORE) !== 0 && (tag !== "q" || only === null)) addPseudoText(el, "::before", depth, next.visibility);
  if (only !== null) {
    if (tag.includes("-") || only === "" && SHADOW_HOST_TAGS.has(tag)) possibleShadowHosts.add(el);
    if (tag === "q" && isVisible) return addQuotation(el, only, depth, next);
    if (only !== "" && isVisible) addText(applyTextTransform(only, next.transform), depth, next.visibility, el, null);
    if (isVisible && (mask & AFTER) !== 0) addPseudoText(el, "::after", depth, next.visibility);
    return;
  }
  const shadow = anyShadowRootOf(el);
  if (shadow !== null) {
    isUncacheable = true;
    possibleShadowHosts.delete(el);
    readShadowSheets(shadow);
  } else if (tag === "slot") {
    const assigned = assignedNodes.call(el);
    if (assigned.length > 0) {
      for (const node of assigned) {
        childrenStart = from;
        if (nodeTypeOf.call(node) === 1) walk(node, depth, next);
        else if (isVisible) addText(applyTextTransform(dataOf.call(node), next.transform), depth, next.visibility, el, node);
      }
      return;
    }
  }
  let node = firstChildOf.call(shadow || el);
  if (shadow === null && tag.includes("-")) possibleShadowHosts.add(el);
  // Inlined instead of a function: deep pages need the stack.
  for (; node !== null; node = nextSiblingOf.call(node)) {
    const type = nodeTypeOf.call(node);
    childrenStart = from;
    if (type === 1) walk(node, depth, next);
    else if (type === 3 && isVisible) addText(applyTextTransform(dataOf.call(node), next.transform), depth, next.visibility, el, node);
  }
  if (memo.owners !== null && memo.owners.has(el)) {
    for (const child of memo.owners.get(el)) walk(child, depth, { ...next, owner: el });
  }
  if (isVisible && (mask & AFTER) !== 0) addPseudoText(el, "::after", depth, next.visibility);
}

function walkOptions(select, depth, next) {
  for (let child = firstChildOf.call(select); child; child = nextSiblingOf.call(child)) {
    if (nodeTypeOf.call(child) !== 1) continue;
    const tag = localNameOf.call(child);
    if (tag === "option" || tag === "optgroup") walk(child, depth, next);
  }
}

/** Returns whether an element is visible by its own styles; null when its whole subtree is skipped. */
function ownVisibility(el) {
  const style = computed(el);
  if (style.contentVisibility === "hidden") return null;
  return style.visibility === "visible";
}

/** Inputs that pages make transparent and draw themselves, and that hold no text of the page. */
const RESTYLED_INPUTS = new Set("range checkbox radio file color date time month week datetime-local number".split(" "));

const hasOwnName = (attributes) =>
  attributes["aria-label"] !== undefined || attributes["aria-labelledby"] !== undefined;

/** Remaining fields of an element without attributes; null when its states have to be computed. */
function plainStates(tag, role) {
  if (role === "heading") return `\tl${tag[1]}`;
  return tag === "td" || tag === "th" || tag === "dt" ? "" : null;
}

const pointerFlag = (cursor, inherited) => cursor === "pointer" && inherited.cursor !== "pointer" ? "p" : "";

/** Returns whether a box is too small to be seen. */
function isTinyBox(el) {
  markLayoutRead();
  const rect = rectOf.call(el);
  return rect.width <= 1 || rect.height <= 1;
}

/** Returns whether hovering an ancestor reveals a hidden element. */
function isRevealedByHover(el) {
  if (memo.rules.hoverVisibility.size === 0) return false;
  memo.hoverVisibility ??= [...memo.rules.hoverVisibility].filter((it) => it !== "*").join();
  try {
    return memo.hoverVisibility !== "" && closest.call(el, memo.hoverVisibility) !== null;
  } catch {
    return false;
  }
}

const imageWidthOf = getter(HTMLImageElement.prototype, "naturalWidth");

/** Returns whether the image of an image map area is loaded. */
function isImageMapRendered(area) {
  const map = closest.call(area, "map");
  if (map === null) return false;
  let isShown = memo.maps.get(map);
  if (isShown === undefined) {
    const name = attributeOf.call(map, "name") || attributeOf.call(map, "id");
    const image = name ? find.call(document, `img[usemap="#${CSS.escape(name)}" i]`) : null;
    memo.maps.set(map, isShown = image !== null && imageWidthOf.call(image) > 0);
  }
  return isShown;
}
