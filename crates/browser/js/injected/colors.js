// Text colour against its background: whether text can be told from what is painted behind it.

/** Returns whether a gradient has only transparent colours. */
function isTransparentImage(image) {
  if (!/^[\w-]*gradient\(/.test(image) || image.includes("url(")) return false;
  const colors = image.match(COLOR_VALUE);
  return colors !== null && colors.every(isTransparent);
}

const COLOR_VALUE = /(?:rgba?|oklch|oklab|lch|lab|color|hsla?|hwb)\([^()]*\)/g;

/** Parsed colours by text: red, green, blue, alpha. */
const rgbCache = new Map();
let canvas = null;

function rgbOf(color) {
  let rgb = rgbCache.get(color);
  if (rgb !== undefined) return rgb;
  if (color.startsWith("rgb")) {
    const [r, g, b, a = 1] = numbersIn(color);
    rgb = [r, g, b, a];
  } else {
    canvas ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "#000";
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    rgb = [r, g, b, a / 255];
  }
  if (rgbCache.size > 1000) rgbCache.clear();
  rgbCache.set(color, rgb);
  return rgb;
}

const numbersIn = (color) => (color.match(/-?[\d.]+/g) || []).map(Number);

const isTransparent = (color) => {
  if (color === "rgba(0, 0, 0, 0)" || color === "transparent") return true;
  return !color.startsWith("rgb(") && rgbOf(color)[3] < MIN_ALPHA;
};

const isSimilarColor = ([r, g, b], [R, G, B]) => Math.abs(r - R) + Math.abs(g - G) + Math.abs(b - B) <= COLOR_TOLERANCE;

/** Returns whether text of a colour may match its background as far as rules say; cached for each pair. */
function mayMatchBackground(color, background) {
  const key = `${color}|${background}`;
  let verdict = memo.colors.get(key);
  if (verdict === undefined) {
    const rgb = color === "" ? (isDarkScheme() ? [255, 255, 255, 1] : [0, 0, 0, 1]) : rgbOf(color);
    verdict = rgb[3] < MIN_ALPHA || (background === "" ? isSimilarColor(rgb, canvasColor()) : !contrastsWith(background, rgb));
    memo.colors.set(key, verdict);
  }
  return verdict;
}

/** Returns whether text of a colour contrasts with a background colour or image. */
function contrastsWith(background, rgb) {
  if (!/^[\w-]+gradient\(/.test(background) && background.includes("(") && !/^(url|image|cross-fade|element|paint)/.test(background)) {
    return !isSimilarColor(rgb, rgbOf(background));
  }
  const colors = background.includes("url(") ? null : background.match(COLOR_VALUE);
  return colors === null || colors.some((it) => !isSimilarColor(rgb, rgbOf(it)));
}

/** Canvas colour: behind everything when no rule sets a background. */
const canvasColor = () => isDarkScheme() ? [18, 18, 18] : [255, 255, 255];

function isDarkScheme() {
  if (memo.isDark === undefined) {
    const root = documentElementOf.call(document);
    let scheme = root === null ? "normal" : styleOf(root).colorScheme;
    if (scheme === "normal") {
      const meta = find.call(document, "meta[name=color-scheme i]");
      scheme = meta === null ? "" : attributeOf.call(meta, "content") || "";
    }
    memo.isDark = /dark/i.test(scheme) && (!/light/i.test(scheme) || prefersDark.matches);
  }
  return memo.isDark;
}

/**
 * Reason why text in an element cannot be told from its background: the close check. Any paint that may lie under it
 * counts, unless it is of the same colour.
 */
function colorHiddenReason(el, style, text) {
  const isSvg = namespaceOf.call(el) === SVG && localNameOf.call(el) !== "svg";
  const paint = isSvg ? style.fill : style.webkitTextFillColor || style.color;
  if (isSvg && paint.startsWith("url(")) return "";
  const rgb = paint === "none" ? [0, 0, 0, 0] : rgbOf(paint);
  const isTransparentText = rgb[3] < MIN_ALPHA;
  if (isSvg) {
    if (style.stroke !== "none" && parseFloat(style.strokeWidth) > 0) return "";
    if (isTransparentText) return "transparent";
    const picture = el.ownerSVGElement;
    if (!picture || findInside.call(picture, SHAPES) !== null) return "";
  } else {
    const stroke = parseFloat(style.webkitTextStrokeWidth) > 0 ? style.webkitTextStrokeColor : "";
    const outlines = (style.textShadow.match(COLOR_VALUE) || []).concat(stroke === "" ? [] : stroke).map(rgbOf);
    if (outlines.some((outline) => outline[3] >= MIN_ALPHA && (isTransparentText || !isSimilarColor(outline, rgb)))) return "";
  }
  if (!isTransparentText && rgb[3] < 0.5) return "";
  return isOnContrastingBackground(el, style, text, rgb, isTransparentText) ? "" : isTransparentText ? "transparent" : "same-colour";
}

const SHAPES = "rect, path, circle, ellipse, polygon, image, use, foreignObject";

/**
 * Returns whether anything behind a text makes it readable. Transparent text shows only through `background-clip:
 * text`.
 */
function isOnContrastingBackground(el, ownStyle, text, rgb, isTransparentText) {
  markLayoutRead();
  const rect = textRectOf(text);
  const spot = rect.width > 0 ? rect : rectOf.call(el);
  const x = (spot.left + spot.right) / 2, y = (spot.top + spot.bottom) / 2;
  const root = documentElementOf.call(document), body = bodyOf.call(document);
  let background = null, at = el, style = ownStyle;
  for (; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at), style = at !== null && nodeTypeOf.call(at) === 1 ? computed(at) : null) {
    const { backgroundColor, backgroundImage, backgroundClip } = style;
    if (backgroundClip.includes("text")) {
      if (backgroundImage !== "none" ? !isTransparentImage(backgroundImage) : !isTransparent(backgroundColor)) return true;
      continue;
    }
    if (isTransparentText) continue;
    if (style.filter !== "none" || style.mixBlendMode !== "normal" || style.backdropFilter !== "none") return true;
    // An ancestor that is drawn elsewhere is no background.
    const isBehind = at === el || at === root || at === body || holdsPoint(rectOf.call(at), x, y);
    if (!isBehind) continue;
    if (hasContrastingEdge(at, style, rgb, x, y) || hasContrastingPseudo(at, rgb)) return true;
    if (backgroundImage !== "none") {
      if (contrastsWith(backgroundImage, rgb)) return true;
      background = at;
      break;
    }
    const backdrop = rgbOf(backgroundColor);
    if (backdrop[3] < MIN_ALPHA) continue;
    if (!isSimilarColor(backdrop, rgb)) return true;
    if (backdrop[3] < 0.9) continue;
    background = at;
    break;
  }
  if (isTransparentText) return false;
  // Anything under a frame can be behind it.
  if (background === null && (globalThis !== top || !isSimilarColor(canvasColor(), rgb))) return true;
  return isOverContrastingPaint(el, background || root, rgb, x, y);
}

const holdsPoint = (rect, x, y) => rect.left <= x && rect.right >= x && rect.top <= y && rect.bottom >= y;

/** Returns whether a border, inset shadow or border image can be behind the content of a box. */
function hasContrastingEdge(el, style, rgb, x, y) {
  if (style.borderImageSource !== "none") return true;
  if (style.boxShadow !== "none" && /inset/.test(style.boxShadow) &&
      style.boxShadow.match(COLOR_VALUE)?.some((color) => !isTransparent(color) && !isSimilarColor(rgbOf(color), rgb))) return true;
  const { borderTopWidth, borderBottomWidth, borderLeftWidth, borderRightWidth } = style;
  if (borderTopWidth === "0px" && borderBottomWidth === "0px" && borderLeftWidth === "0px" && borderRightWidth === "0px") return false;
  const rect = rectOf.call(el);
  const side = y <= rect.top + parseFloat(borderTopWidth) ? style.borderTopColor
    : y >= rect.bottom - parseFloat(borderBottomWidth) ? style.borderBottomColor
    : x <= rect.left + parseFloat(borderLeftWidth) ? style.borderLeftColor
    : x >= rect.right - parseFloat(borderRightWidth) ? style.borderRightColor : "";
  return side !== "" && !isTransparent(side) && !isSimilarColor(rgbOf(side), rgb);
}

/** Returns whether a positioned pseudo-element is painted: its place cannot be queried. */
function hasContrastingPseudo(el, rgb) {
  for (const which of ["::before", "::after"]) {
    const style = styleOf(el, which);
    if (style.content === "none" || style.content === "normal" || style.display === "none") continue;
    if (isOutOfFlow(style.position) && paintsContrast(style, rgb)) return true;
  }
  return false;
}

/** Returns whether a box with this style paints another colour. */
const paintsContrast = (style, rgb) => style.visibility === "visible" && parseFloat(style.opacity) >= MIN_ALPHA &&
  (style.backgroundImage !== "none" ? contrastsWith(style.backgroundImage, rgb)
    : !isTransparent(style.backgroundColor) && !isSimilarColor(rgbOf(style.backgroundColor), rgb)) ||
  style.backdropFilter !== "none" || style.borderImageSource !== "none" ||
  style.boxShadow !== "none" && /inset/.test(style.boxShadow);

const REPLACED_TAGS = /^(?:img|video|canvas|iframe|picture|object|embed|image)$/;
/** Boxes checked for one text, the nearest first. */
const MAX_OVERLAP_CHECKS = 1500;

/** Returns whether a box outside the ancestors of an element paints at its place. */
function isOverContrastingPaint(el, background, rgb, x, y) {
  const isContrasting = (other) => {
    if (contains.call(other, el)) return false;
    const tag = localNameOf.call(other);
    if (REPLACED_TAGS.test(tag)) return true;
    if (tag === "svg") return elementCountOf.call(other) > 0;
    return other !== el && (paintsContrast(computed(other), rgb) || hasContrastingPseudo(other, rgb));
  };
  if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) {
    for (const under of document.elementsFromPoint(x, y)) if (isContrasting(under)) return true;
  }
  let count = 0;
  for (let inner = el, box = flatParentOf(el); box !== null && nodeTypeOf.call(box) === 1; inner = box, box = flatParentOf(box)) {
    const others = findAllInside.call(box, "*");
    for (let at = 0; at < others.length && count < MAX_OVERLAP_CHECKS; at++) {
      const other = others[at];
      // Checked on the level below.
      if (inner !== el && contains.call(inner, other)) continue;
      count++;
      let rect = (memo.rects ??= new Map()).get(other);
      if (rect === undefined) memo.rects.set(other, rect = rectOf.call(other));
      if (rect.width > 0 && holdsPoint(rect, x, y) && isContrasting(other)) return true;
    }
    if (box === background || count >= MAX_OVERLAP_CHECKS) break;
  }
  return false;
}
