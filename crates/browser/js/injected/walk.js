// The walk: one pass over the flat tree, one line for everything that is told.

/** A parser stops at 512; only scripts build deeper. */
const MAX_DEPTH = 700;
/** The same for elements that are not told: there is only so much room on the stack. */
const MAX_LEVEL = 900;
let walkDepth = 0;
/** No text is longer in a report that was not asked for in full. */
const MAX_TEXT = 4000, TAIL_TEXT = 200;

/** The shadow roots that the last observation went through. */
let shadows = [];

/** Never drawn, never told. */
const SKIPPED_TAGS = new Set((
  "head script style template noscript link meta title base param source track datalist colgroup col " +
  "noembed noframes rp desc metadata defs symbol clipPath mask linearGradient radialGradient marker pattern filter").split(" "));
/** What is inside belongs to the browser or is for those who cannot see it drawn. */
const LEAF_TAGS = new Set("iframe frame img input textarea video audio object embed progress meter hr br wbr area canvas".split(" "));
/** Elements that can have a shadow root, besides those with a hyphen in their names. */
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
/** Where the lines of the children begin that are being walked, and the line break that was walked last. */
let childrenStart = 0, lastBreak = null;
/** The fields of the last walk. No event tells when a script sets what they hold. */
let fields = [];
const FIELD_TAGS = new Set(["input", "textarea", "select"]);
/** Texts that were left out because nobody can see them. */
let droppedTexts = 0;
/** The elements that are told and hold frames, by number; what comes after it says that there is nothing in the frame. */
let frameElements = [];
/** Frames in which there is nothing, each with its document. */
let emptyFrames = [];
const FRAME_TAGS = new Set("iframe frame object embed fencedframe".split(" "));
/** The lines of the report before, some of them in one piece, to tell only what is different; and its number. */
let lastReportLines = [];
let lastReportId = 0;
/** A walk that may take only so long looks at the clock after so many elements, and throws this when time is up. */
let nextTimeCheck = Infinity;
let walkDeadline = Infinity;
const TIME_UP = {};
const TIME_CHECK_INTERVAL = 25;

/** The report on this document. */
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
  // Who knows nothing of the last report wants to know everything anew.
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
    // What was told so far is good for the next one.
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
 * Looks at the document while it loads, for so long at most. The first look at it then finds code that has run before,
 * boxes that are where they are, and most lines written. Says whether it came to the end.
 */
function prewalk(ms) {
  if (lastReportId > 0) return true;
  walkDeadline = performance.now() + ms;
  nextTimeCheck = TIME_CHECK_INTERVAL;
  try {
    observe({ firewall: true, hidden: false, urls: false, boxes: false, full: false, watch: true, since: 0 });
    return true;
  } catch {
    // Time is up, or it cannot be done: whoever looks will be told.
    return false;
  } finally {
    nextTimeCheck = walkDeadline = Infinity;
    [lastReportId, lastReportLines] = [0, []];
    [reportedElements, reportedIds, elementsById] = [[], [], null];
  }
}

/** How much of the page's spare time is taken for that, in ms: all of it, and at once. */
let prewalkBudget = 400;
const PREWALK_SLICE_MS = 15;
/** Whoever waited for the page looks at once, and is not to wait for us: so long after it has loaded, in ms. */
const LOAD_PAUSE_MS = 150;
let prewalkPausedUntil = 0;

/**
 * Goes on with it in turns with what the page does while it loads, and thereafter when it has nothing else to do. Callbacks
 * with numbers would be missing in the page's own.
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

/** Called when a walk with little time has told so many elements. */
function checkTime() {
  if (performance.now() > walkDeadline) throw TIME_UP;
  nextTimeCheck = reportedElements.length + TIME_CHECK_INTERVAL;
}

const EMPTY_FRAME_TAGS = new Set("html head body meta base style".split(" "));

/** The marks of frames in which there is nothing, by their address. */
const EMPTY_FRAME_MARKS = new Map([["about:blank", "-"], ["about:srcdoc", "="]]);

