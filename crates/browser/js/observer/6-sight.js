// Whether a person can see a text. What nobody can see is not told: it is how pages speak to programs behind
// the back of those who sent them.

/** Characters that are not drawn: marks for direction, joiners of nothing, tags. Real joiners stay. */
const INVISIBLE = /[\u00ad\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;
const HAS_INVISIBLE = /[\u00ad\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\udb40]/;

/** What tag characters spell: letters that nobody draws and every program reads. */
const spelled = (text) => {
  let words = "";
  for (const [, low] of text.matchAll(/\udb40([\udc20-\udc7e])/g)) words += String.fromCharCode(low.charCodeAt(0) - 0xdc00);
  return words;
};

const visibly = (text) => HAS_INVISIBLE.test(text) ? text.replace(INVISIBLE, "") : text;

/** Less than this cannot be made out. */
const FAINT = 0.05;
const NEAR = 12;

/** Tags that the browser gives colours of their own. */
const COLORED = new Set(["a", "button", "input", "select", "textarea", "mark", "dialog", "option", "fieldset", "legend"]);

/**
 * How well what is directly in an element can be seen: `unseen` is the reason why not, or "".
 * `around` is the same for its parent.
 */
function sightOf(el, tag, mask, around) {
  if ((mask & (SIGHT | COLOR | BACKGROUND)) === 0) {
    // Colours that the browser chooses can be seen.
    return around.color !== "" && COLORED.has(tag) ? { lost: around.lost, tiny: around.tiny, color: "", ground: "" } : around;
  }
  let { lost, tiny, color, ground } = around;
  const style = computed(el);
  if (lost === "") {
    if ((mask & (SIGHT & ~FONT)) !== 0) lost = lostBy(el, style, mask);
    if ((mask & FONT) !== 0) tiny = parseFloat(style.fontSize) < 1;
  }
  if ((mask & COLOR) !== 0) color = style.webkitTextFillColor || style.color;
  else if (COLORED.has(tag)) color = "";
  if ((mask & BACKGROUND) !== 0) {
    if (style.backgroundImage !== "none") ground = "picture";
    else {
      const own = style.backgroundColor;
      if (!isClear(own)) ground = own;
    }
  }
  return { lost, tiny, color, ground };
}

/** Nothing said yet: the browser's own colours. */
const PLAIN_SIGHT = { lost: "", tiny: false, color: "", ground: "" };

/** Why a text with this sight cannot be seen; "" when it can. */
function unseen(sight, el) {
  if (sight === PLAIN_SIGHT) return "";
  if (sight.lost !== "") return sight.lost;
  // What is inside small print can be large again, and no rule about small sizes would tell.
  if (sight.tiny && parseFloat(styleOf(el).fontSize) < 1) return "zero-size";
  if (sight.color === "" && sight.ground === "") return "";
  const key = `${sight.color}|${sight.ground}`;
  let verdict = memo.colors.get(key);
  if (verdict === undefined) memo.colors.set(key, verdict = colorVerdict(sight.color, sight.ground));
  return verdict === "same-colour" && isOnPicture(el) ? "" : verdict;
}

function lostBy(el, style, mask) {
  if ((mask & FADES) !== 0) {
    if (parseFloat(style.opacity) < FAINT) return "transparent";
    if (/opacity\(0(\.0\d*)?%?\)/.test(style.filter)) return "transparent";
  }
  const position = (mask & (CLIPS | MOVES | PLACED)) !== 0 ? style.position : "static";
  const isFree = position === "absolute" || position === "fixed";
  if ((mask & CLIPS) !== 0) {
    const clip = style.clipPath;
    if (clip !== "none" && isNothing(clip)) return "clipped";
    if (isFree && style.clip !== "auto") {
      const [top, right, bottom, left] = (style.clip.match(/-?[\d.]+/g) || []).map(Number);
      if (right - left <= 1 || bottom - top <= 1) return "clipped";
    }
  }
  if ((mask & INDENT) !== 0 && parseFloat(style.textIndent) <= -500) return "off-screen";
  const isMoved = (mask & MOVES) !== 0 &&
    (style.transform !== "none" || style.translate !== "none" || style.scale !== "none");
  const isPulled = (mask & PLACED) !== 0 && (parseFloat(style.marginLeft) <= -500 || parseFloat(style.marginTop) <= -500);
  const isPlaced = isFree || isMoved || isPulled || position === "relative";
  // Asked for one number at a time: a rectangle costs an object that the browser has to make first.
  if ((mask & BOXED) !== 0 && isFlat(el) && (style.overflowX !== "visible" || style.overflowY !== "visible")) return "zero-size";
  if (!isPlaced) return "";
  asksLayout();
  // A box that is pulled out of sight by its edge grows with it; what is in it does not.
  const rect = isPulled ? contentRectOf(el) : rectOf.call(el);
  if (isMoved && (rect.width === 0 || rect.height === 0) && textContentOf.call(el).trim() !== "" && /matrix\(0|scale/.test(style.transform + style.scale)) return "zero-size";
  const root = documentElementOf.call(document);
  const isFixed = position === "fixed";
  const x = isFixed ? 0 : scrollX, y = isFixed ? 0 : scrollY;
  const isOut = rect.right + x <= 0 || rect.bottom + y <= 0 ||
    rect.left + x >= Math.max(root.scrollWidth, innerWidth) ||
    (isFixed && rect.top >= innerHeight) ||
    rect.top + y >= Math.max(root.scrollHeight, innerHeight);
  if (isOut && rect.width + rect.height > 0 && !isScrolledAway(el)) return "off-screen";
  return "";
}

const widthOf = getter(HTMLElement.prototype, "offsetWidth");
const heightOf = getter(HTMLElement.prototype, "offsetHeight");

/** Whether a box has no room for anything. */
function isFlat(el) {
  asksLayout();
  if (el instanceof HTMLElement) return heightOf.call(el) <= 1 || widthOf.call(el) <= 1;
  const rect = rectOf.call(el);
  return rect.width <= 1 || rect.height <= 1;
}

function contentRectOf(el) {
  const range = new Range();
  range.selectNodeContents(el);
  return range.getBoundingClientRect();
}

/** Whether a shape has no area. */
function isNothing(shape) {
  const inset = /^inset\((.*?)(?: round .*)?\)$/.exec(shape);
  if (inset !== null) {
    const sides = inset[1].split(/\s+/);
    const [top, right = top, bottom = top, left = right] = sides;
    const share = (a, b) => a.endsWith("%") && b.endsWith("%") && parseFloat(a) + parseFloat(b) >= 100;
    return share(top, bottom) || share(left, right);
  }
  if (/^(circle|ellipse)\(0(px|%)?( |\))/.test(shape)) return true;
  const polygon = /^polygon\((.*)\)$/.exec(shape);
  if (polygon === null) return false;
  const points = new Set(polygon[1].replace(/^(evenodd|nonzero),\s*/, "").split(/,\s*/));
  return points.size < 3;
}

/** Whether an element is only out of sight because something around it was scrolled. */
function isScrolledAway(el) {
  for (let at = flatParentOf(el); at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (at.scrollLeft !== 0 || at.scrollTop !== 0) return at !== documentElementOf.call(document);
  }
  return false;
}

const isClear = (color) => {
  if (color === "rgba(0, 0, 0, 0)" || color === "transparent") return true;
  if (color.startsWith("rgb(")) return false;
  const parts = numbersIn(color);
  return parts.length === 4 && parts[3] < FAINT;
};

const numbersIn = (color) => (color.match(/-?[\d.]+/g) || []).map(Number);

function colorVerdict(said, ground) {
  const color = said === "" ? (isDarkScheme() ? "rgb(255, 255, 255)" : "rgb(0, 0, 0)") : said;
  if (isClear(color)) return "transparent";
  if (ground === "picture" || !/^rgb/.test(color)) return "";
  const [r, g, b] = numbersIn(color);
  const [R, G, B, A = 1] = ground === "" ? canvasColor() : numbersIn(ground);
  if (!/^(rgb|$)/.test(ground) || A < 0.9) return "";
  return Math.abs(r - R) + Math.abs(g - G) + Math.abs(b - B) <= NEAR ? "same-colour" : "";
}

/** What is behind everything when nothing says otherwise. */
const canvasColor = () => isDarkScheme() ? [18, 18, 18] : [255, 255, 255];

const isDarkScheme = () => {
  const root = documentElementOf.call(document);
  const scheme = root === null ? "" : styleOf(root).colorScheme;
  return /dark/.test(scheme) && (!/light/.test(scheme) || matchMedia("(prefers-color-scheme: dark)").matches);
};

/** Whether something is painted behind an element that is not its background: a picture beside it in the tree. */
function isOnPicture(el) {
  asksLayout();
  const rect = rectOf.call(el);
  const x = rect.left + rect.width / 2, y = rect.top + rect.height / 2;
  if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) {
    for (const under of document.elementsFromPoint(x, y)) {
      if (under === el || contains.call(under, el) && styleOf(under).backgroundImage === "none") continue;
      if (isPainted(under)) return true;
    }
  }
  let box = flatParentOf(el);
  for (let up = 0; up < 6 && box !== null && nodeTypeOf.call(box) === 1; up++, box = flatParentOf(box)) {
    const others = findAllInside.call(box, "img, video, canvas, svg, picture, iframe, [style*=background]");
    for (let at = 0; at < others.length && at < 40; at++) {
      // What it is inside of is known as its ground.
      if (contains.call(others[at], el)) continue;
      const other = rectOf.call(others[at]);
      if (other.left < x && other.right > x && other.top < y && other.bottom > y) return true;
    }
  }
  return false;
}

const isPainted = (el) => {
  if (/^(img|video|canvas|svg|iframe|picture)$/.test(localNameOf.call(el))) return true;
  const style = styleOf(el);
  return style.backgroundImage !== "none" || !isClear(style.backgroundColor);
};
