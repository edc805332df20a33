// Whether a person can see a text. What nobody can see is not told: it is how pages speak to programs behind
// the back of those who sent them.

/**
 * Characters that are not drawn: marks for direction, joiners of nothing, tags. A joiner, a choice of form or the tags of a
 * flag stay; a row of them joins and chooses nothing.
 */
const INVISIBLE = /(\ud83c\udff4(?:\udb40[\udc30-\udc39\udc61-\udc7a]){3,6}\udb40\udc7f)|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]|\ud834[\udd73-\udd7a]|[\u200c\u200d]{2,}|[\ufe00-\ufe0f]{2,}|[\u200c\u200d\ufe00-\ufe0f]{3,}/g;
const HAS_INVISIBLE = /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud834\udb40]/;

/** What tag characters spell: letters that nobody draws and every program reads. */
const spelled = (text) => {
  let words = "";
  for (const [, flag, low] of text.matchAll(/(\ud83c\udff4(?:\udb40[\udc30-\udc7a]){3,6}\udb40\udc7f)|\udb40([\udc20-\udc7e])/g)) {
    if (flag === undefined) words += String.fromCharCode(low.charCodeAt(0) - 0xdc00);
  }
  return words;
};

const visibly = (text) => HAS_INVISIBLE.test(text) ? text.replace(INVISIBLE, "$1") : text;

/** Less than this cannot be made out. */
const FAINT = 0.05;
const NEAR = 12;
/** Letters lower than this are no letters, in px. */
const LEAST_LETTER = 2;
/** A box that is not farther out than this is not worth a closer look, in px. */
const FAR = 100;

/** Tags that the browser gives colours of their own. */
const COLORED = new Set(["a", "button", "input", "select", "textarea", "mark", "dialog", "option", "fieldset", "legend"]);

/**
 * How well what is directly in an element can be seen. What is cheap to know is carried down the tree: `lost` is why
 * nothing inside can be seen, whatever it says itself; `doubt` that a box around it may be out of sight; `fade` how much
 * of it is drawn. Doubts and colours are only a reason to look closer, see `unseen`. `around` is the same for its parent.
 */
function sightOf(el, tag, mask, around) {
  if ((mask & (SIGHT | COLOR | BACKGROUND)) === 0) {
    // Colours that the browser chooses can be seen.
    return around.color !== "" && COLORED.has(tag) ? { ...around, color: "", ground: "" } : around;
  }
  let { lost, doubt, fade, tiny, color, ground } = around;
  const style = computed(el);
  if (lost === "") {
    if ((mask & FADES) !== 0) {
      const share = shareDrawn(style);
      if (share < 1 && (fade *= share) < FAINT) lost = "transparent";
    }
    if (lost === "" && (mask & CLIPS) !== 0) lost = clippedBy(el, style);
    if (!doubt && (mask & (MOVES | PLACED | BOXED | INDENT | CLIPS)) !== 0) doubt = isDoubtful(el, style, mask);
    if ((mask & FONT) !== 0) tiny = parseFloat(style.fontSize) < LEAST_LETTER;
  }
  if ((mask & COLOR) !== 0) color = style.webkitTextFillColor || style.color;
  else if (COLORED.has(tag)) color = "";
  if ((mask & BACKGROUND) !== 0) {
    if (style.backgroundImage !== "none") ground = style.backgroundImage;
    else {
      const own = style.backgroundColor;
      if (!isClear(own)) ground = own;
    }
  }
  return { lost, doubt, fade, tiny, color, ground };
}

/** Nothing said yet: the browser's own colours. */
const PLAIN_SIGHT = { lost: "", doubt: false, fade: 1, tiny: false, color: "", ground: "" };

/** Why an element with this sight cannot be seen as a box; "" when it can. */
function unseenBox(sight, el) {
  return sight.lost !== "" ? sight.lost : sight.doubt ? outOfSight(el, null) : "";
}

/**
 * Why a text with this sight cannot be seen; "" when it can. `node` is the text, null when it is all that `el` has.
 * What looks hidden by rules is looked at closely before that is said: to leave out what can be seen is worse than to
 * tell what cannot.
 */
