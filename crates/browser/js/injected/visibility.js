// Visibility of text to a person. Invisible text is left out of the report: it is how pages address programs behind the
// back of their users.

/**
 * Invisible characters: direction marks, joiners, tags. A single joiner, a variation selector or the tags of a flag
 * stay; a run of them has no effect on rendering.
 */
const INVISIBLE = /(\ud83c\udff4(?:\udb40[\udc30-\udc39\udc61-\udc7a]){3,6}\udb40\udc7f)|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]|\ud834[\udd73-\udd7a]|[\u200c\u200d]{2,}|[\ufe00-\ufe0f]{2,}|[\u200c\u200d\ufe00-\ufe0f]{3,}/g;
const HAS_INVISIBLE = /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud834\udb40]/;

/** Text spelled with tag characters: not rendered, but read by programs. */
const decodeTagCharacters = (text) => {
  let words = "";
  for (const [, flag, low] of text.matchAll(/(\ud83c\udff4(?:\udb40[\udc30-\udc7a]){3,6}\udb40\udc7f)|\udb40([\udc20-\udc7e])/g)) {
    if (flag === undefined) words += String.fromCharCode(low.charCodeAt(0) - 0xdc00);
  }
  return words;
};

const stripInvisible = (text) => HAS_INVISIBLE.test(text) ? text.replace(INVISIBLE, "$1") : text;

/** Opacity below which nothing can be made out. */
const MIN_ALPHA = 0.05;
const COLOR_TOLERANCE = 12;
/** Letters lower than this cannot be read, in px. */
const MIN_LETTER_PX = 2;
/** Offsets smaller than this do not trigger a geometry check, in px. */
const FAR_PX = 100;

/** Tags that the user agent sheet gives colours. */
const UA_COLORED_TAGS = new Set(["a", "button", "input", "select", "textarea", "mark", "dialog", "option", "fieldset", "legend"]);

/**
 * Visibility of what is directly in an element. Cheap facts are inherited down the tree: `hiddenReason` why nothing
 * inside can be seen, whatever its own styles; `needsGeometry` that a box around it may be out of sight; `opacity` the
 * product of opacities. Geometry and colours only trigger the close check in `hiddenTextReason`. `inherited`: the same
 * for the parent.
 */
function visibilityOf(el, tag, mask, inherited) {
  if ((mask & (HIDING | COLOR | BACKGROUND)) === 0) {
    // User agent colours are readable.
    return inherited.color !== "" && UA_COLORED_TAGS.has(tag) ? { ...inherited, color: "", background: "" } : inherited;
  }
  let { hiddenReason, needsGeometry, fade, hasSmallFont, color, background } = inherited;
  const style = computed(el);
  if (hiddenReason === "") {
    if ((mask & OPACITY) !== 0) {
      const share = effectiveOpacity(style);
      if (share < 1 && (fade *= share) < MIN_ALPHA) hiddenReason = "transparent";
    }
    if (hiddenReason === "" && (mask & CLIP) !== 0) hiddenReason = clipReason(el, style);
    if (!needsGeometry && (mask & (TRANSFORM | OFFSET | SIZE | TEXT_INDENT | CLIP)) !== 0) needsGeometry = needsGeometryCheck(el, style, mask);
    if ((mask & FONT) !== 0) hasSmallFont = parseFloat(style.fontSize) < MIN_LETTER_PX;
  }
  if ((mask & COLOR) !== 0) color = style.webkitTextFillColor || style.color;
  else if (UA_COLORED_TAGS.has(tag)) color = "";
  if ((mask & BACKGROUND) !== 0) {
    if (style.backgroundImage !== "none") background = style.backgroundImage;
    else {
      const own = style.backgroundColor;
      if (!isTransparent(own)) background = own;
    }
  }
  return { hiddenReason, needsGeometry, fade, hasSmallFont, color, background };
}

/** Visibility at the root: user agent colours. */
const DEFAULT_VISIBILITY = { hiddenReason: "", needsGeometry: false, fade: 1, hasSmallFont: false, color: "", background: "" };

