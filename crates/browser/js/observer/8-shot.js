// Points are chosen on a picture of the page. What was there when the picture was taken is what is meant.

/** What could be acted on in the last picture: where it was and what it was about; null when none was taken. */
let pictured = null;
const MOST_PICTURED = 2000;
const POINTED_AT = "a[href], button, input, select, textarea, summary, label, area, [role], [onclick], [tabindex], [contenteditable]";

/** Remembers what is in view while a picture is taken. */
function notePicture() {
  pictured = [];
  for (const tree of [document, ...shadows]) {
    const all = tree === document ? findAll.call(document, POINTED_AT) : findAllInFragment.call(tree, POINTED_AT);
    for (const el of all) {
      const { left, top, right, bottom } = rectOf.call(el);
      const x = (left + right) / 2, y = (top + bottom) / 2;
      if (right <= left || bottom <= top || x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) continue;
      const hit = hitAt(x, y);
      if (hit === null || !isInside(hit, el)) continue;
      pictured.push({ el, left, top, right, bottom, words: wordsOf(el) });
      if (pictured.length === MOST_PICTURED) return;
    }
  }
}

/** What was at a point of the last picture when something else is there now; null when it is as it was. */
function goneFrom(hit, x, y) {
  if (pictured === null) return null;
  let was = null;
  const size = ({ left, top, right, bottom }) => (right - left) * (bottom - top);
  for (const it of pictured) {
    const isIn = x >= it.left && x < it.right && y >= it.top && y < it.bottom;
    if (isIn && (was === null || size(it) < size(was))) was = it;
  }
  if (was !== null) return isConnectedOf.call(was.el) && isInside(hit, was.el) && wordsOf(was.el) === was.words ? null : described(was.el);
  const now = closest.call(hit, POINTED_AT);
  return now === null || pictured.some(({ el }) => el === now) ? null : "nothing to act on";
}

/** Where the areas with these numbers are drawn, each as x, y, width, height; null for what is no area of a picture. */
function areaBoxes(...numbers) {
  return numbers.map((number) => {
    const el = elementOf(number);
    const map = el === null || el.localName !== "area" ? null : closest.call(el, "map");
    const name = map === null ? "" : attributeOf.call(map, "name") || attributeOf.call(map, "id");
    const image = name ? find.call(document, `img[usemap="#${CSS.escape(name)}" i]`) : null;
    if (image === null) return null;
    const rect = rectOf.call(image), style = styleOf(image);
    const left = rect.left + image.clientLeft + parseFloat(style.paddingLeft);
    const top = rect.top + image.clientTop + parseFloat(style.paddingTop);
    const shape = (attributeOf.call(el, "shape") || "rect").toLowerCase();
    const at = (attributeOf.call(el, "coords") || "").split(",").map(parseFloat).filter((side) => side === side);
    if (shape === "default" || at.length < 3) return [rect.left, rect.top, rect.width, rect.height];
    if (shape[0] === "c") return [left + at[0] - at[2], top + at[1] - at[2], 2 * at[2], 2 * at[2]];
    const xs = at.filter((_, index) => index % 2 === 0), ys = at.filter((_, index) => index % 2 === 1);
    const x = Math.min(...xs), y = Math.min(...ys);
    return [left + x, top + y, Math.max(...xs) - x, Math.max(...ys) - y];
  });
}
