// Points chosen on a screenshot: they refer to what was there when it was taken.

/** Actionable elements of the last screenshot, with rectangles and identity texts; null when none was taken. */
let screenshotTargets = null;
const MAX_SCREENSHOT_TARGETS = 2000;
const ACTIONABLE_SELECTOR = "a[href], button, input, select, textarea, summary, label, area, [role], [onclick], [tabindex], [contenteditable]";

/** Records the actionable elements in view while a screenshot is taken. */
function recordScreenshotTargets() {
  screenshotTargets = [];
  for (const tree of [document, ...shadows]) {
    const all = tree === document ? findAll.call(document, ACTIONABLE_SELECTOR) : findAllInFragment.call(tree, ACTIONABLE_SELECTOR);
    for (const el of all) {
      const { left, top, right, bottom } = rectOf.call(el);
      const x = (left + right) / 2, y = (top + bottom) / 2;
      if (right <= left || bottom <= top || x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) continue;
      const hit = hitAt(x, y);
      if (hit === null || !isInside(hit, el)) continue;
      screenshotTargets.push({ el, left, top, right, bottom, identity: identityText(el) });
      if (screenshotTargets.length === MAX_SCREENSHOT_TARGETS) return;
    }
  }
}

/** Description of the element at a point of the last screenshot if another one is there now; otherwise null. */
function changedSinceScreenshot(hit, x, y) {
  if (screenshotTargets === null) return null;
  let was = null;
  const size = ({ left, top, right, bottom }) => (right - left) * (bottom - top);
  for (const it of screenshotTargets) {
    const isIn = x >= it.left && x < it.right && y >= it.top && y < it.bottom;
    if (isIn && (was === null || size(it) < size(was))) was = it;
  }
  if (was !== null) return isConnectedOf.call(was.el) && isInside(hit, was.el) && hasSameIdentity(was.el, was.identity) ? null : describe(was.el);
  const now = closest.call(hit, ACTIONABLE_SELECTOR);
  return now === null || screenshotTargets.some(({ el }) => el === now) ? null : "nothing to act on";
}

/** Visible rectangles of elements as `[x, y, width, height]`; null for those that cannot be seen. */
function visibleRects(ids) {
  memo = newMemo();
  try {
    return ids.map((id) => {
      const el = elementOf(id);
      return el === null ? null : visibleRect(el);
    });
  } finally {
    memo = null;
  }
}

/** Part of an element that no ancestor clips, if nothing covers it. */
function visibleRect(el) {
  let { left, top, right, bottom } = drawnRect(visibleProxy(el));
  const root = documentElementOf.call(document), body = bodyOf.call(document);
  let position = computed(el).position;
  for (let at = flatParentOf(el); at !== null && nodeTypeOf.call(at) === 1 && at !== root && at !== body; at = flatParentOf(at)) {
    const style = computed(at);
    if (style.display === "contents" || style.display === "inline") continue;
    if (position === "absolute" && style.position === "static" && !isFixedContainingBlock(style) || position === "fixed" && !isFixedContainingBlock(style)) continue;
    position = style.position;
    const isCutting = hasPaintContainment(style);
    const box = clipBoxOf(at);
    if (isCutting || style.overflowX !== "visible") [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    if (isCutting || style.overflowY !== "visible") [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
  }
  // A frame's viewport clips too; beyond the page's own viewport, a full-page screenshot continues.
  if (window !== window.parent) {
    [left, top] = [Math.max(left, 0), Math.max(top, 0)];
    [right, bottom] = [Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
  }
  if (right - left < 1 || bottom - top < 1) return null;
  const isFree = HIT_OFFSETS.some(([across, down]) => {
    const x = left + (right - left) * across, y = top + (bottom - top) * down;
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return true;
    const hit = hitAt(x, y);
    return hit === null || isEventFor(hit, el) || isInside(el, hit);
  });
  return isFree ? [left, top, right - left, bottom - top] : null;
}
