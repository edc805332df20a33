// What a hand needs of the page: whether something can be done now and where, that it is done to nothing else, and
// what came of it. All answers are about the moment: nothing is kept but what is being done.

const composedPathOf = Event.prototype.composedPath;
const preventDefault = Event.prototype.preventDefault;
const stopImmediately = Event.prototype.stopImmediatePropagation;
const clientRectsOf = Element.prototype.getClientRects;
const scrollIntoView = Element.prototype.scrollIntoView;
const animationsOf = Element.prototype.getAnimations;
const focusOn = HTMLElement.prototype.focus;
const focusOnSvg = SVGElement.prototype.focus;
const isEditableOf = getter(HTMLElement.prototype, "isContentEditable");
const pointInDocument = Document.prototype.elementFromPoint;
const pointInShadow = ShadowRoot.prototype.elementFromPoint;
const frame = requestAnimationFrame;

/** What something is, for a message: what one would look for in the markup. */
function described(el) {
  if (el === null || nodeTypeOf.call(el) !== 1) return "the page";
  const id = attributeOf.call(el, "id");
  const classes = (attributeOf.call(el, "class") || "").trim().split(/\s+/).filter(Boolean).slice(0, 2);
  const words = (attributeOf.call(el, "aria-label") || collapse(textContentOf.call(el).slice(0, 400))).slice(0, 40);
  return `<${localNameOf.call(el)}${id ? `#${id}` : ""}${classes.map((name) => `.${name}`).join("")}>` +
    (words ? ` ${JSON.stringify(words)}` : "");
}

/** Whether one element is another, or is drawn inside of it. */
function isInside(el, outer) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) if (at === outer) return true;
  return false;
}

/** What is drawn at a point, in whatever shadow tree. */
function hitAt(x, y) {
  let hit = pointInDocument.call(document, x, y);
  for (let shadow; hit !== null && (shadow = shadowOf(hit)) !== null;) {
    const inner = pointInShadow.call(shadow, x, y);
    if (inner === null || inner === hit) break;
    hit = inner;
  }
  return hit;
}

/** Whether a key can change what an element holds. */
function isEditable(el) {
  const tag = localNameOf.call(el);
  if (tag === "input") return !/^(?:button|submit|reset|image|checkbox|radio|file|hidden)$/.test(inputTypeOf.call(el));
  return tag === "textarea" || (el instanceof HTMLElement && isEditableOf.call(el));
}

const isReadOnly = (el) => hasAttribute.call(el, "readonly") && /^(?:input|textarea)$/.test(localNameOf.call(el)) ||
  attributeOf.call(el, "aria-readonly") === "true";

/** A dialog that the page made itself and that is to be answered before anything else. */
function ownModal() {
  const all = findAll.call(document, "[aria-modal=true]");
  for (let at = all.length - 1; at >= 0; at--) {
    if (isShown.call(all[at], { visibilityProperty: true, opacityProperty: true }) && boxesOf(all[at]).length > 0) return all[at];
  }
  return null;
}

/** Why an element takes no orders, or null. */
function refusalOf(el, wants) {
  const modal = modalOf();
  if (modal !== null && !isInside(el, modal)) return { problem: "inert", by: described(modal) };
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (hasAttribute.call(at, "inert")) return { problem: "inert", by: described(at) };
    if (wants.enabled && attributeOf.call(at, "aria-disabled") === "true") return { problem: "disabled", by: "aria-disabled" };
  }
  if (wants.enabled && matches.call(el, ":disabled")) return { problem: "disabled", by: "disabled" };
  // Lists and calendars of a dialog may stand beside it; what cannot be clicked is behind it.
  if (wants.enabled && !wants.point) {
    const own = ownModal();
    if (own !== null && !isInside(el, own) && pointOn(standIn(el), false).cover) return { problem: "inert", by: described(own) };
  }
  if (wants.editable) {
    if (!isEditable(el)) return { problem: "not-editable", by: described(el) };
    if (isReadOnly(el)) return { problem: "read-only", by: "readonly" };
  }
  return null;
}

/** The boxes in which an element is drawn, the largest first. */
function boxesOf(el) {
  if (pictureOf(el) !== null) return [drawnAt(el)];
  let rects = [...clientRectsOf.call(el)];
  if (rects.length === 0 || rects.every(({ width, height }) => width === 0 || height === 0)) {
    // An element without a box of its own is where its content is.
    rects = [...contentRectsOf(el)];
  }
  const size = ({ width, height }) => width * height;
  return rects.filter((rect) => size(rect) > 0).sort((one, other) => size(other) - size(one)).slice(0, 4);
}

const contentRectsOf = (el) => {
  const range = new Range();
  range.selectNodeContents(el);
  return range.getClientRects();
};