/** Reason why an element with this visibility is hidden as a box; "" when it is not. */
function hiddenBoxReason(visibility, el) {
  return visibility.hiddenReason !== "" ? visibility.hiddenReason : visibility.needsGeometry ? geometryHiddenReason(el, null) : "";
}

/**
 * Reason why a text with this visibility is hidden; "" when it is not. `node`: the text node, null when it is all that
 * `el` has. What rules make look hidden is verified by geometry and colour first: omitting visible text is worse than
 * reporting hidden text.
 */
function hiddenTextReason(visibility, el, node) {
  if (visibility === DEFAULT_VISIBILITY) return "";
  if (visibility.hiddenReason !== "") return visibility.hiddenReason;
  if (visibility.needsGeometry) {
    const why = geometryHiddenReason(el, node === null ? el : node);
    if (why !== "") return why;
  }
  // Descendants can have a larger font again, which no rule about small sizes shows.
  if (visibility.hasSmallFont && isTinyText(el, node)) return "zero-size";
  if (visibility.color === "" && visibility.background === "") return "";
  return mayMatchBackground(visibility.color, visibility.background) ? colorHiddenReason(el, computed(el), node === null ? el : node) : "";
}

/** Reason why an element is hidden by its own properties; "" when it is not. */
function ownHiddenReason(el, style, mask) {
  if ((mask & OPACITY) !== 0 && effectiveOpacity(style) < MIN_ALPHA) return "transparent";
  const clipped = (mask & CLIP) !== 0 ? clipReason(el, style) : "";
  return clipped !== "" ? clipped : needsGeometryCheck(el, style, mask) ? geometryHiddenReason(el, null) : "";
}

/** Opacity of an element from `opacity`, `filter` and `mask`. */
function effectiveOpacity(style) {
  const { opacity, filter, maskImage } = style;
  let share = opacity === "1" ? 1 : parseFloat(opacity);
  if (filter !== "none") {
    const faded = /opacity\(([\d.]+)(%?)\)/.exec(filter);
    if (faded !== null) share *= faded[2] === "" ? +faded[1] : faded[1] / 100;
    const blurred = /blur\(([\d.]+)px\)/.exec(filter);
    if (blurred !== null && blurred[1] >= 40) share = 0;
  }
  if (maskImage !== "none" && maskImage !== undefined && share > 0 && isTransparentImage(maskImage)) share = 0;
  // Without a box, opacity does not apply.
  return share < 1 && style.display === "contents" ? 1 : share;
}

/** "clipped" when a clip shape leaves nothing of an element; otherwise "". */
function clipReason(el, style) {
  const clip = style.clipPath;
  if (clip !== "none" && isEmptyShape(clip, el) && style.display !== "contents") return "clipped";
  if (style.clip !== "auto" && isOutOfFlow(style.position)) {
    const [top, right, bottom, left] = (style.clip.match(/-?[\d.]+/g) || []).map(Number);
    if (right - left <= 1 || bottom - top <= 1) return "clipped";
  }
  return "";
}

const isOutOfFlow = (position) => position === "absolute" || position === "fixed";

/** Returns whether a clip shape has no area. */
function isEmptyShape(shape, el) {
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
  markLayoutRead();
  return rectOf.call(el)[side];
}

/** Returns whether the position or size of an element calls for a geometry check. */
function needsGeometryCheck(el, style, mask) {
  if ((mask & TEXT_INDENT) !== 0) {
    const indent = style.textIndent;
    if (Math.abs(parseFloat(indent)) >= (indent.endsWith("%") ? 50 : FAR_PX)) return true;
  }
  // Number by number: a rectangle costs a wrapper object.
  if ((mask & SIZE) !== 0 && isCollapsedBox(el, style)) return true;
  const position = (mask & (CLIP | TRANSFORM | OFFSET)) !== 0 ? style.position : "static";
  const isTransformed = (mask & TRANSFORM) !== 0 &&
    (style.transform !== "none" || style.translate !== "none" || style.scale !== "none" || style.zoom !== "1");
  const hasNegativeMargin = (mask & OFFSET) !== 0 && (parseFloat(style.marginLeft) <= -FAR_PX || parseFloat(style.marginTop) <= -FAR_PX);
  if (hasNegativeMargin) return true;
  if (!isTransformed && position !== "relative" && !isOutOfFlow(position)) return false;
  markLayoutRead();
  const rect = rectOf.call(el);
  if (isTransformed && (rect.width < MIN_LETTER_PX || rect.height < MIN_LETTER_PX)) return true;
  if (rect.left < -FAR_PX || rect.right <= 0 || rect.left >= innerWidth) return true;
  if (rect.top < innerHeight && position === "fixed") return rect.bottom <= 0;
  if (rect.top + scrollY < -FAR_PX || rect.bottom + scrollY <= 0) return true;
  const root = documentElementOf.call(document);
  return rect.top >= innerHeight && (position === "fixed" || rect.top + scrollY >= root.scrollHeight);
}