/** The mark of a frame in which there is nothing, as in most that advertisers leave behind: nobody needs to go there. */
function emptyFrameMark(el) {
  // None when it is of another origin.
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

/** Whether there is more to what is in an element than what is in it. */
const hasImplicitContent = (tag) => LEAF_TAGS.has(tag) || tag === "details" || tag === "select" || tag === "q" || tag.includes("-");

/** Who is told of as a child of somebody else. What is not told of owns nothing, and nobody owns what is not drawn. */
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

/** The element that has the focus, also inside shadow trees. */
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

/** The dialog that keeps everything else from being used. */
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
      const block = beginSubtree(depth, inherited);
      const isDeep = changedSubtrees.size > 0 && changedSubtrees.has(el);
      if (isDeep) changedDepth++;
      walkElement(el, depth, inherited);
      if (isDeep) changedDepth--;
      endSubtree(el, block);
      // Whether a line break is told depends on what stands before it.
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
  // A paragraph that lays out boxes, or that is part of a line, is no paragraph of text.
  if (role === "paragraph" && (isFlexible || isInline)) role = "generic";
  // Pictures and cells that mean nothing by themselves mean something when they can be clicked.
  if ((role === "none" || role === "layouttable") && (listenerTargetCount > 0 && listenerTargets.has(el) ||
      attributes !== null && attributes.tabindex !== undefined && isFocusable(el, tag, attributes))) role = "generic";
  let below = depth;
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
    below = depth + 1;
    // Most of a page is text in a link, a cell, a paragraph: no need to put its name together from parts.
    if (NAMED_BY_CONTENT.has(role) && (attributes === null || !hasOwnName(attributes)) && tag !== "button" && tag !== "details" && isHtml) {
      const text = (mask & (BEFORE | AFTER)) === 0 ? onlyText(el, tag) : null;
      if (text !== null) {
        const plain = tidyText(applyTextTransform(text, transform));
        if (plain !== "") {
          const why = firewall ? hiddenTextReason(visibility, el, null) : "";
          const rest = attributes === null ? plainStates(tag, role) : null;
          if (why === "" && rest !== null && !options.boxes) {
            addElementLine(depth, role, el, NAME_IS_TEXT, pointerFlag(cursor, inherited), rest);
            reportLines.push(textPrefix(below) + plain);
            return;
          }
        }
      }
    }
    // And most of the rest only holds things together.
    if (role === "generic" && (attributes === null || attributes.isBare) && hiddenReason === "" &&
        (mask & SCROLL) === 0 && !options.boxes && isHtml && tag !== "label") {
      flags = pointerFlag(cursor, inherited);
      addElementLine(depth, ".", el, "", flags, "");
      return walkGeneric(el, tag, mask, below, inherited, cursor, transform, isVisible, visibility, isFlexible);
    }
    let name = nameOf(el, tag, role, attributes, mask, transform);
    source = nameSource;
    let [states, rest] = statesOf(el, tag, isHtml, role, attributes, inherited, mask);
    // What can be clicked through a drawing on top of it is drawn by that; one with a label stands for it there.
    if (hiddenReason === "transparent" && tag === "input" && RESTYLED_INPUTS.has(inputTypeOf.call(el)) && labelsOf(el) === null && !isTinyBox(el)) {
      hiddenReason = "";
      isNameHidden = true;
    }
    // A control can be used where nobody sees it, but what it says is then said to nobody.
    if (hiddenReason !== "" && !includesHidden && !isRevealedByHover(el)) {
      if (source !== "related" || isNameHidden) name = source = "";
      rest = rest.replace(/\t[vr][^\t]*/g, "");
    }
    flags = states + pointerFlag(cursor, inherited);
    if (name !== "" && source !== "content") flags += "g";
    if (isNameHidden) flags += "n";
    let more = rest;
    if (options.urls && role === "link") more += urlField(el);
    // What has no name of its own is at least described.
    if (name === "" && hiddenReason === "" && attributes !== null && attributes.title) more += `\td${tidyText(attributes.title)}`;
    if (options.boxes) more += boxField(el);
    if (hiddenReason !== "") {
      flags += "h";
      more += `\tw${hiddenReason}`;
    }
    const tidyName = tidyText(name);
    if (source === "content" && isNameOnlyText && isHtml && hiddenReason === "" && !includesHidden && below <= MAX_DEPTH && !hasImplicitContent(tag)) {
      // It is called what is written in it, and there is nothing else in it.
      const plain = tidyText(applyTextTransform(onlyText(el, tag), transform));
      if (plain === tidyName && (!firewall || hiddenTextReason(visibility, el, null) === "")) {
        addElementLine(depth, role === "generic" ? "." : role, el, NAME_IS_TEXT, flags, more);
        reportLines.push(textPrefix(below) + plain);
        return;
      }
    }
    line = reportLines.length;
    idBefore = previousId;
    addElementLine(depth, role === "generic" ? "." : role, el, tidyName, flags, more);
    // What the browser draws to open and close it is told by this line; what it opens stands beside that.
    if (tag === "details" && role === "disclosuretriangle") below = depth;
    if (FRAME_TAGS.has(tag) && (hiddenReason === "" || includesHidden)) frameElements.push(previousId + (tag === "iframe" ? emptyFrameMark(el) : ""));
  }
  if (isHtml && LEAF_TAGS.has(tag)) return;
  if (below > MAX_DEPTH) {
    if (line > 0) reportLines[line] = withFlag(reportLines[line], "c");
    return;
  }
  const ariaDisabled = attributes === null ? undefined : attributes["aria-disabled"];
  const isOff = ariaDisabled === "true" || inherited.isDisabled && ariaDisabled !== "false";
  const next = { active: inherited.active, isDisabled: isOff, cursor, transform, isVisible, visibility, isFlexible };
  if (isHtml && tag === "details" && !openOf.call(el)) {
    const summary = summaryOf(el);
    if (summary !== null) walk(summary, below, next);
    return;
  }
  if (isHtml && tag === "select") return walkOptions(el, below, next);
  const mark = reportLines.length;
  const droppedBefore = droppedTexts;
  walkChildren(el, tag, mask, below, next);
  // A paragraph with nothing in it is a gap, not a paragraph.
  if (role === "paragraph" && reportLines.length === mark && line > 0 && flags === "") {
    reportLines.pop();
    previousId = idBefore;
    return;
  }
  if (line > 0 && droppedTexts > droppedBefore && source === "content") {
    if (!CONTROL_ROLES.has(role) && reportLines.length === mark && !flags.includes("f")) {
      // Nothing in it can be seen, so there is nothing to be named.
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
  // No function of its own: a page can be deep, and every one of them costs room on the stack.
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

/** Whether an element can be seen through; null when nothing below it can either. */
function ownVisibility(el) {
  const style = computed(el);
  if (style.contentVisibility === "hidden") return null;
  return style.visibility === "visible";
}

/** Fields that pages make transparent to draw them themselves, and that hold no words of the page's. */
const RESTYLED_INPUTS = new Set("range checkbox radio file color date time month week datetime-local number".split(" "));

const hasOwnName = (attributes) =>
  attributes["aria-label"] !== undefined || attributes["aria-labelledby"] !== undefined;

/** The rest of the line of an element without attributes; null when more must be asked. */
function plainStates(tag, role) {
  if (role === "heading") return `\tl${tag[1]}`;
  return tag === "td" || tag === "th" || tag === "dt" ? "" : null;
}

const pointerFlag = (cursor, inherited) => cursor === "pointer" && inherited.cursor !== "pointer" ? "p" : "";

/** Whether a box is too small to be one. */
function isTinyBox(el) {
  markLayoutRead();
  const rect = rectOf.call(el);
  return rect.width <= 1 || rect.height <= 1;
}

/** Whether something that is out of sight now comes into it when the mouse is over what it is in. */
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

/** Whether the picture that an area is part of is there. */
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