/** The picture that an area is part of; null when it is none. */
function pictureOf(area) {
  const map = localNameOf.call(area) === "area" ? closest.call(area, "map") : null;
  const name = map === null ? "" : attributeOf.call(map, "name") || attributeOf.call(map, "id");
  return name ? find.call(document, `img[usemap="#${CSS.escape(name)}" i]`) : null;
}

/** Where an element is drawn; an area of a picture where the picture has it. */
function drawnAt(el) {
  const image = pictureOf(el);
  if (image === null) return rectOf.call(el);
  const rect = rectOf.call(image), style = styleOf(image);
  const left = rect.left + image.clientLeft + parseFloat(style.paddingLeft);
  const top = rect.top + image.clientTop + parseFloat(style.paddingTop);
  const shape = (attributeOf.call(el, "shape") || "rect").toLowerCase();
  const at = (attributeOf.call(el, "coords") || "").split(",").map(parseFloat).filter((side) => side === side);
  if (shape === "default" || at.length < 3) return rect;
  if (shape[0] === "c") return new DOMRect(left + at[0] - at[2], top + at[1] - at[2], 2 * at[2], 2 * at[2]);
  const xs = at.filter((_, index) => index % 2 === 0), ys = at.filter((_, index) => index % 2 === 1);
  const x = Math.min(...xs), y = Math.min(...ys);
  return new DOMRect(left + x, top + y, Math.max(...xs) - x, Math.max(...ys) - y);
}

const SPOTS = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]];

/** Things in an element that clicks are for, rather than for the element. */
const INNER = "a[href], button, input, select, textarea, summary, [onclick], [tabindex], [contenteditable=''], [contenteditable=true], " +
  "[role=button], [role=link], [role=checkbox], [role=radio], [role=switch], [role=tab], [role=option], [role=menuitem], " +
  "[role=menuitemcheckbox], [role=menuitemradio], [role=treeitem], [role=combobox], [role=textbox], [role=slider], [role=spinbutton]";

/** Whether what was hit is something else to click, inside of the element. */
function isOther(hit, el) {
  for (let at = hit; at !== null && at !== el && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (isPartOf(at, el)) continue;
    if (matches.call(at, INNER) || hearing.has(at)) return true;
  }
  return false;
}

/** What says the same is the same thing, as are a combobox and the field or button in it. */
const isPartOf = (inner, el) => matches.call(inner, "[role=presentation], [role=none]") ||
  textContentOf.call(inner).trim() !== "" && collapse(textContentOf.call(inner)) === collapse(textContentOf.call(el)) ||
  attributeOf.call(el, "role") === "combobox" &&
    matches.call(inner, "input, [role=textbox], [role=searchbox], [role=button], button");

/** Whether a click on what was hit is a click on the element: it is inside, or it is a label of it. */
function isMeant(hit, el) {
  if (isInside(hit, el)) return true;
  for (let at = hit; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (localNameOf.call(at) === "label" && labelControlOf.call(at) === el) return true;
  }
  // What stands for an area of a picture is the picture.
  return localNameOf.call(el) === "area" && localNameOf.call(hit) === "area" ? hit === el : false;
}

/** Where the words of an element are that belong to nothing else in it. */
function* ownWords(el) {
  let left = 40;
  const inside = [el];
  while (inside.length > 0 && left-- > 0) {
    const at = inside.shift();
    for (let child = firstChildOf.call(at); child !== null; child = nextSiblingOf.call(child)) {
      const kind = nodeTypeOf.call(child);
      if (kind === 1 && !matches.call(child, INNER) && !hearing.has(child)) inside.push(child);
      else if (kind === 3 && dataOf.call(child).trim() !== "") {
        const range = new Range();
        range.selectNode(child);
        yield* range.getClientRects();
      }
    }
  }
}

/**
 * A point at which an event would reach the element; otherwise what is in the way. `isOwn` says that it must not be on
 * something else to click inside of it.
 */
function pointOn(el, isOwn) {
  let cover = null;
  const tryAt = (x, y) => {
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
    const hit = hitAt(x, y);
    if (hit !== null && isMeant(hit, el) && !(isOwn && isOther(hit, el) && isInside(hit, el))) return true;
    // What cannot be seen itself is clicked where the box is drawn that it is in.
    if (hit !== null && hit !== el && isInside(el, hit) && hit !== bodyOf.call(document) && hit !== documentElementOf.call(document) &&
      /^(?:input|select|textarea)$/.test(localNameOf.call(el)) && parseFloat(styleOf(el).opacity) < FAINT) return true;
    if (cover === null) cover = hit;
    return false;
  };
  for (const { left, top, width, height } of boxesOf(el)) {
    for (const [across, down] of SPOTS) {
      const x = left + width * across, y = top + height * down;
      if (tryAt(x, y)) return { x, y };
    }
  }
  if (isOwn) {
    for (const { left, top, width, height } of ownWords(el)) {
      const x = left + width / 2, y = top + height / 2;
      if (width > 0 && height > 0 && tryAt(x, y)) return { x, y };
    }
  }
  return { cover };
}

