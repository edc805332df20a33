// Hit testing: the element at a point, the point of an element that receives events, and points across frames.

/** Topmost element at a point, through shadow trees. */
function hitAt(x, y) {
  let hit = pointInDocument.call(document, x, y);
  for (let shadow; hit !== null && (shadow = anyShadowRootOf(hit)) !== null;) {
    const inner = pointInShadow.call(shadow, x, y);
    if (inner === null || inner === hit) break;
    hit = inner;
  }
  return hit;
}

const HIT_OFFSETS = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]];

/** Nested interactive elements: a click on them is not for the element around. */
const NESTED_TARGETS = "a[href], button, input, select, textarea, summary, [onclick], [tabindex], [contenteditable=''], [contenteditable=true], " +
  "[role=button], [role=link], [role=checkbox], [role=radio], [role=switch], [role=tab], [role=option], [role=menuitem], " +
  "[role=menuitemcheckbox], [role=menuitemradio], [role=treeitem], [role=combobox], [role=textbox], [role=slider], [role=spinbutton]";

/** Returns whether the hit is on another interactive element inside the element. */
function hitsNestedTarget(hit, el) {
  for (let at = hit; at !== null && at !== el && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (isPartOf(at, el)) continue;
    if (matches.call(at, NESTED_TARGETS) || listenerTargets.has(at)) return true;
  }
  return false;
}

/** An element with the same text is part of it, as are the field and button of a combobox. */
const isPartOf = (inner, el) => matches.call(inner, "[role=presentation], [role=none]") ||
  textContentOf.call(inner).trim() !== "" && collapseSpace(textContentOf.call(inner)) === collapseSpace(textContentOf.call(el)) ||
  attributeOf.call(el, "role") === "combobox" &&
    matches.call(inner, "input, [role=textbox], [role=searchbox], [role=button], button");

/** Returns whether an event at the hit element is an event for the element: a descendant or a label of it. */
function isEventFor(hit, el) {
  if (isInside(hit, el)) return true;
  for (let at = hit; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (localNameOf.call(at) === "label" && labelControlOf.call(at) === el) return true;
  }
  // Image map areas are hit themselves.
  return localNameOf.call(el) === "area" && localNameOf.call(hit) === "area" ? hit === el : false;
}

/** Rectangles of the texts of an element outside nested interactive elements. */
function* ownTextRects(el) {
  let left = 40;
  const inside = [el];
  while (inside.length > 0 && left-- > 0) {
    const at = inside.shift();
    for (let child = firstChildOf.call(at); child !== null; child = nextSiblingOf.call(child)) {
      const kind = nodeTypeOf.call(child);
      if (kind === 1 && !matches.call(child, NESTED_TARGETS) && !listenerTargets.has(child)) inside.push(child);
      else if (kind === 3 && dataOf.call(child).trim() !== "") {
        const range = new Range();
        range.selectNode(child);
        yield* range.getClientRects();
      }
    }
  }
}

/** Hit target point of an element, or the element that covers it. `isOwn`: not on a nested interactive element. */
function hitPoint(el, isOwn) {
  let cover = null;
  const tryAt = (x, y) => {
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
    const hit = hitAt(x, y);
    if (hit !== null && isEventFor(hit, el) && !(isOwn && hitsNestedTarget(hit, el) && isInside(hit, el))) return true;
    // A transparent control is clicked on the box that contains it.
    if (hit !== null && hit !== el && isInside(el, hit) && hit !== bodyOf.call(document) && hit !== documentElementOf.call(document) &&
      /^(?:input|select|textarea)$/.test(localNameOf.call(el)) && parseFloat(styleOf(el).opacity) < MIN_ALPHA) return true;
    if (cover === null) cover = hit;
    return false;
  };
  for (const { left, top, width, height } of targetRects(el)) {
    for (const [across, down] of HIT_OFFSETS) {
      const x = left + width * across, y = top + height * down;
      if (tryAt(x, y)) return { x, y };
    }
  }
  if (isOwn) {
    for (const { left, top, width, height } of ownTextRects(el)) {
      const x = left + width / 2, y = top + height / 2;
      if (width > 0 && height > 0 && tryAt(x, y)) return { x, y };
    }
  }
  return { cover };
}