const widthOf = getter(HTMLElement.prototype, "offsetWidth");
const heightOf = getter(HTMLElement.prototype, "offsetHeight");

/** Returns whether `contain` clips the contents of a box without `overflow`. */
const hasPaintContainment = (style) => style.contain !== "none" && /paint|strict|content/.test(style.contain);

/** Boxes up to this size have no room for content, in px. */
const FLAT_PX = 4;

/** Returns whether a clipping box has no room for content. */
function isCollapsedBox(el, style) {
  const { overflowX, overflowY } = style;
  if (overflowX === "visible" && overflowY === "visible" && !hasPaintContainment(style)) return false;
  markLayoutRead();
  if (!(el instanceof HTMLElement)) {
    const rect = rectOf.call(el);
    return rect.width <= FLAT_PX || rect.height <= FLAT_PX;
  }
  const height = heightOf.call(el), width = widthOf.call(el);
  if (height <= FLAT_PX || width <= FLAT_PX) return true;
  // Padding can be all of its size.
  const { paddingTop, paddingLeft } = style;
  return paddingTop !== "0px" && height - parseFloat(paddingTop) <= FLAT_PX ||
    paddingLeft !== "0px" && width - parseFloat(paddingLeft) <= FLAT_PX;
}

/** Rectangle of the text in a node. */
function textRectOf(node) {
  markLayoutRead();
  const range = new Range();
  range.selectNodeContents(node);
  return range.getBoundingClientRect();
}

/** Returns whether letters are too low to be read. */
function isTinyText(el, node) {
  if (parseFloat(computed(el).fontSize) >= MIN_LETTER_PX) return false;
  const { height } = textRectOf(node === null ? el : node);
  return height < MIN_LETTER_PX;
}

/** Returns whether an element is the containing block of fixed descendants. */
const isFixedContainingBlock = (style) => style.transform !== "none" || style.filter !== "none" || style.perspective !== "none" ||
  style.translate !== "none" || style.scale !== "none" || style.rotate !== "none" || style.backdropFilter !== "none" ||
  /transform|filter|perspective|translate|scale|rotate/.test(style.willChange) || /paint|layout|strict|content/.test(style.contain);

/** Returns whether a box scrolls to the left of its start. */
const scrollsLeftward = (style) => style.direction === "rtl" && !/^vertical-lr|^sideways-lr/.test(style.writingMode) || /-rl$/.test(style.writingMode);

/**
 * Reason why an element, or a text in it, is hidden by geometry; "" when it is visible or can be scrolled into view.
 * Clipping ancestors count where they have no room for content; what lies beyond the edge of larger ones can be the
 * next page of a carousel.
 */