/** A label that is drawn in place of a field. */
function standIn(el) {
  if (localNameOf.call(el) !== "input") return el;
  const isThere = isShown.call(el, { visibilityProperty: true, opacityProperty: true }) && boxesOf(el).length > 0;
  if (isThere) return el;
  for (const label of el.labels || []) {
    if (isShown.call(label, { visibilityProperty: true }) && boxesOf(label).length > 0) return label;
  }
  return el;
}

const PLACES = [{ block: "nearest", inline: "nearest" }, { block: "center", inline: "center" },
  { block: "start", inline: "nearest" }, { block: "end", inline: "nearest" }];

/** Attributes by which scripts move things, and when one last did. */
let lastMove = -Infinity;
const STIR_MS = 60;

/** Whether something may be on its way: an animation over it, or a script that moves things. */
function mayMove(el) {
  const now = performance.now();
  if (now - lastMove < STIR_MS || lastShift > 0 && now - lastShift < STIR_MS) return true;
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    for (const animation of animationsOf.call(at)) if (animation.playState === "running") return true;
  }
  return false;
}

/** The next picture; a page that is not drawn has none. */
const nextFrame = () => new Promise((go) => {
  const late = setTimeout(go, 100);
  frame(() => { clearTimeout(late); go(); });
});

const placeOf = (el) => {
  const { left, top, width, height } = rectOf.call(el);
  return [left, top, width, height].map((side) => Math.round(side * 4)).join();
};

/**
 * Whether something can be done to an element now. Gives the point at which to do it, or the reason why not. What is
 * out of view is brought into it first, unless the answer alone is wanted.
 */
async function check(number, wants) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { problem: "gone" };
  const refusal = refusalOf(el, wants);
  if (refusal !== null) return refusal;
  const on = standIn(el);
  if (!wants.point && !wants.visible) return { number, on, fact: factOf(el) };
  // What stands for an area of a picture is not drawn itself.
  const isDrawn = localNameOf.call(on) === "area" || isShown.call(on, { visibilityProperty: true, contentVisibilityAuto: false });
  if (!isDrawn || boxesOf(on).length === 0) {
    return { problem: "hidden", by: hiddenBy(on) };
  }
  if (!wants.point) return { number, on, fact: factOf(el) };
  heedMoves();
  if (mayMove(on)) {
    const was = placeOf(on);
    await nextFrame();
    await nextFrame();
    if (!isConnectedOf.call(on)) return { problem: "gone" };
    if (placeOf(on) !== was) return { problem: "moving" };
  }
  const isOwn = wants.enabled;
  if (wants.at) {
    // A point that somebody chose is taken as it is, as long as the same thing is there.
    const [x, y] = wants.at, hit = hitAt(x, y);
    if (hit === null) return { problem: "off-screen" };
    return isMeant(hit, on) ? { number, x, y, on: hit, fact: factOf(el) }
      : { problem: "covered", by: described(hit), cover: numberOf(hit) };
  }
  let point = pointOn(on, isOwn);
  if (point.x === undefined && wants.dry && point.cover === null) return { number, on, needsScroll: true, fact: factOf(el) };
  if (point.x === undefined && !wants.dry) {
    for (const place of PLACES) {
      scrollIntoView.call(on, { ...place, behavior: "instant" });
      point = pointOn(on, isOwn);
      if (point.x !== undefined) break;
    }
  }
  if (point.x === undefined) {
    if (styleOf(on).pointerEvents === "none") return { problem: "pointer-events", by: "pointer-events: none" };
    const { cover } = point;
    if (cover === null) return { problem: "off-screen" };
    return { problem: "covered", by: described(cover), cover: numberOf(cover) };
  }
  const hit = hitAt(point.x, point.y);
  return { number, x: point.x, y: point.y, on: isMeant(hit, on) ? on : hit, fact: factOf(el) };
}

function hiddenBy(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const style = styleOf(at);
    if (style.display === "none") return `display: none of ${described(at)}`;
    if (style.visibility !== "visible") return `visibility: ${style.visibility}`;
  }
  return "it has no size";
}

/** What an action may change about the element itself. */
function factOf(el) {
  const tag = localNameOf.call(el);
  if (tag === "input") {
    const kind = inputTypeOf.call(el);
    return { kind, isChecked: kind === "checkbox" || kind === "radio" ? checkedOf.call(el) : null };
  }
  const said = attributeOf.call(el, "aria-checked") || attributeOf.call(el, "aria-pressed");
  return { kind: tag, isChecked: said === null ? null : said === "true" };
}