/** Returns whether a frame is rotated, skewed, mirrored or in perspective, as opposed to moved and scaled. */
function isWarped(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const { transform, rotate, scale, perspective, offsetPath } = styleOf(at);
    if (rotate !== "none" || perspective !== "none" || offsetPath !== undefined && offsetPath !== "none" || scale.includes("-")) return true;
    if (transform === "none") continue;
    const [, kind, numbers] = /^(matrix(?:3d)?)\((.*)\)$/.exec(transform) || [];
    if (kind !== "matrix") return true;
    const [across, skewY, skewX, down] = numbers.split(",").map(Number);
    if (skewX !== 0 || skewY !== 0 || across < 0 || down < 0) return true;
  }
  return false;
}

/** Content box of an element: its offset in the border box, and the scale. */
function contentBoxOf(el) {
  const style = styleOf(el), rect = rectOf.call(el);
  const across = el.offsetWidth > 0 ? rect.width / el.offsetWidth : 1, down = el.offsetHeight > 0 ? rect.height / el.offsetHeight : 1;
  return { rect, across, down, left: el.clientLeft + parseFloat(style.paddingLeft), top: el.clientTop + parseFloat(style.paddingTop) };
}

/**
 * Maps a point of a frame's document to this document, and checks that the frame's element is hit there. For a warped
 * frame, `placed` is the point as computed by the browser; without it, `isWarped` is returned. `isLast`: do not scroll.
 */
function mapPointThroughFrame(id, x, y, placed = null, isLast = false) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return { problem: "gone" };
  const warped = isWarped(el);
  if (warped && placed === null) return { isWarped: true };
  const mapped = () => {
    if (warped) return { x: placed[0], y: placed[1] };
    const { rect, across, down, left, top } = contentBoxOf(el);
    return { x: rect.left + (left + x) * across, y: rect.top + (top + y) * down };
  };
  let at = mapped();
  const isIn = () => at.x >= 0 && at.y >= 0 && at.x < innerWidth && at.y < innerHeight;
  let hit = isIn() ? hitAt(at.x, at.y) : null;
  for (let place = 1; !isLast && hit !== el && place < SCROLL_ALIGNMENTS.length; place++) {
    const was = warped ? rectKey(el) : "";
    scrollIntoView.call(el, { ...SCROLL_ALIGNMENTS[place], behavior: "instant" });
    if (!warped) at = mapped();
    if (!isIn()) {
      const box = scrollerOf(parentOf(el) || el, false);
      box.scrollBy({ left: at.x - innerWidth / 2, top: at.y - innerHeight / 2, behavior: "instant" });
      if (!warped) at = mapped();
    }
    // Scrolled: the point has to be computed again.
    if (warped && rectKey(el) !== was) return { isWarped: true };
    hit = isIn() ? hitAt(at.x, at.y) : null;
  }
  if (hit !== el) return hit === null ? { problem: "off-screen" } : { problem: "covered", by: describe(hit), cover: idOf(hit) };
  return at;
}

/** Hit test for a viewport point: the ids along the flat tree path, and the same point inside a frame. */
function elementAt(x, y) {
  const hit = hitAt(x, y);
  if (hit === null) return null;
  const all = [];
  for (let at = hit; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) all.push(at);
  const isFrame = FRAME_TAGS.has(localNameOf.call(hit));
  let inside = null;
  const warped = isFrame && isWarped(hit);
  if (isFrame && !warped) {
    const { rect, across, down, left, top } = contentBoxOf(hit);
    inside = [(x - rect.left) / across - left, (y - rect.top) / down - top];
  }
  return { path: assignIds(all), isFrame, isWarped: warped, inside, was: changedSinceScreenshot(hit, x, y) };
}

/** Centre of a visible `aria-hidden` element; null for others. */
function ariaHiddenPoint(id) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el) || closest.call(el, "[aria-hidden=true]") === null) return null;
  if (!checkVisibility.call(el, { visibilityProperty: true })) return null;
  memo = newMemo();
  try {
    const part = ownHiddenReason(el, computed(el), HIDING) === "" ? visibleRect(el) : null;
    return part === null ? null : [Math.round(part[0] + part[2] / 2), Math.round(part[1] + part[3] / 2)];
  } finally {
    memo = null;
  }
}

/** Viewport position of the content of a frame element. */
function frameContentOrigin(id) {
  const el = elementOf(id);
  if (el === null) return null;
  const rect = rectOf.call(el);
  const style = styleOf(el);
  return [rect.left + el.clientLeft + parseFloat(style.paddingLeft), rect.top + el.clientTop + parseFloat(style.paddingTop)];
}
