// Text colour against its background: whether text can be told from what is painted behind it.

/** Whether a picture is made of nothing but colours that cannot be seen. */
function isClearPicture(image) {
  if (!/^[\w-]*gradient\(/.test(image) || image.includes("url(")) return false;
  const colors = image.match(COLOR_VALUE);
  return colors !== null && colors.every(isClear);
}

const COLOR_VALUE = /(?:rgba?|oklch|oklab|lch|lab|color|hsla?|hwb)\([^()]*\)/g;

/** Colours by how they are written, as red, green, blue and how much of them is drawn. */
const rgbs = new Map();
let canvas = null;

function rgbOf(color) {
  let rgb = rgbs.get(color);
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
  if (rgbs.size > 1000) rgbs.clear();
  rgbs.set(color, rgb);
  return rgb;
}

const numbersIn = (color) => (color.match(/-?[\d.]+/g) || []).map(Number);

const isClear = (color) => {
  if (color === "rgba(0, 0, 0, 0)" || color === "transparent") return true;
  return !color.startsWith("rgb(") && rgbOf(color)[3] < FAINT;
};

const isNear = ([r, g, b], [R, G, B]) => Math.abs(r - R) + Math.abs(g - G) + Math.abs(b - B) <= NEAR;

/** Whether text of a colour may not stand out from its ground, as far as rules say; looked up once for each pair. */
function mayBlend(color, ground) {
  const key = `${color}|${ground}`;
  let verdict = memo.colors.get(key);
  if (verdict === undefined) {
    const said = color === "" ? (isDarkScheme() ? [255, 255, 255, 1] : [0, 0, 0, 1]) : rgbOf(color);
    verdict = said[3] < FAINT || (ground === "" ? isNear(said, canvasColor()) : !canTell(ground, said));
    memo.colors.set(key, verdict);
  }
  return verdict;
}

/** Whether text of a colour stands out from a colour or a picture. */
function canTell(ground, rgb) {
  if (!/^[\w-]+gradient\(/.test(ground) && ground.includes("(") && !/^(url|image|cross-fade|element|paint)/.test(ground)) {
    return !isNear(rgb, rgbOf(ground));
  }
  const colors = ground.includes("url(") ? null : ground.match(COLOR_VALUE);
  return colors === null || colors.some((it) => !isNear(rgb, rgbOf(it)));
}

/** What is behind everything when nothing says otherwise. */
const canvasColor = () => isDarkScheme() ? [18, 18, 18] : [255, 255, 255];

function isDarkScheme() {
  if (memo.isDark === undefined) {
    const root = documentElementOf.call(document);
    let scheme = root === null ? "normal" : styleOf(root).colorScheme;
    if (scheme === "normal") {
      const meta = find.call(document, "meta[name=color-scheme i]");
      scheme = meta === null ? "" : attributeOf.call(meta, "content") || "";
    }
    memo.isDark = /dark/i.test(scheme) && (!/light/i.test(scheme) || darkness.matches);
  }
  return memo.isDark;
}

/**
 * Why text in an element, drawn in a style, cannot be told from what is behind it: the close look at what rules say. Any
 * paint that may be under it counts, unless it is of the same colour.
 */
function blendedIn(el, style, text) {
  const isSvg = namespaceOf.call(el) === SVG && localNameOf.call(el) !== "svg";
  const paint = isSvg ? style.fill : style.webkitTextFillColor || style.color;
  if (isSvg && paint.startsWith("url(")) return "";
  const rgb = paint === "none" ? [0, 0, 0, 0] : rgbOf(paint);
  const isThin = rgb[3] < FAINT;
  if (isSvg) {
    if (style.stroke !== "none" && parseFloat(style.strokeWidth) > 0) return "";
    if (isThin) return "transparent";
    const picture = el.ownerSVGElement;
    if (!picture || findInside.call(picture, SHAPES) !== null) return "";
  } else {
    const stroke = parseFloat(style.webkitTextStrokeWidth) > 0 ? style.webkitTextStrokeColor : "";
    const marks = (style.textShadow.match(COLOR_VALUE) || []).concat(stroke === "" ? [] : stroke).map(rgbOf);
    if (marks.some((mark) => mark[3] >= FAINT && (isThin || !isNear(mark, rgb)))) return "";
  }
  if (!isThin && rgb[3] < 0.5) return "";
  return isOnOther(el, style, text, rgb, isThin) ? "" : isThin ? "transparent" : "same-colour";
}

const SHAPES = "rect, path, circle, ellipse, polygon, image, use, foreignObject";

/** Whether what is behind a text makes it stand out. Text that is not drawn only shows what is cut out by it. */
function isOnOther(el, own, text, rgb, isThin) {
  asksLayout();
  const rect = textRectOf(text);
  const spot = rect.width > 0 ? rect : rectOf.call(el);
  const x = (spot.left + spot.right) / 2, y = (spot.top + spot.bottom) / 2;
  const root = documentElementOf.call(document), body = bodyOf.call(document);
  let ground = null, at = el, style = own;
  for (; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at), style = at !== null && nodeTypeOf.call(at) === 1 ? computed(at) : null) {
    const { backgroundColor, backgroundImage, backgroundClip } = style;
    if (backgroundClip.includes("text")) {
      if (backgroundImage !== "none" ? !isClearPicture(backgroundImage) : !isClear(backgroundColor)) return true;
      continue;
    }
    if (isThin) continue;
    if (style.filter !== "none" || style.mixBlendMode !== "normal" || style.backdropFilter !== "none") return true;
    // What is drawn elsewhere is not its ground.
    const isUnder = at === el || at === root || at === body || holdsPoint(rectOf.call(at), x, y);
    if (!isUnder) continue;
    if (isEdged(at, style, rgb, x, y) || hasGeneratedGround(at, rgb)) return true;
    if (backgroundImage !== "none") {
      if (canTell(backgroundImage, rgb)) return true;
      ground = at;
      break;
    }
    const behind = rgbOf(backgroundColor);
    if (behind[3] < FAINT) continue;
    if (!isNear(behind, rgb)) return true;
    if (behind[3] < 0.9) continue;
    ground = at;
    break;
  }
  if (isThin) return false;
  // Whatever a frame is laid over can be behind it.
  if (ground === null && (globalThis !== top || !isNear(canvasColor(), rgb))) return true;
  return isOverOther(el, ground || root, rgb, x, y);
}

const holdsPoint = (rect, x, y) => rect.left <= x && rect.right >= x && rect.top <= y && rect.bottom >= y;

/** Whether an edge of a box, or what is drawn in place of one, can be behind what is in it. */
function isEdged(el, style, rgb, x, y) {
  if (style.borderImageSource !== "none") return true;
  if (style.boxShadow !== "none" && /inset/.test(style.boxShadow) &&
      style.boxShadow.match(COLOR_VALUE)?.some((color) => !isClear(color) && !isNear(rgbOf(color), rgb))) return true;
  const { borderTopWidth, borderBottomWidth, borderLeftWidth, borderRightWidth } = style;
  if (borderTopWidth === "0px" && borderBottomWidth === "0px" && borderLeftWidth === "0px" && borderRightWidth === "0px") return false;
  const rect = rectOf.call(el);
  const side = y <= rect.top + parseFloat(borderTopWidth) ? style.borderTopColor
    : y >= rect.bottom - parseFloat(borderBottomWidth) ? style.borderBottomColor
    : x <= rect.left + parseFloat(borderLeftWidth) ? style.borderLeftColor
    : x >= rect.right - parseFloat(borderRightWidth) ? style.borderRightColor : "";
  return side !== "" && !isClear(side) && !isNear(rgbOf(side), rgb);
}

/** Whether a box that rules put before or after what is in an element is painted: nobody can ask where it is. */
function hasGeneratedGround(el, rgb) {
  for (const which of ["::before", "::after"]) {
    const style = styleOf(el, which);
    if (style.content === "none" || style.content === "normal" || style.display === "none") continue;
    if (isFree(style.position) && paints(style, rgb)) return true;
  }
  return false;
}

/** Whether a box in this style is painted in another colour. */
const paints = (style, rgb) => style.visibility === "visible" && parseFloat(style.opacity) >= FAINT &&
  (style.backgroundImage !== "none" ? canTell(style.backgroundImage, rgb)
    : !isClear(style.backgroundColor) && !isNear(rgbOf(style.backgroundColor), rgb)) ||
  style.backdropFilter !== "none" || style.borderImageSource !== "none" ||
  style.boxShadow !== "none" && /inset/.test(style.boxShadow);

const PICTURES = /^(?:img|video|canvas|iframe|picture|object|embed|image)$/;
/** How many boxes are looked at for one text, those near to it first. */
const MOST_BESIDE = 1500;

/** Whether a box beside those that an element is in is painted where it is. */
function isOverOther(el, ground, rgb, x, y) {
  const isOther = (other) => {
    if (contains.call(other, el)) return false;
    const tag = localNameOf.call(other);
    if (PICTURES.test(tag)) return true;
    if (tag === "svg") return elementCountOf.call(other) > 0;
    return other !== el && (paints(computed(other), rgb) || hasGeneratedGround(other, rgb));
  };
  if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) {
    for (const under of document.elementsFromPoint(x, y)) if (isOther(under)) return true;
  }
  let count = 0;
  for (let inner = el, box = flatParentOf(el); box !== null && nodeTypeOf.call(box) === 1; inner = box, box = flatParentOf(box)) {
    const others = findAllInside.call(box, "*");
    for (let at = 0; at < others.length && count < MOST_BESIDE; at++) {
      const other = others[at];
      // What is in there was looked at before.
      if (inner !== el && contains.call(inner, other)) continue;
      count++;
      let rect = (memo.rects ??= new Map()).get(other);
      if (rect === undefined) memo.rects.set(other, rect = rectOf.call(other));
      if (rect.width > 0 && holdsPoint(rect, x, y) && isOther(other)) return true;
    }
    if (box === ground || count >= MOST_BESIDE) break;
  }
  return false;
}