/** What an element is about, so that it can be told whether it still is: its words and those of its row. */
const ROW = "tr, li, dt, dd, [role=row], [role=listitem], [role=option], [role=treeitem], article, [role=article]";

function wordsOf(el) {
  const row = closest.call(el, ROW);
  const own = [attributeOf.call(el, "aria-label"), attributeOf.call(el, "title"), attributeOf.call(el, "href"),
    textContentOf.call(el).slice(0, 500), row === null || row === el ? "" : textContentOf.call(row).slice(0, 1000)].join("\n");
  return own.replace(/\d+/g, "0");
}

/** What a hand is about to do, and to what; null when nothing is being done. */
let deed = null;
/** Nobody takes that long: who has not said that it is over is gone. */
const DEED_MS = 60000;

const HANDS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu"];
const KEYS = ["keydown", "keypress", "keyup", "beforeinput"];
const isPress = /^(?:pointerdown|mousedown|keydown|beforeinput)$/;

/** Lets nothing through to anything but the element that was checked, as long as it is what it was. */
function keepOff(event) {
  if (deed === null || !event.isTrusted || performance.now() > deed.until || deed.guard === "") return;
  const isKey = event instanceof KeyboardEvent || event instanceof InputEvent;
  if (isKey !== (deed.guard === "keys")) return;
  const hit = isKey ? deepActive() : trueTarget(event);
  if (event.type === "mouseup") deed.ups++;
  // Once it was let in, what the page makes of it is the page's own business.
  const isSame = () => deed.hits > 0 || deed.words === wordsOf(deed.el);
  if (deed.guard !== "beside" && hit !== null && isLetThrough(hit, event) && isSame()) {
    if (COUNTED.test(event.type)) deed.hits++;
    return;
  }
  preventDefault.call(event);
  stopImmediately.call(event);
  // What follows a press that was let in is no miss.
  if (deed.missed === "" && deed.hits === 0) {
    deed.missed = deed.guard !== "beside" && hit !== null && isMeant(hit, deed.el) ? "changed" : described(hit);
  }
}

/** Of each press, what says that it has arrived. */
const COUNTED = /^(?:mousedown|click|keydown|beforeinput)$/;

/** What an event is about; inside closed shadow trees that is not told. */
function trueTarget(event) {
  let hit = composedPathOf.call(event)[0];
  if (!(hit instanceof Element)) return null;
  for (let shadow; closedCount > 0 && (shadow = closedRoots.get(hit)) !== undefined;) {
    const inner = pointInShadow.call(shadow, event.clientX, event.clientY);
    if (inner === null || inner === hit) break;
    hit = inner;
  }
  return hit;
}

function isLetThrough(hit, event) {
  const { el, on } = deed;
  if (isMeant(hit, el) || isMeant(hit, on)) return true;
  // Typing moves on where the page moves the focus on, as from one digit of a code to the next.
  if (deed.guard === "keys" && deed.hits > 0) return true;
  // The release belongs to the press. The click that may come of both must be the element's again.
  if (deed.hits > 0 && /^(?:pointerup|mouseup)$/.test(event.type)) return true;
  // A click on a label is followed by one on its field.
  return localNameOf.call(on) === "label" && labelControlOf.call(on) === hit;
}

/** `document.open()` takes all listeners away: they are put up again before anything is done. */
function putUp() {
  for (const name of [...HANDS, ...KEYS]) addEventListener(name, keepOff, { capture: true, passive: false });
}
putUp();

/** Elements that change by themselves: how often they were seen to lately, and since when. */
const restless = new WeakMap();
/** So many changes are no accident, and after so long without one it is over. What changes at once is one change. */
const MANY = 3, LATELY_MS = 4000, AT_ONCE_MS = 10;
/** What has not changed for so many of its own pauses is at rest: it was only being built. */
const PAUSES = 3, PAUSE_MS = 50;

/** Whether a node was changing by itself when the deed began. What still does so is remembered. */
function isRestlessNode(node) {
  const seen = restless.get(node);
  if (seen === undefined || seen.count < MANY) return false;
  const pause = (seen.at - seen.since) / Math.max(1, seen.times - 1);
  if (deed.begun - seen.at > Math.min(LATELY_MS, PAUSES * pause + PAUSE_MS)) return false;
  seen.at = performance.now();
  return true;
}

/** When something was last done, and for how long what changes then may be because of it. */
let lastDeed = -Infinity;
const LATE_MS = 1500, LATE_WEIGHT = 0.3;

function noteRestless(node) {
  const now = performance.now(), seen = restless.get(node);
  const weight = now - lastDeed < LATE_MS ? LATE_WEIGHT : 1;
  if (seen === undefined || now - seen.at > LATELY_MS) {
    restless.set(node, { count: weight, times: 1, since: now, at: now });
    return;
  }
  if (now - seen.at < AT_ONCE_MS) return;
  seen.at = now;
  seen.times++;
  seen.count += weight;
}