function unseen(sight, el, node) {
  if (sight === PLAIN_SIGHT) return "";
  if (sight.lost !== "") return sight.lost;
  if (sight.doubt) {
    const why = outOfSight(el, node === null ? el : node);
    if (why !== "") return why;
  }
  // What is inside small print can be large again, and no rule about small sizes would tell.
  if (sight.tiny && isTiny(el, node)) return "zero-size";
  if (sight.color === "" && sight.ground === "") return "";
  return mayBlend(sight.color, sight.ground) ? blendedIn(el, computed(el), node === null ? el : node) : "";
}

/** Why an element with these properties of its own cannot be seen; "" when it can. */
function lostBy(el, style, mask) {
  if ((mask & FADES) !== 0 && shareDrawn(style) < FAINT) return "transparent";
  const clipped = (mask & CLIPS) !== 0 ? clippedBy(el, style) : "";
  return clipped !== "" ? clipped : isDoubtful(el, style, mask) ? outOfSight(el, null) : "";
}

/** How much of an element is drawn, by what fades it. */
function shareDrawn(style) {
  const { opacity, filter, maskImage } = style;
  let share = opacity === "1" ? 1 : parseFloat(opacity);
  if (filter !== "none") {
    const faded = /opacity\(([\d.]+)(%?)\)/.exec(filter);
    if (faded !== null) share *= faded[2] === "" ? +faded[1] : faded[1] / 100;
    const blurred = /blur\(([\d.]+)px\)/.exec(filter);
    if (blurred !== null && blurred[1] >= 40) share = 0;
  }
  if (maskImage !== "none" && maskImage !== undefined && share > 0 && isClearPicture(maskImage)) share = 0;
  // What has no box of its own cannot be faded.
  return share < 1 && style.display === "contents" ? 1 : share;
}

/** Says that a shape leaves nothing of an element; "" when it does not. */
function clippedBy(el, style) {
  const clip = style.clipPath;
  if (clip !== "none" && isNothing(clip, el) && style.display !== "contents") return "clipped";
  if (style.clip !== "auto" && isFree(style.position)) {
    const [top, right, bottom, left] = (style.clip.match(/-?[\d.]+/g) || []).map(Number);
    if (right - left <= 1 || bottom - top <= 1) return "clipped";
  }
  return "";
}

const isFree = (position) => position === "absolute" || position === "fixed";

/** Whether a shape has no area worth the name. */
function isNothing(shape, el) {
  const inset = /^inset\((.*?)(?: round .*)?\)$/.exec(shape);
  if (inset !== null) {
    const [top, right = top, bottom = top, left = right] = inset[1].split(/\s+/);
    const isEmpty = (one, other, size) => one.endsWith("%") && other.endsWith("%")
      ? parseFloat(one) + parseFloat(other) >= 100
      : parseFloat(one) + parseFloat(other) > 0 && size() > 0 && part(one, size) + part(other, size) >= size();
    const part = (side, size) => side.endsWith("%") ? parseFloat(side) / 100 * size() : parseFloat(side) || 0;
    return isEmpty(top, bottom, () => boxSize(el, "height")) || isEmpty(left, right, () => boxSize(el, "width"));
  }
  const round = /^(?:circle|ellipse)\(([\d.]+)(px|%)?(?: ([\d.]+)(px|%))?( at |\))/.exec(shape);
  if (round !== null) return +round[1] === 0 || round[2] === "px" && +round[1] < 1;
  const window = /^(?:xywh|rect)\((.*)\)$/.exec(shape);
  if (window !== null) return shape[0] === "x" && window[1].split(/\s+/).slice(2, 4).some((side) => parseFloat(side) === 0);
  if (/^path\("\s*(?:[Mm][\s\d.,-]*[Zz]?\s*)?"\)$/.test(shape)) return true;
  const polygon = /^polygon\((.*)\)$/.exec(shape);
  if (polygon === null) return false;
  const points = new Set(polygon[1].replace(/^(evenodd|nonzero),\s*/, "").split(/,\s*/));
  if (points.size < 3) return true;
  const places = [...points].map((point) => /^(-?[\d.]+)(?:px)? (-?[\d.]+)(?:px)?$/.exec(point));
  if (places.includes(null)) return false;
  const reach = (at) => Math.max(...places.map((place) => +place[at])) - Math.min(...places.map((place) => +place[at]));
  return reach(1) <= 1 || reach(2) <= 1;
}