function geometryHiddenReason(el, text) {
  markLayoutRead();
  let rect = text === null ? rectOf.call(el) : textRectOf(text);
  // Rendered by its parent, such as an option; or without a size of its own but with content.
  if (rect.width === 0 && rect.height === 0) {
    if (text === null) rect = textRectOf(el);
    else if (rectOf.call(el).width > 0 && /^(option|optgroup|select)$/.test(localNameOf.call(el))) rect = rectOf.call(el);
  }
  let { left, top, right, bottom } = rect;
  const hasSize = right - left > 0.5 && bottom - top > 0.5 && (text === null || bottom - top >= MIN_LETTER_PX);
  const root = documentElementOf.call(document), body = bodyOf.call(document);
  const isRootVisible = computed(root).overflowX === "visible" && computed(root).overflowY === "visible";
  let positioning = "static", isScrolledX = false, isScrolledY = false;
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1 && at !== root; at = flatParentOf(at)) {
    const style = computed(at);
    const { display, position } = style;
    if (display === "contents") continue;
    if (positioning === "absolute" && position === "static" && !isFixedContainingBlock(style) || positioning === "fixed" && !isFixedContainingBlock(style)) continue;
    positioning = isOutOfFlow(position) ? position : "static";
    let { overflowX, overflowY } = style;
    if (overflowX === "visible" && overflowY === "visible" && hasPaintContainment(style)) overflowX = overflowY = "clip";
    const isCut = overflowX !== "visible" || overflowY !== "visible";
    if (!isCut || display === "inline" || at === body && isRootVisible) continue;
    if (at === el && text === null) {
      // `overflow` clips contents only. An `hr` is nothing but its edge.
      if ((right - left <= 1 || bottom - top <= 1) && localNameOf.call(el) !== "hr") return "zero-size";
      if (!isCollapsedBox(el, style) || textContentOf.call(el).trim() === "") continue;
    }
    const box = clipBoxOf(at);
    const width = box.right - box.left, height = box.bottom - box.top;
    if (overflowX !== "visible" && width <= 1 || overflowY !== "visible" && height <= 1) return "zero-size";
    if (!isScrolledX) {
      const isOwn = at === el && text !== null && isIndentedAway(at, style);
      const clipped = clipAlong(overflowX, left, right, box.left, box.right, box.startX, box.endX, isOwn ? "off-screen" : "");
      if (typeof clipped === "string") {
        if (clipped !== "") return clipped;
        isScrolledX = true;
      } else [left, right] = clipped;
    }
    if (!isScrolledY) {
      const isOwn = at === el && text !== null && isOnlyPadding(at, style);
      const clipped = clipAlong(overflowY, top, bottom, box.top, box.bottom, box.startY, box.endY, isOwn ? "zero-size" : "");
      if (typeof clipped === "string") {
        if (clipped !== "") return clipped;
        isScrolledY = true;
      } else [top, bottom] = clipped;
    }
  }
  if (!hasSize) return text === null && textContentOf.call(el).trim() === "" || !isScaledAway(el) ? "" : "zero-size";
  if (positioning === "fixed") {
    return right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight ? "off-screen" : "";
  }
  const isRtl = scrollsLeftward(computed(root)) || body !== null && scrollsLeftward(computed(body));
  const across = Math.max(root.scrollWidth, innerWidth), down = Math.max(root.scrollHeight, innerHeight);
  const start = isRtl ? innerWidth - across : 0, end = isRtl ? innerWidth : across;
  return right + scrollX <= start || left + scrollX >= end || bottom + scrollY <= 0 || top + scrollY >= down ? "off-screen" : "";
}

/**
 * Visible part of the interval `from`–`to` in a box from `low` to `high` that can be scrolled from `start` to `end`; or
 * the reason why nothing of it is visible. Beyond a box that only clips may be the next page of a carousel: then
 * `beyond`.
 */
function clipAlong(overflow, from, to, low, high, start, end, beyond) {
  if (overflow === "visible") return [from, to];
  const isFlatBox = high - low <= FLAT_PX;
  if (overflow === "auto" || overflow === "scroll") {
    return to <= start || from >= end ? "off-screen" : isFlatBox ? "zero-size" : [low, high];
  }
  if (to <= low || from >= high) return beyond;
  const [first, last] = [Math.max(from, low), Math.min(to, high)];
  return isFlatBox && last - first <= FLAT_PX ? "zero-size" : [first, last];
}

/** Returns whether a transform, scale or zoom around an element took its size, as opposed to empty content. */
function isScaledAway(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const style = computed(at);
    if (style.display === "inline" || style.display === "contents") continue;
    if (style.transform !== "none" || style.scale !== "none" || style.rotate !== "none" || style.zoom !== "1") return true;
  }
  return false;
}