/** Takes note of what changes while nothing is being done, and of scripts that move things. */
function heedMoves(records = watcher.takeRecords()) {
  if (records.length === 0) return;
  if (arguments.length === 0) {
    heed(records);
    noteTouched(records);
    spoil();
  }
  if (deed === null) for (const { target } of records) noteRestless(target);
  if (records.some(({ type, attributeName }) => type === "attributes" && attributeName === "style")) lastMove = performance.now();
}

const effects = new MutationObserver(noteEffects);

function noteEffects(records) {
  if (deed === null) return;
  for (const { target, attributeName } of records) {
    if (isRestlessNode(target)) continue;
    deed.mutations++;
    if (attributeName === "style") deed.slides = true;
  }
  deed.stirs += records.length;
}

const SIGNS = ["input", "change", "focusin", "scroll", "toggle", "submit", "reset", "close", "fullscreenchange"];

function noteSign({ type, target }) {
  if (deed === null) return;
  // What we scrolled ourselves to get there.
  if (type === "scroll" && isWhereItWas(target)) return;
  deed.stirs++;
  deed.signs.add(type);
  if (type === "focusin") deed.focused = target;
}

/** Whether something is scrolled as far as it was when it began. */
function isWhereItWas(target) {
  const box = target === document ? document.scrollingElement : target;
  const was = deed.places.get(box);
  return was !== undefined && was[0] === box.scrollLeft && was[1] === box.scrollTop;
}

/** How far everything around an element is scrolled. */
function placesAround(el) {
  const places = new Map();
  const note = (box) => { if (box) places.set(box, [box.scrollLeft, box.scrollTop]); };
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) note(at);
  note(document.scrollingElement);
  return places;
}

/** From here on, what happens is because of what is done. `guard` says what else is kept off: hands or keys. */
function begin(number, guard, on) {
  const el = elementOf(number);
  if (el === null) return false;
  return beginOn(el, guard, on || standIn(el));
}

function beginOn(el, guard, on) {
  heedMoves();
  deed = { el, on, guard, words: wordsOf(el), until: performance.now() + DEED_MS, hits: 0, ups: 0, missed: "", mutations: 0, stirs: 0, slides: false,
    begun: performance.now(), places: placesAround(on),
    signs: new Set(), focused: null, active: deepActive(), value: heldValue(el), checked: factOf(el).isChecked, href: location.href };
  effects.observe(document, WATCHED);
  for (const shadow of shadows) effects.observe(shadow, WATCHED);
  putUp();
  for (const name of SIGNS) addEventListener(name, noteSign, { capture: true, passive: true });
  return true;
}

/** Watches for what comes, in a document that nothing is done to itself. */
function beginBeside() {
  const root = documentElementOf.call(document);
  return root !== null && beginOn(root, "beside", root);
}

/** Watches for what comes of something that is done to no element in particular. */
function beginAnywhere() {
  const root = documentElementOf.call(document);
  return root !== null && beginOn(root, "", root);
}

const heldValue = (el) => {
  switch (localNameOf.call(el)) {
    case "input": return inputValueOf.call(el);
    case "textarea": return areaValueOf.call(el);
    case "select": return [...selectedOptionsOf.call(el)].map((option) => option.value).join("\n");
    default: return isEditable(el) ? textContentOf.call(el) : "";
  }
};

/** Where something changed since the last look; null when that is too much to know. */
let touched = new Set();
const MOST_TOUCHED = 1000;

function noteTouched(records) {
  for (let at = 0; at < records.length && touched !== null; at++) {
    touched.add(records[at].target);
    if (touched.size > MOST_TOUCHED) touched = null;
  }
}

/** Whether something changed since the last look in what an element is about: itself, its row, what is right around it. */
function isTouched(el) {
  if (touched === null) return true;
  const parent = parentOf(el);
  const isSmall = parent !== null && nodeTypeOf.call(parent) === 1 && textContentOf.call(parent).length < 200;
  const scope = closest.call(el, ROW) || (isSmall ? parent : el);
  for (const node of touched) {
    const at = nodeTypeOf.call(node) === 1 ? node : parentOf(node);
    if (at !== null && nodeTypeOf.call(at) === 1 && (isInside(at, scope) || isInside(el, at) && at !== bodyOf.call(document))) return true;
  }
  return false;
}

/** Checks and begins in one step: nothing can happen in between. */
async function ready(number, wants, guard, isSure) {
  // Who looked some time ago has to look again if something happened since then; who looked just now, if it
  // happened here.
  const el = elementOf(number);
  if (isSpoiled() && (!isSure || el === null || isTouched(el))) return { problem: "spoiled" };
  const words = el === null ? "" : wordsOf(el);
  const found = await check(number, wants);
  // The check may have waited for things to come to rest.
  if (found.problem === undefined && wordsOf(el) !== words) return { problem: "spoiled" };
  if (found.problem === undefined && guard !== null) begin(number, guard, found.on || null);
  delete found.on;
  return found;
}