function boxSize(el, side) {
  asksLayout();
  return rectOf.call(el)[side];
}

/** Whether a closer look at where an element is could show that it is out of sight. */
function isDoubtful(el, style, mask) {
  if ((mask & INDENT) !== 0) {
    const indent = style.textIndent;
    if (Math.abs(parseFloat(indent)) >= (indent.endsWith("%") ? 50 : FAR)) return true;
  }
  // Asked for one number at a time: a rectangle costs an object that the browser has to make first.
  if ((mask & BOXED) !== 0 && isFlat(el, style)) return true;
  const position = (mask & (CLIPS | MOVES | PLACED)) !== 0 ? style.position : "static";
  const isMoved = (mask & MOVES) !== 0 &&
    (style.transform !== "none" || style.translate !== "none" || style.scale !== "none" || style.zoom !== "1");
  const isPulled = (mask & PLACED) !== 0 && (parseFloat(style.marginLeft) <= -FAR || parseFloat(style.marginTop) <= -FAR);
  if (isPulled) return true;
  if (!isMoved && position !== "relative" && !isFree(position)) return false;
  asksLayout();
  const rect = rectOf.call(el);
  if (isMoved && (rect.width < LEAST_LETTER || rect.height < LEAST_LETTER)) return true;
  if (rect.left < -FAR || rect.right <= 0 || rect.left >= innerWidth) return true;
  if (rect.top < innerHeight && position === "fixed") return rect.bottom <= 0;
  if (rect.top + scrollY < -FAR || rect.bottom + scrollY <= 0) return true;
  const root = documentElementOf.call(document);
  return rect.top >= innerHeight && (position === "fixed" || rect.top + scrollY >= root.scrollHeight);
}

const widthOf = getter(HTMLElement.prototype, "offsetWidth");
const heightOf = getter(HTMLElement.prototype, "offsetHeight");

/** Whether a box draws nothing beyond its edges though it does not say so by `overflow`. */
const cutsByContaining = (style) => style.contain !== "none" && /paint|strict|content/.test(style.contain);

/** Boxes that are not larger than this have no room for anything, in px. */
const FLAT = 4;

/** Whether a box that cuts off what does not fit has no room for anything. */
function isFlat(el, style) {
  const { overflowX, overflowY } = style;
  if (overflowX === "visible" && overflowY === "visible" && !cutsByContaining(style)) return false;
  asksLayout();
  if (!(el instanceof HTMLElement)) {
    const rect = rectOf.call(el);
    return rect.width <= FLAT || rect.height <= FLAT;
  }
  const height = heightOf.call(el), width = widthOf.call(el);
  if (height <= FLAT || width <= FLAT) return true;
  // Edges can be all that there is of it.
  const { paddingTop, paddingLeft } = style;
  return paddingTop !== "0px" && height - parseFloat(paddingTop) <= FLAT ||
    paddingLeft !== "0px" && width - parseFloat(paddingLeft) <= FLAT;
}

/** Where the text in a node is drawn. */
function textRectOf(node) {
  asksLayout();
  const range = new Range();
  range.selectNodeContents(node);
  return range.getBoundingClientRect();
}

/** Whether letters are too low to be any. */
function isTiny(el, node) {
  if (parseFloat(computed(el).fontSize) >= LEAST_LETTER) return false;
  const { height } = textRectOf(node === null ? el : node);
  return height < LEAST_LETTER;
}

/** Whether an element is what everything that is fixed in it is fixed to. */
const holdsFixed = (style) => style.transform !== "none" || style.filter !== "none" || style.perspective !== "none" ||
  style.translate !== "none" || style.scale !== "none" || style.rotate !== "none" || style.backdropFilter !== "none" ||
  /transform|filter|perspective|translate|scale|rotate/.test(style.willChange) || /paint|layout|strict|content/.test(style.contain);

/** Whether a box is scrolled to the left of where it starts. */
const isLeftward = (style) => style.direction === "rtl" && !/^vertical-lr|^sideways-lr/.test(style.writingMode) || /-rl$/.test(style.writingMode);

/**
 * Why an element, or a text in it, is where nobody can see it; "" when it can be seen, or can be scrolled to. What boxes
 * around it cut off is looked at where they have no room for anything; what is beyond the edge of larger ones can be the
 * next page of a gallery.
 */