/** Returns whether indentation or padding moved a text out of its box, as opposed to a line that goes on. */
const isIndentedAway = (el, style) => style.textIndent !== "0px" || parseFloat(style.paddingLeft) >= FAR_PX || parseFloat(style.paddingRight) >= FAR_PX;

/** Returns whether a box has no height but its padding. */
const isOnlyPadding = (el, style) => parseFloat(style.height) <= FLAT_PX ||
  style.boxSizing === "border-box" && parseFloat(style.height) - parseFloat(style.paddingTop) <= FLAT_PX;

const clientWidthOf = getter(Element.prototype, "clientWidth");
const clientHeightOf = getter(Element.prototype, "clientHeight");
const clientLeftOf = getter(Element.prototype, "clientLeft");
const clientTopOf = getter(Element.prototype, "clientTop");
const scrollWidthOf = getter(Element.prototype, "scrollWidth");
const scrollHeightOf = getter(Element.prototype, "scrollHeight");
const scrollLeftOf = getter(Element.prototype, "scrollLeft");
const scrollTopOf = getter(Element.prototype, "scrollTop");

/** Clip rectangle and scroll range of an element, cached. */
function clipBoxOf(el) {
  let box = (memo.clipBoxes ??= new Map()).get(el);
  if (box !== undefined) return box;
  const rect = rectOf.call(el);
  if (!(el instanceof HTMLElement)) {
    box = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom,
      startX: rect.left, endX: rect.right, startY: rect.top, endY: rect.bottom };
  } else {
    const scaleX = rect.width / widthOf.call(el) || 1, scaleY = rect.height / heightOf.call(el) || 1;
    const left = rect.left + clientLeftOf.call(el) * scaleX, top = rect.top + clientTopOf.call(el) * scaleY;
    const right = left + clientWidthOf.call(el) * scaleX, bottom = top + clientHeightOf.call(el) * scaleY;
    const isRtl = scrollsLeftward(computed(el));
    const across = scrollWidthOf.call(el) * scaleX, gone = scrollLeftOf.call(el) * scaleX;
    const startX = isRtl ? right - gone - across : left - gone;
    const startY = top - scrollTopOf.call(el) * scaleY;
    box = { left, top, right, bottom, startX, endX: startX + across, startY, endY: startY + scrollHeightOf.call(el) * scaleY };
  }
  memo.clipBoxes.set(el, box);
  return box;
}

/** Reason why the text of a pseudo-element is hidden; "" when it is not. */
function hiddenPseudoReason(el, style, inherited) {
  const why = hiddenBoxReason(inherited, el);
  if (why !== "") return why;
  if (inherited.fade * effectiveOpacity(style) < MIN_ALPHA) return "transparent";
  const clipped = style.clipPath !== "none" && /^(inset\((50|100)%\)|circle\(0)/.test(style.clipPath) ? "clipped" : "";
  if (clipped !== "") return clipped;
  if (parseFloat(style.fontSize) < 1 || /^matrix\(0, 0, 0, 0,/.test(style.transform) || style.scale === "0") return "zero-size";
  if (isOutOfFlow(style.position)) {
    if (parseFloat(style.left) <= -1000 || parseFloat(style.top) <= -1000) return "off-screen";
    if (style.clip !== "auto") {
      const [top, right, bottom, left] = numbersIn(style.clip);
      if (right - left <= 1 || bottom - top <= 1) return "clipped";
    }
  }
  if (parseFloat(style.textIndent) <= -1000 && BLOCK_DISPLAY.test(style.display)) return "off-screen";
  const color = style.webkitTextFillColor || style.color;
  const { backgroundColor, backgroundImage } = style;
  const background = backgroundImage !== "none" ? backgroundImage : isTransparent(backgroundColor) ? inherited.background : backgroundColor;
  if (!mayMatchBackground(color, background)) return "";
  // Its position is unknown, so only what is all around it counts.
  return isOutOfFlow(style.position) && !isTransparent(color) ? "" : colorHiddenReason(el, style, el);
}