/** What has come of it so far. */
function outcome() {
  if (deed === null) return null;
  noteEffects(effects.takeRecords());
  const { el, hits, ups, missed, mutations, signs, focused, value, checked, href } = deed;
  const active = deepActive();
  // That the element itself takes the focus is what a click does, not what comes of it.
  const isOwn = deed.guard === "hands" && el !== documentElementOf.call(document) && active !== null && isInside(active, el);
  const hasMoved = active !== deed.active && !isOwn;
  return {
    hits, ups, missed, mutations,
    focus: hasMoved && focused !== null || isEditable(el) && active === el && deed.active !== el,
    value: signs.has("input") || signs.has("change") || heldValue(el) !== value || factOf(el).isChecked !== checked,
    scrolled: signs.has("scroll"), toggled: signs.has("toggle") || signs.has("fullscreenchange") || signs.has("close"),
    moved: location.href !== href, gone: !isConnectedOf.call(el),
  };
}

const turnOfEvents = new MessageChannel();
let afterTurn = null;
turnOfEvents.port1.onmessage = () => afterTurn && afterTurn();
/** Lets everything run that waits to. */
const nextTurn = () => new Promise((go) => { afterTurn = go; turnOfEvents.port2.postMessage(0); });

/** Waits until what the action set in motion has come to rest: animations that end, and scripts that move things. */
async function rested(end) {
  // Components begin to move with the next picture.
  const isComponent = rootOf.call(deed.el) instanceof ShadowRoot || localNameOf.call(deed.el).includes("-");
  if (isComponent && deed.mutations > 0) {
    await nextFrame();
    await nextFrame();
    if (deed !== null) noteEffects(effects.takeRecords());
  }
  for (;;) {
    const left = end - performance.now();
    if (deed === null || left <= 0) return;
    const moving = [document, ...shadows].flatMap((tree) => tree.getAnimations()).filter(({ playState, startTime, effect }) => playState === "running" &&
      effect !== null && effect.getComputedTiming().endTime < Infinity && (startTime === null || startTime >= deed.begun - 50));
    if (moving.length > 0) {
      const over = Promise.allSettled(moving.map(({ finished }) => finished));
      await Promise.race([over, new Promise((go) => setTimeout(go, left))]);
      noteEffects(effects.takeRecords());
      continue;
    }
    if (!deed.slides) return;
    deed.slides = false;
    await nextFrame();
    await nextFrame();
    if (deed !== null) noteEffects(effects.takeRecords());
  }
}

/** How many turns without a consequence are enough. */
const QUIET_TURNS = 3;

/** How long a click may take to arrive before somebody asks what became of it. */
const ARRIVAL_MS = 250;

/**
 * Waits until what was done has no more consequences, or the time is up; then says what they are. `ups` is how many
 * times a button of the mouse is going to be released before that; `look` is how to look at the page afterwards.
 */
async function settle(ms, ups = 0, look = null) {
  const begun = performance.now();
  const end = begun + ms;
  let quiet = 0;
  while (deed !== null && deed.ups < ups && performance.now() < begun + ARRIVAL_MS) await nextTurn();
  while (deed !== null && performance.now() < end && quiet < QUIET_TURNS) {
    const before = deed.stirs;
    await nextTurn();
    if (deed === null) break;
    noteEffects(effects.takeRecords());
    quiet = deed.stirs === before ? quiet + 1 : 0;
  }
  if (deed !== null && quiet >= QUIET_TURNS) await rested(end);
  const came = { ...outcome(), isQuiet: quiet >= QUIET_TURNS };
  // Asked for later, a look would have to wait for the picture that comes next.
  if (look !== null && came.isQuiet && came.mutations > 0) came.report = observe(look);
  return came;
}

/** Waits for the first consequence. */
async function sign(ms) {
  const end = performance.now() + ms;
  while (deed !== null && performance.now() < end) {
    const { mutations, focus, value, scrolled, toggled, moved } = outcome();
    if (mutations > 0 || focus || value || scrolled || toggled || moved) return true;
    await Promise.race([nextFrame(), new Promise((go) => setTimeout(go, 10))]);
  }
  return false;
}

/** Waits for anything new, such as what a page makes of an answer. */
async function stir(ms) {
  const end = performance.now() + ms;
  const before = deed === null ? 0 : deed.stirs;
  while (deed !== null && performance.now() < end) {
    noteEffects(effects.takeRecords());
    if (deed.stirs !== before) return true;
    await Promise.race([nextFrame(), new Promise((go) => setTimeout(go, 5))]);
  }
  return false;
}