function outOfSight(el, text) {
  asksLayout();
  let rect = text === null ? rectOf.call(el) : textRectOf(text);
  // Not drawn as text but by what it is in, such as an option; or what has no size but something in it.
  if (rect.width === 0 && rect.height === 0) {
    if (text === null) rect = textRectOf(el);
    else if (rectOf.call(el).width > 0 && /^(option|optgroup|select)$/.test(localNameOf.call(el))) rect = rectOf.call(el);
  }
  let { left, top, right, bottom } = rect;
  const isDrawn = right - left > 0.5 && bottom - top > 0.5 && (text === null || bottom - top >= LEAST_LETTER);
  const root = documentElementOf.call(document), body = bodyOf.call(document);
  const isRootVisible = computed(root).overflowX === "visible" && computed(root).overflowY === "visible";
  let placed = "static", isSlidX = false, isSlidY = false;
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1 && at !== root; at = flatParentOf(at)) {
    const style = computed(at);
    const { display, position } = style;
    if (display === "contents") continue;
    if (placed === "absolute" && position === "static" && !holdsFixed(style) || placed === "fixed" && !holdsFixed(style)) continue;
    placed = isFree(position) ? position : "static";
    let { overflowX, overflowY } = style;
    if (overflowX === "visible" && overflowY === "visible" && cutsByContaining(style)) overflowX = overflowY = "clip";
    const isCut = overflowX !== "visible" || overflowY !== "visible";
    if (!isCut || display === "inline" || at === body && isRootVisible) continue;
    if (at === el && text === null) {
      // Only what is in it is cut off. A line to part things has no more than its edge.
      if ((right - left <= 1 || bottom - top <= 1) && localNameOf.call(el) !== "hr") return "zero-size";
      if (!isFlat(el, style) || textContentOf.call(el).trim() === "") continue;
    }
    const box = cutBoxOf(at);
    const width = box.right - box.left, height = box.bottom - box.top;
    if (overflowX !== "visible" && width <= 1 || overflowY !== "visible" && height <= 1) return "zero-size";
    if (!isSlidX) {
      const isOwn = at === el && text !== null && textIsOwn(at, style);
      const kept = cutAlong(overflowX, left, right, box.left, box.right, box.startX, box.endX, isOwn ? "off-screen" : "");
      if (typeof kept === "string") {
        if (kept !== "") return kept;
        isSlidX = true;
      } else [left, right] = kept;
    }
    if (!isSlidY) {
      const isOwn = at === el && text !== null && isAllEdge(at, style);
      const kept = cutAlong(overflowY, top, bottom, box.top, box.bottom, box.startY, box.endY, isOwn ? "zero-size" : "");
      if (typeof kept === "string") {
        if (kept !== "") return kept;
        isSlidY = true;
      } else [top, bottom] = kept;
    }
  }
  if (!isDrawn) return text === null && textContentOf.call(el).trim() === "" || !isShrunk(el) ? "" : "zero-size";
  if (placed === "fixed") {
    return right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight ? "off-screen" : "";
  }
  const isRtl = isLeftward(computed(root)) || body !== null && isLeftward(computed(body));
  const across = Math.max(root.scrollWidth, innerWidth), down = Math.max(root.scrollHeight, innerHeight);
  const start = isRtl ? innerWidth - across : 0, end = isRtl ? innerWidth : across;
  return right + scrollX <= start || left + scrollX >= end || bottom + scrollY <= 0 || top + scrollY >= down ? "off-screen" : "";
}

/**
 * What a box from `low` to `high` leaves of a stretch in one direction, when it can be scrolled from `start` to `end`; or
 * why nothing of it can be seen. What is beyond a box that only cuts can be the next page of a gallery: then `beyond`.
 */
function cutAlong(overflow, from, to, low, high, start, end, beyond) {
  if (overflow === "visible") return [from, to];
  const isFlat = high - low <= FLAT;
  if (overflow === "auto" || overflow === "scroll") {
    return to <= start || from >= end ? "off-screen" : isFlat ? "zero-size" : [low, high];
  }
  if (to <= low || from >= high) return beyond;
  const [first, last] = [Math.max(from, low), Math.min(to, high)];
  return isFlat && last - first <= FLAT ? "zero-size" : [first, last];
}

