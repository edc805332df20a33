// The walk: one pass over the flat tree, one line for everything that is told.

/** A parser stops at 512; only scripts build deeper. */
const MAX_DEPTH = 700;
/** The same for elements that are not told: there is only so much room on the stack. */
const MAX_LEVEL = 900;
let level = 0;
/** No text is longer in a report that was not asked for in full. */
const MAX_TEXT = 4000, TAIL_TEXT = 200;

/** The shadow roots that the last observation went through. */
let shadows = [];

/** Never drawn, never told. */
const SILENT = new Set((
  "head script style template noscript link meta title base param source track datalist colgroup col " +
  "noembed noframes rp desc metadata defs symbol clipPath mask linearGradient radialGradient marker pattern filter").split(" "));
/** What is inside belongs to the browser or is for those who cannot see it drawn. */
const LEAVES = new Set("iframe frame img input textarea video audio object embed progress meter hr br wbr area canvas".split(" "));
/** Elements that can have a shadow root, besides those with a hyphen in their names. */
const HOSTS = new Set("article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split(" "));

const CONTROLS = new Set((
  "button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio searchbox slider " +
  "spinbutton switch tab textbox treeitem disclosuretriangle colorwell date datetime inputtime iframe").split(" "));

let out = [];
let options = null;
let firewall = false;
let tellsHidden = false;
let maxText = MAX_TEXT;
let previousNumber = 0;
/** Where the lines of the children begin that are being walked, and the line break that was walked last. */
let childrenFrom = 0, lastBreak = null;
/** The fields of the last walk. No event tells when a script sets what they hold. */
let fields = [];
const FIELD_TAGS = new Set(["input", "textarea", "select"]);
/** Texts that were left out because nobody can see them. */
let dropped = 0;
/** The elements that are told and hold frames, by number; what comes after it says that there is nothing in the frame. */
let holders = [];
/** Frames in which there is nothing, each with its document. */
let blanks = [];
const HOLDERS = new Set("iframe frame object embed fencedframe".split(" "));
/** The lines of the report before, some of them in one piece, to tell only what is different; and its number. */
let lastOut = [];
let lastReport = 0;
/** A walk that may take only so long looks at the clock after so many elements, and throws this when time is up. */
let limit = Infinity;
let until = Infinity;
const ENOUGH = {};
const PACE = 25;

/** The report on this document. */
function observe(wanted = {}) {
  options = wanted;
  firewall = wanted.firewall !== false;
  tellsHidden = wanted.hidden === true;
  maxText = wanted.full ? Infinity : MAX_TEXT;
  memo = newMemo();
  memo.colors = new Map();
  memo.owned = null;
  memo.owners = null;
  memo.isWalk = true;
  untidied = tidied = "";
  out = [""];
  holders = [];
  blanks = [];
  dropped = 0;
  previousNumber = 0;
  fields = [];
  level = 0;
  isHearingMissed = false;
  let isWhole = false, isCut = false;
  // Who knows nothing of the last report wants to know everything anew.
  if (!(wanted.since > 0) && lastReport > 0) sheetsFrom = performance.now();
  try {
    readSheets();
    if (wanted.learn && unreadable.length > 0) return `?\n${unreadable.join("\n")}`;
    const title = tidy(titleOf.call(document));
    const modal = modalOf();
    const active = deepActive();
    const isOwning = find.call(document, "[aria-owns]") !== null;
    beginBlocks(active, modal, isOwning);
    const top = { active, isOff: false, cursor: "", transform: "", isVisible: true, sight: PLAIN_SIGHT,
      isFlexible: false };
    seen = [];
    seenNumbers = [];
    byNumber = null;
    const root = documentElementOf.call(document);
    addLine(0, "webarea", document, title, document.hasFocus() ? "fF" : "f", "");
    if (root !== null) {
      if (isOwning) readOwners();
      walk(modal || root, 1, top);
    }
    if (wanted.watch) watch();
    shadows = [...memo.read];
    isWhole = true;
    return finish(title);
  } catch (error) {
    // What was told so far is good for the next one.
    if (error === ENOUGH && wanted.watch) {
      watch();
      isWhole = isCut = true;
    }
    throw error;
  } finally {
    endBlocks(isWhole, isCut);
    memo = null;
    untidied = tidied = "";
    out = [];
  }
}

/**
 * Looks at the document while it loads, for so long at most. The first look at it then finds code that has run before,
 * boxes that are where they are, and most lines written. Says whether it came to the end.
 */
function rehearse(ms) {
  if (lastReport > 0) return true;
  until = performance.now() + ms;
  limit = PACE;
  try {
    observe({ firewall: true, hidden: false, urls: false, boxes: false, full: false, watch: true, since: 0 });
    return true;
  } catch {
    // Time is up, or it cannot be done: whoever looks will be told.
    return false;
  } finally {
    limit = until = Infinity;
    [lastReport, lastOut] = [0, []];
    [seen, seenNumbers, byNumber] = [[], [], null];
  }
}

/** How much of the page's spare time is taken for that, in ms: all of it, and at once. */
let spare = 400;
const SLICE = 15;
/** Whoever waited for the page looks at once, and is not to wait for us: so long after it has loaded, in ms. */
const HUSH = 150;
let hushedUntil = 0;

/**
 * Goes on with it in turns with what the page does while it loads, and thereafter when it has nothing else to do. Callbacks
 * with numbers would be missing in the page's own.
 */
function rehearseLater(delay = 0) {
  globalThis.scheduler?.postTask(() => {
    const begun = performance.now();
    if (begun < hushedUntil) return rehearseLater(hushedUntil - begun);
    const isOver = rehearse(SLICE);
    spare -= performance.now() - begun;
    if (!isOver && spare > 0) rehearseLater();
  }, { priority: document.readyState === "complete" ? "background" : "user-visible", delay });
}

/** Called when a walk with little time has told so many elements. */
function checkTime() {
  if (performance.now() > until) throw ENOUGH;
  limit = seen.length + PACE;
}

const BLANK_TAGS = new Set("html head body meta base style".split(" "));

/** The marks of frames in which there is nothing, by their address. */
const BLANK_MARKS = new Map([["about:blank", "-"], ["about:srcdoc", "="]]);

/** The mark of a frame in which there is nothing, as in most that advertisers leave behind: nobody needs to go there. */
function blankMark(el) {
  // None when it is of another origin.
  const inside = documentInside.call(el);
  const mark = inside === null ? undefined : BLANK_MARKS.get(addressOf.call(inside));
  if (mark === undefined || titleOf.call(inside) !== "") return "";
  const all = byTag.call(inside, "*");
  if (all.length > 8) return "";
  for (const it of all) if (!BLANK_TAGS.has(localNameOf.call(it)) || shadowRootOf.call(it) !== null) return "";
  const body = bodyOf.call(inside);
  if (body !== null && /\S/.test(textContentOf.call(body))) return "";
  blanks.push([el, inside]);
  return mark;
}

/** Whether there is more to what is in an element than what is in it. */
const isSpecial = (tag) => LEAVES.has(tag) || tag === "details" || tag === "select" || tag === "q" || tag.includes("-");

/** Who is told of as a child of somebody else. What is not told of owns nothing, and nobody owns what is not drawn. */
function readOwners() {
  memo.owned = new Set();
  memo.owners = new Map();
  for (const owner of findAll.call(document, "[aria-owns]")) {
    if (!isShown.call(owner) && !isContents(owner) || closest.call(owner, "[aria-hidden=true]") !== null) continue;
    const children = referenced(owner, attributeOf.call(owner, "aria-owns"))
      .filter((child) => !memo.owned.has(child) && !contains.call(child, owner) && isRendered(child));
    for (const child of children) memo.owned.add(child);
    if (children.length > 0) memo.owners.set(owner, children);
  }
}

/** The element that has the focus, also inside shadow trees. */
function deepActive() {
  let active = activeElementOf.call(document);
  while (active) {
    const shadow = shadowOf(active);
    const inner = shadow && shadow.activeElement;
    if (!inner) break;
    active = inner;
  }
  return active;
}

/** The dialog that keeps everything else from being used. */
function modalOf() {
  const all = findAll.call(document, "dialog:modal");
  let last = null;
  for (const dialog of all) {
    const rect = rectOf.call(dialog);
    const hit = document.elementFromPoint(rect.left + rect.width / 2, rect.top + Math.min(rect.height / 2, 20));
    if (last === null || (hit && contains.call(dialog, hit)) || contains.call(last, dialog)) last = dialog;
  }
  return last;
}

function walk(el, depth, around) {
  if (level > MAX_LEVEL) {
    const last = out[out.length - 1];
    if (out.length > 1 && typeof last === "string") out[out.length - 1] = withFlag(last, "c");
    return;
  }
  level++;
  if (!isKeeping) walkAnew(el, depth, around);
  else {
    const known = el[BLOCK];
    if (known !== undefined && isAsBefore(known, el, depth, around)) takeBlock(known);
    else {
      const block = beginBlock(depth, around);
      const isDeep = deepChanges.size > 0 && deepChanges.has(el);
      if (isDeep) deepLevel++;
      walkAnew(el, depth, around);
      if (isDeep) deepLevel--;
      endBlock(el, block);
      // Whether a line break is told depends on what stands before it.
      if (lastBreak === el) el[BLOCK] = undefined;
    }
  }
  level--;
}

function walkAnew(el, depth, around) {
  const tag = localNameOf.call(el);
  if (SILENT.has(tag)) return;
  if (RESTLESS.has(tag) || tag.includes("-")) {
    isRestless = true;
    if (FIELD_TAGS.has(tag)) fields.push(el);
  }
  const attributes = attributesOf(el, tag);
  let mask;
  if (attributes !== null) {
    if (attributes["aria-hidden"] === "true" || attributes.inert !== undefined) {
      if (tellsHidden && attributes["aria-hidden"] === "true") addKept(el, depth);
      return;
    }
    mask = attributes.mask;
  } else {
    mask = maskOfTag(tag);
    if (memo.moving !== null && memo.moving.has(el)) {
      mask = EVERYTHING;
      isRestless = true;
    }
  }
  if (memo.owned !== null && memo.owned.has(el) && around.owner === undefined) return;
  const isHtml = namespaceOf.call(el) === HTML;
  let isFlexible = false, isInline = false;
  if ((mask & DISPLAY) !== 0 || tag === "dialog" || tag === "details" || !isHtml) {
    const display = computed(el).display;
    if (display === "none" && !(isHtml && (tag === "option" || tag === "optgroup" || tag === "area"))) return;
    isFlexible = BLOCKIFYING.test(display);
    isInline = display === "inline";
  }
  if (tag === "input" && inputTypeOf.call(el) === "hidden") return;
  if (tag === "audio" && !hasAttribute.call(el, "controls")) return;
  const isVisible = (mask & VISIBILITY) === 0 ? around.isVisible : isVisibleNow(el, tag);
  if (isVisible === null) return;
  const transform = transformOf(el, tag, mask, around.transform);
  const cursor = (mask & CURSOR) !== 0 ? computed(el).cursor
    : tag === "a" ? (hasAttribute.call(el, "href") ? "pointer" : around.cursor)
    : tag === "button" || tag === "input" || tag === "select" || tag === "textarea" ? "default"
    : around.cursor;
  const sight = firewall ? sightOf(el, tag, mask, around.sight) : PLAIN_SIGHT;
  let role = roleOf(el, tag, isHtml, attributes);
  // A paragraph that lays out boxes, or that is part of a line, is no paragraph of text.
  if (role === "paragraph" && (isFlexible || isInline)) role = "generic";
  // Pictures and cells that mean nothing by themselves mean something when they can be clicked.
  if ((role === "none" || role === "layouttable") && (hearingCount > 0 && hearing.has(el) ||
      attributes !== null && attributes.tabindex !== undefined && isFocusable(el, tag, attributes))) role = "generic";
  let below = depth;
  let flags = "";
  let line = 0, numberBefore = 0;
  let source = "";
  if (tag === "area" && !isMapShown(el)) return;
  if (role === "linebreak") {
    lastBreak = el;
    if (isVisible && out.length > childrenFrom) out.push(`${depth}\t|`);
    return;
  }
  const isSaid = isVisible && role !== "none" && role !== "layouttable";
  let lost = !firewall || !isSaid ? "" : unseenBox(sight, el);
  if (lost === "" && isSaid && firewall && HOLDERS.has(tag) && isSpeck(el)) lost = "zero-size";
  const isTold = isSaid &&
    (lost === "" || tellsHidden || CONTROLS.has(role) || attributes !== null && isFocusable(el, tag, attributes));
  if (isTold) {
    below = depth + 1;
    // Most of a page is text in a link, a cell, a paragraph: no need to put its name together from parts.
    if (NAMED_BY_CONTENT.has(role) && (attributes === null || !hasOwnName(attributes)) && tag !== "button" && tag !== "details" && isHtml) {
      const text = (mask & (BEFORE | AFTER)) === 0 ? onlyText(el, tag) : null;
      if (text !== null) {
        const plain = tidy(transformed(text, transform));
        if (plain !== "") {
          const why = firewall ? unseen(sight, el, null) : "";
          const rest = attributes === null ? restOfPlain(tag, role) : null;
          if (why === "" && rest !== null && !options.boxes) {
            addLine(depth, role, el, SAME, pointerFlag(cursor, around), rest);
            out.push(beginningOfText(below) + plain);
            return;
          }
        }
      }
    }
    // And most of the rest only holds things together.
    if (role === "generic" && (attributes === null || attributes.isBare) && lost === "" &&
        (mask & SCROLL) === 0 && !options.boxes && isHtml && tag !== "label") {
      flags = pointerFlag(cursor, around);
      addLine(depth, ".", el, "", flags, "");
      return walkBelow(el, tag, mask, below, around, cursor, transform, isVisible, sight, isFlexible);
    }
    let name = nameOf(el, tag, role, attributes, mask, transform);
    source = nameSource;
    let [states, rest] = detailsOf(el, tag, isHtml, role, attributes, around, mask);
    // What can be clicked through a drawing on top of it is drawn by that; one with a label stands for it there.
    if (lost === "transparent" && tag === "input" && DRAWN_ANEW.has(inputTypeOf.call(el)) && labelsOf(el) === null && !isSpeck(el)) {
      lost = "";
      isNameUnseen = true;
    }
    // A control can be used where nobody sees it, but what it says is then said to nobody.
    if (lost !== "" && !tellsHidden && !isShownByMouse(el)) {
      if (source !== "related" || isNameUnseen) name = source = "";
      rest = rest.replace(/\t[vr][^\t]*/g, "");
    }
    flags = states + pointerFlag(cursor, around);
    if (name !== "" && source !== "content") flags += "g";
    if (isNameUnseen) flags += "n";
    let more = rest;
    if (options.urls && role === "link") more += urlField(el);
    // What has no name of its own is at least described.
    if (name === "" && lost === "" && attributes !== null && attributes.title) more += `\td${tidy(attributes.title)}`;
    if (options.boxes) more += boxField(el);
    if (lost !== "") {
      flags += "h";
      more += `\tw${lost}`;
    }
    const said = tidy(name);
    if (source === "content" && isNameText && isHtml && lost === "" && !tellsHidden && below <= MAX_DEPTH && !isSpecial(tag)) {
      // It is called what is written in it, and there is nothing else in it.
      const plain = tidy(transformed(onlyText(el, tag), transform));
      if (plain === said && (!firewall || unseen(sight, el, null) === "")) {
        addLine(depth, role === "generic" ? "." : role, el, SAME, flags, more);
        out.push(beginningOfText(below) + plain);
        return;
      }
    }
    line = out.length;
    numberBefore = previousNumber;
    addLine(depth, role === "generic" ? "." : role, el, said, flags, more);
    // What the browser draws to open and close it is told by this line; what it opens stands beside that.
    if (tag === "details" && role === "disclosuretriangle") below = depth;
    if (HOLDERS.has(tag) && (lost === "" || tellsHidden)) holders.push(previousNumber + (tag === "iframe" ? blankMark(el) : ""));
  }
  if (isHtml && LEAVES.has(tag)) return;
  if (below > MAX_DEPTH) {
    if (line > 0) out[line] = withFlag(out[line], "c");
    return;
  }
  const isSaidOff = attributes === null ? undefined : attributes["aria-disabled"];
  const isOff = isSaidOff === "true" || around.isOff && isSaidOff !== "false";
  const next = { active: around.active, isOff, cursor, transform, isVisible, sight, isFlexible };
  if (isHtml && tag === "details" && !openOf.call(el)) {
    const summary = summaryOf(el);
    if (summary !== null) walk(summary, below, next);
    return;
  }
  if (isHtml && tag === "select") return walkOptions(el, below, next);
  const mark = out.length;
  const droppedBefore = dropped;
  walkInside(el, tag, mask, below, next);
  // A paragraph with nothing in it is a gap, not a paragraph.
  if (role === "paragraph" && out.length === mark && line > 0 && flags === "") {
    out.pop();
    previousNumber = numberBefore;
    return;
  }
  if (line > 0 && dropped > droppedBefore && source === "content") {
    if (!CONTROLS.has(role) && out.length === mark && !flags.includes("f")) {
      // Nothing in it can be seen, so there is nothing to be named.
      out.pop();
      previousNumber = numberBefore;
    } else {
      out[line] = withFlag(out[line], "n");
    }
  }
}

function walkBelow(el, tag, mask, depth, around, cursor, transform, isVisible, sight, isFlexible) {
  if (depth > MAX_DEPTH) {
    out[out.length - 1] = withFlag(out[out.length - 1], "c");
    return;
  }
  walkInside(el, tag, mask, depth,
    { active: around.active, isOff: around.isOff, cursor, transform, isVisible, sight, isFlexible });
}

function walkInside(el, tag, mask, depth, next) {
  const { isVisible } = next;
  const from = out.length;
  const only = memo.owners === null ? onlyText(el, tag) : null;
  if (isVisible && (mask & BEFORE) !== 0 && (tag !== "q" || only === null)) addGenerated(el, "::before", depth, next.sight);
  if (only !== null) {
    if (tag.includes("-") || only === "" && HOSTS.has(tag)) mayHost.add(el);
    if (tag === "q" && isVisible) return addQuoted(el, only, depth, next);
    if (only !== "" && isVisible) addText(transformed(only, next.transform), depth, next.sight, el, null);
    if (isVisible && (mask & AFTER) !== 0) addGenerated(el, "::after", depth, next.sight);
    return;
  }
  const shadow = shadowOf(el);
  if (shadow !== null) {
    isRestless = true;
    mayHost.delete(el);
    readShadow(shadow);
  } else if (tag === "slot") {
    const assigned = assignedNodes.call(el);
    if (assigned.length > 0) {
      for (const node of assigned) {
        childrenFrom = from;
        if (nodeTypeOf.call(node) === 1) walk(node, depth, next);
        else if (isVisible) addText(transformed(dataOf.call(node), next.transform), depth, next.sight, el, node);
      }
      return;
    }
  }
  let node = firstChildOf.call(shadow || el);
  if (shadow === null && tag.includes("-")) mayHost.add(el);
  // No function of its own: a page can be deep, and every one of them costs room on the stack.
  for (; node !== null; node = nextSiblingOf.call(node)) {
    const type = nodeTypeOf.call(node);
    childrenFrom = from;
    if (type === 1) walk(node, depth, next);
    else if (type === 3 && isVisible) addText(transformed(dataOf.call(node), next.transform), depth, next.sight, el, node);
  }
  if (memo.owners !== null && memo.owners.has(el)) {
    for (const child of memo.owners.get(el)) walk(child, depth, { ...next, owner: el });
  }
  if (isVisible && (mask & AFTER) !== 0) addGenerated(el, "::after", depth, next.sight);
}

function walkOptions(select, depth, next) {
  for (let child = firstChildOf.call(select); child; child = nextSiblingOf.call(child)) {
    if (nodeTypeOf.call(child) !== 1) continue;
    const tag = localNameOf.call(child);
    if (tag === "option" || tag === "optgroup") walk(child, depth, next);
  }
}

/** Whether an element can be seen through; null when nothing below it can either. */
function isVisibleNow(el) {
  const style = computed(el);
  if (style.contentVisibility === "hidden") return null;
  return style.visibility === "visible";
}

/** Fields that pages make transparent to draw them themselves, and that hold no words of the page's. */
const DRAWN_ANEW = new Set("range checkbox radio file color date time month week datetime-local number".split(" "));

const hasOwnName = (attributes) =>
  attributes["aria-label"] !== undefined || attributes["aria-labelledby"] !== undefined;

/** The rest of the line of an element without attributes; null when more must be asked. */
function restOfPlain(tag, role) {
  if (role === "heading") return `\tl${tag[1]}`;
  return tag === "td" || tag === "th" || tag === "dt" ? "" : null;
}

const pointerFlag = (cursor, around) => cursor === "pointer" && around.cursor !== "pointer" ? "p" : "";

/** Whether a box is too small to be one. */
function isSpeck(el) {
  asksLayout();
  const rect = rectOf.call(el);
  return rect.width <= 1 || rect.height <= 1;
}

/** Whether something that is out of sight now comes into it when the mouse is over what it is in. */
function isShownByMouse(el) {
  if (memo.rules.hovers.size === 0) return false;
  memo.hovers ??= [...memo.rules.hovers].filter((it) => it !== "*").join();
  try {
    return memo.hovers !== "" && closest.call(el, memo.hovers) !== null;
  } catch {
    return false;
  }
}

const imageWidthOf = getter(HTMLImageElement.prototype, "naturalWidth");

/** Whether the picture that an area is part of is there. */
function isMapShown(area) {
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