/** It is done: hands are free again. */
function over() {
  const came = outcome();
  effects.disconnect();
  deed = null;
  lastDeed = performance.now();
  return came;
}

const setInputValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
const setSelected = Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected").set;
const optionValueOf = getter(HTMLOptionElement.prototype, "value");
const optionLabelOf = getter(HTMLOptionElement.prototype, "label");
const optionsOf = getter(HTMLSelectElement.prototype, "options");
const dispatch = EventTarget.prototype.dispatchEvent;

const announce = (el, ...names) => {
  for (const name of names) dispatch.call(el, name === "input" ? new InputEvent(name, { bubbles: true, composed: true }) : new Event(name, { bubbles: true }));
};

const takeFocus = (el) => (el instanceof SVGElement ? focusOnSvg : focusOn).call(el, { preventScroll: true });

/** Kinds of fields that are chosen from, not typed into. */
const CHOSEN = /^(?:date|month|week|time|datetime-local|color|range)$/;

/**
 * Gets a field ready to be typed into: focused, with all that is in it selected. Fields that are not typed into take the
 * value at once. Says what is left to do: `type`, `clear` or nothing.
 */
function prepare(number, value, keeps) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { left: "gone" };
  const tag = localNameOf.call(el);
  if (tag === "input" && CHOSEN.test(inputTypeOf.call(el))) {
    takeFocus(el);
    const before = inputValueOf.call(el), kind = inputTypeOf.call(el);
    setInputValue.call(el, value);
    const now = inputValueOf.call(el);
    const isTaken = now === value || kind === "range" && Number(now) === Number(value) || kind === "color" && now === value.toLowerCase();
    if (!isTaken) {
      setInputValue.call(el, before);
      return { left: "refused" };
    }
    announce(el, "input", "change");
    return { left: "nothing" };
  }
  takeFocus(el);
  if (deepActive() !== el && !isInside(deepActive(), el)) return { left: "unfocused" };
  if (tag === "input" || tag === "textarea") {
    if (keeps) toEnd(el);
    else el.select();
    const held = heldValue(el);
    return { left: value !== "" ? "type" : held !== "" && !keeps ? "clear" : "nothing" };
  }
  const selection = getSelection();
  const range = new Range();
  range.selectNodeContents(el);
  if (keeps) range.collapse(false);
  selection.removeAllRanges();
  selection.addRange(range);
  return { left: value !== "" ? "type" : textContentOf.call(el) !== "" && !keeps ? "clear" : "nothing" };
}

function toEnd(el) {
  try {
    const { length } = heldValue(el);
    el.setSelectionRange(length, length);
  } catch {
    // Numbers and addresses have no selection; typing goes to their end anyway.
  }
}

/** How what a field holds now compares with what was wanted. */
function compareValue(number, wanted, keeps) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { is: "gone" };
  const isField = /^(?:input|textarea)$/.test(localNameOf.call(el));
  const plain = (text) => isField ? text.replace(/\r\n?/g, "\n") : collapse(text);
  const held = plain(isField ? heldValue(el) : innerTextOf.call(el)), want = plain(wanted);
  const oneLine = (text) => localNameOf.call(el) === "input" ? text.replace(/\n/g, "") : text;
  if (held === oneLine(want) || keeps && held.includes(oneLine(want))) return { is: "equal" };
  const letters = (text) => text.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();
  const kind = inputTypeOf.call(el instanceof HTMLInputElement ? el : document.createElement("input"));
  if (letters(held) === letters(want) || kind === "number" && Number(held) === Number(want)) return { is: "formatted" };
  return { is: held === "" ? "empty" : "other", held: areSecret([el])[0] ? MASK : held.slice(0, 200) };
}

/** Chooses options of a list by value, label or position. */
function choose(number, wanted) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { is: "gone" };
  if (localNameOf.call(el) !== "select") return { is: "widget" };
  const all = [...optionsOf.call(el)];
  const nameOf = (option) => collapse(optionLabelOf.call(option));
  const chosen = [];
  for (const want of wanted) {
    const found = (want.startsWith("index=") ? all[Number(want.slice(6))] : undefined) ||
      all.find((option) => optionValueOf.call(option) === want) ||
      all.find((option) => nameOf(option) === collapse(want)) ||
      all.find((option) => nameOf(option).toLowerCase() === collapse(want).toLowerCase());
    if (found === undefined) return { is: "missing", wanted: want, options: all.slice(0, 40).map(nameOf) };
    if (matches.call(found, ":disabled")) return { is: "disabled", wanted: want };
    chosen.push(found);
  }
  if (chosen.length > 1 && !selectMultipleOf.call(el)) return { is: "single" };
  takeFocus(el);
  let isChanged = false;
  for (const option of all) {
    const will = chosen.includes(option);
    if (selectedOf.call(option) === will) continue;
    isChanged = true;
    if (will || selectMultipleOf.call(el)) setSelected.call(option, will);
  }
  if (isChanged) announce(el, "input", "change");
  return { is: "chosen", labels: chosen.map(nameOf), isChanged };
}