/** Whether an element that has no size was made so by something around it, not by having nothing drawn in it. */
function isShrunk(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const style = computed(at);
    if (style.display === "inline" || style.display === "contents") continue;
    if (style.transform !== "none" || style.scale !== "none" || style.rotate !== "none" || style.zoom !== "1") return true;
  }
  return false;
}

/** Whether a text beyond the side of the box that it is in was put there, and is no line that goes on. */
const textIsOwn = (el, style) => style.textIndent !== "0px" || parseFloat(style.paddingLeft) >= FAR || parseFloat(style.paddingRight) >= FAR;

/** Whether a box has no height but that of its edges. */
const isAllEdge = (el, style) => parseFloat(style.height) <= FLAT ||
  style.boxSizing === "border-box" && parseFloat(style.height) - parseFloat(style.paddingTop) <= FLAT;

const clientWidthOf = getter(Element.prototype, "clientWidth");
const clientHeightOf = getter(Element.prototype, "clientHeight");
const clientLeftOf = getter(Element.prototype, "clientLeft");
const clientTopOf = getter(Element.prototype, "clientTop");
const scrollWidthOf = getter(Element.prototype, "scrollWidth");
const scrollHeightOf = getter(Element.prototype, "scrollHeight");
const scrollLeftOf = getter(Element.prototype, "scrollLeft");
const scrollTopOf = getter(Element.prototype, "scrollTop");

/** Where an element cuts off what is in it, and as far as it can be scrolled from where to where. Asked once. */
function cutBoxOf(el) {
  let box = (memo.cuts ??= new Map()).get(el);
  if (box !== undefined) return box;
  const rect = rectOf.call(el);
  if (!(el instanceof HTMLElement)) {
    box = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom,
      startX: rect.left, endX: rect.right, startY: rect.top, endY: rect.bottom };
  } else {
    const scaleX = rect.width / widthOf.call(el) || 1, scaleY = rect.height / heightOf.call(el) || 1;
    const left = rect.left + clientLeftOf.call(el) * scaleX, top = rect.top + clientTopOf.call(el) * scaleY;
    const right = left + clientWidthOf.call(el) * scaleX, bottom = top + clientHeightOf.call(el) * scaleY;
    const isRtl = isLeftward(computed(el));
    const across = scrollWidthOf.call(el) * scaleX, gone = scrollLeftOf.call(el) * scaleX;
    const startX = isRtl ? right - gone - across : left - gone;
    const startY = top - scrollTopOf.call(el) * scaleY;
    box = { left, top, right, bottom, startX, endX: startX + across, startY, endY: startY + scrollHeightOf.call(el) * scaleY };
  }
  memo.cuts.set(el, box);
  return box;
}

/** Why text that rules put before or after what is in an element cannot be seen; "" when it can. */
function unseenGenerated(el, style, around) {
  const why = unseenBox(around, el);
  if (why !== "") return why;
  if (around.fade * shareDrawn(style) < FAINT) return "transparent";
  const clipped = style.clipPath !== "none" && /^(inset\((50|100)%\)|circle\(0)/.test(style.clipPath) ? "clipped" : "";
  if (clipped !== "") return clipped;
  if (parseFloat(style.fontSize) < 1 || /^matrix\(0, 0, 0, 0,/.test(style.transform) || style.scale === "0") return "zero-size";
  if (isFree(style.position)) {
    if (parseFloat(style.left) <= -1000 || parseFloat(style.top) <= -1000) return "off-screen";
    if (style.clip !== "auto") {
      const [top, right, bottom, left] = numbersIn(style.clip);
      if (right - left <= 1 || bottom - top <= 1) return "clipped";
    }
  }
  if (parseFloat(style.textIndent) <= -1000 && BLOCKS.test(style.display)) return "off-screen";
  const color = style.webkitTextFillColor || style.color;
  const { backgroundColor, backgroundImage } = style;
  const ground = backgroundImage !== "none" ? backgroundImage : isClear(backgroundColor) ? around.ground : backgroundColor;
  if (!mayBlend(color, ground)) return "";
  // It can be anywhere near, so only what is all around it counts.
  return isFree(style.position) && !isClear(color) ? "" : blendedIn(el, style, el);
}