/** The nearest thing around an element that can be scrolled; the document when there is none. */
function scrollerOf(el, isAcross) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const style = styleOf(at);
    const room = isAcross ? at.scrollWidth - at.clientWidth : at.scrollHeight - at.clientHeight;
    if (room > 1 && /auto|scroll|overlay/.test(isAcross ? style.overflowX : style.overflowY)) return at;
  }
  return document.scrollingElement || documentElementOf.call(document);
}

/** Scrolls, and says how far it went and what is left. */
function scrollWith(number, { to, x, y }) {
  const el = number === 0 ? documentElementOf.call(document) : elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return null;
  if (to === "view") {
    const at = () => { const { left, top } = rectOf.call(el); return [left, top]; };
    const was = at();
    scrollIntoView.call(el, { block: "center", inline: "nearest", behavior: "instant" });
    const now = at();
    return { x: was[0] - now[0], y: was[1] - now[1], left: 0 };
  }
  const box = scrollerOf(el, y === 0 && x !== 0);
  const was = [box.scrollLeft, box.scrollTop];
  if (to === "end") box.scrollTo({ top: box.scrollHeight, behavior: "instant" });
  else if (to === "start") box.scrollTo({ top: 0, behavior: "instant" });
  else box.scrollBy({ left: x, top: y, behavior: "instant" });
  const left = Math.max(0, box.scrollHeight - box.clientHeight - box.scrollTop);
  return { x: box.scrollLeft - was[0], y: box.scrollTop - was[1], left: Math.round(left) };
}

/** Puts the focus on an element. */
function focusElement(number) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return "gone";
  if (document.hasFocus() && deepActive() === el) return "already";
  // A text in something that takes the focus stands for that.
  for (let at = el, up = 0; at !== null && nodeTypeOf.call(at) === 1 && up < 4; at = flatParentOf(at), up++) {
    takeFocus(at);
    const active = deepActive();
    const isIn = active !== null && isInside(active, at) && (active !== bodyOf.call(document) || isEditable(active));
    if (isIn) return "focused";
  }
  return "refused";
}

/** What holds a frame: whether a point of its document is open to events, and where that is in this document. */
function through(number, x, y) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { problem: "gone" };
  const style = styleOf(el);
  const spot = () => {
    const rect = rectOf.call(el);
    const across = el.offsetWidth > 0 ? rect.width / el.offsetWidth : 1, down = el.offsetHeight > 0 ? rect.height / el.offsetHeight : 1;
    return { x: rect.left + (el.clientLeft + parseFloat(style.paddingLeft) + x) * across,
      y: rect.top + (el.clientTop + parseFloat(style.paddingTop) + y) * down };
  };
  let at = spot();
  const isIn = () => at.x >= 0 && at.y >= 0 && at.x < innerWidth && at.y < innerHeight;
  let hit = isIn() ? hitAt(at.x, at.y) : null;
  for (let place = 1; hit !== el && place < PLACES.length; place++) {
    scrollIntoView.call(el, { ...PLACES[place], behavior: "instant" });
    at = spot();
    if (!isIn()) {
      const box = scrollerOf(parentOf(el) || el, false);
      box.scrollBy({ left: at.x - innerWidth / 2, top: at.y - innerHeight / 2, behavior: "instant" });
      at = spot();
    }
    hit = isIn() ? hitAt(at.x, at.y) : null;
  }
  if (hit !== el) return hit === null ? { problem: "off-screen" } : { problem: "covered", by: described(hit), cover: numberOf(hit) };
  return at;
}

/** What is drawn at a point of the view: the numbers of that and of what it is in, and the same point in a frame. */
function elementAt(x, y) {
  const hit = hitAt(x, y);
  if (hit === null) return null;
  const all = [];
  for (let at = hit; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) all.push(at);
  const isFrame = HOLDERS.has(localNameOf.call(hit));
  let inside = null;
  if (isFrame) {
    const style = styleOf(hit), rect = rectOf.call(hit);
    const across = hit.offsetWidth > 0 ? rect.width / hit.offsetWidth : 1, down = hit.offsetHeight > 0 ? rect.height / hit.offsetHeight : 1;
    inside = [(x - rect.left) / across - hit.clientLeft - parseFloat(style.paddingLeft),
      (y - rect.top) / down - hit.clientTop - parseFloat(style.paddingTop)];
  }
  return { path: remember(all), isFrame, inside, was: goneFrom(hit, x, y) };
}

/** Has what a field holds be nobody's business from here on. */
function hideValue(number) {
  const el = elementOf(number);
  if (el === null) return false;
  passwords.add(el);
  noteChange(el);
  return true;
}
