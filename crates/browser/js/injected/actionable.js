// Actionability: whether an element can be acted on now, and the point to act at.

const composedPathOf = Event.prototype.composedPath;
const preventDefault = Event.prototype.preventDefault;
const stopImmediatePropagation = Event.prototype.stopImmediatePropagation;
const clientRectsOf = Element.prototype.getClientRects;
const scrollIntoView = Element.prototype.scrollIntoView;
const animationsOf = Element.prototype.getAnimations;
const focusHtml = HTMLElement.prototype.focus;
const focusOnSvg = SVGElement.prototype.focus;
const isEditableOf = getter(HTMLElement.prototype, "isContentEditable");
const pointInDocument = Document.prototype.elementFromPoint;
const pointInShadow = ShadowRoot.prototype.elementFromPoint;
const nativeRequestFrame = requestAnimationFrame;

/** Description of an element for messages: tag, id, classes, text. */
function describe(el) {
  if (el === null || nodeTypeOf.call(el) !== 1) return "the page";
  const id = attributeOf.call(el, "id");
  const classes = (attributeOf.call(el, "class") || "").trim().split(/\s+/).filter(Boolean).slice(0, 2);
  const label = (attributeOf.call(el, "aria-label") || collapseSpace(textContentOf.call(el).slice(0, 400))).slice(0, 40);
  return `<${localNameOf.call(el)}${id ? `#${id}` : ""}${classes.map((name) => `.${name}`).join("")}>` +
    (label ? ` ${JSON.stringify(label)}` : "");
}

/** Returns whether an element is another, or a flat tree descendant of it. */
function isInside(el, outer) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) if (at === outer) return true;
  return false;
}

const editContextOf = "editContext" in HTMLElement.prototype ? getter(HTMLElement.prototype, "editContext") : () => null;

/** Returns whether an element is a scripted editor: it handles keys by script and renders its own text. */
function isScriptedEditor(el) {
  if (!(el instanceof HTMLElement) || isEditableOf.call(el) || /^(?:input|textarea|select)$/.test(localNameOf.call(el))) return false;
  return editContextOf.call(el) !== null ||
    /^(?:textbox|searchbox)$/.test(attributeOf.call(el, "role")) && hasAttribute.call(el, "tabindex") && el.tabIndex >= 0;
}

/** Returns whether keys can change the content of an element. */
function isEditable(el) {
  const tag = localNameOf.call(el);
  if (tag === "input") return !/^(?:button|submit|reset|image|checkbox|radio|file|hidden)$/.test(inputTypeOf.call(el));
  return tag === "textarea" || (el instanceof HTMLElement && isEditableOf.call(el)) || isScriptedEditor(el);
}

const isReadOnly = (el) => hasAttribute.call(el, "readonly") && /^(?:input|textarea)$/.test(localNameOf.call(el)) ||
  attributeOf.call(el, "aria-readonly") === "true";

/** Modal dialog by `aria-modal`, the last visible one. */
function ariaModal() {
  const all = findAll.call(document, "[aria-modal=true]");
  for (let at = all.length - 1; at >= 0; at--) {
    if (checkVisibility.call(all[at], { visibilityProperty: true, opacityProperty: true }) && targetRects(all[at]).length > 0) return all[at];
  }
  return null;
}

/** Description of the modal dialog in front of an element that a selector or text matches; null when there is none. */
function modalInFrontOf(css, label) {
  const modal = topModal();
  if (modal === null) return null;
  const wanted = collapseSpace(label).toLowerCase();
  const says = (text) => text !== null && collapseSpace(text.slice(0, 2000)).toLowerCase().includes(wanted);
  const isIt = (el) => css !== "" || says(textContentOf.call(el)) ||
    ["aria-label", "placeholder", "title", "alt", "value"].some((name) => says(attributeOf.call(el, name)));
  for (const el of findAll.call(document, css || "body *")) {
    if (!isInside(el, modal) && !isInside(modal, el) && !/^(?:script|style|template)$/.test(localNameOf.call(el)) && isIt(el) &&
      checkVisibility.call(el, { visibilityProperty: true })) return describe(modal);
  }
  return null;
}

/** Reason why the state of an element rules out the action (inert, disabled, not editable, read-only), or null. */
function stateProblem(el, requirements) {
  const modal = topModal();
  if (modal !== null && !isInside(el, modal)) return { problem: "inert", by: describe(modal) };
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (hasAttribute.call(at, "inert")) return { problem: "inert", by: describe(at) };
    if (requirements.enabled && attributeOf.call(at, "aria-disabled") === "true") return { problem: "disabled", by: "aria-disabled" };
  }
  if (requirements.enabled && (matches.call(el, ":disabled") || matches.call(statefulControl(el), ":disabled"))) {
    return { problem: "disabled", by: "disabled" };
  }
  // Pop-up lists and calendars of a dialog may be outside it; only what is covered is behind it.
  if (requirements.enabled && !requirements.point) {
    const ariaDialog = ariaModal();
    if (ariaDialog !== null && !isInside(el, ariaDialog) && hitPoint(visibleProxy(el), false).cover) return { problem: "inert", by: describe(ariaDialog) };
  }
  if (requirements.editable) {
    const field = fieldFor(el);
    if (field === null) return { problem: "not-editable", by: describe(el) };
    if (requirements.enabled && matches.call(field, ":disabled")) return { problem: "disabled", by: "disabled" };
    if (isReadOnly(field)) return { problem: "read-only", by: "readonly" };
  }
  return null;
}

/** Rectangles of an element to act on, the largest first. */
function targetRects(el) {
  if (imageOfArea(el) !== null) return [drawnRect(el)];
  // Without a `summary`, the first line toggles a `details`.
  if (localNameOf.call(el) === "details" && nativeRole(el, "details") === "disclosuretriangle") {
    const { left, top, width, height } = rectOf.call(el);
    const style = styleOf(el);
    const across = clientLeftOf.call(el) + parseFloat(style.paddingLeft), down = clientTopOf.call(el) + parseFloat(style.paddingTop);
    return [{ left: left + across, top: top + down, width: Math.max(width - 2 * across, 1),
      height: Math.min(height - down, parseFloat(style.lineHeight) || parseFloat(style.fontSize) * 1.2) }];
  }
  // The middle of audio controls is the time line; the play button is at the start.
  if (localNameOf.call(el) === "audio") {
    const { left, top, width, height } = rectOf.call(el);
    return width > 0 && height > 0 ? [{ left, top, width: Math.min(width, height), height }] : [];
  }
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

/** Image of an image map area; null for other elements. */
function imageOfArea(area) {
  const map = localNameOf.call(area) === "area" ? closest.call(area, "map") : null;
  const name = map === null ? "" : attributeOf.call(map, "name") || attributeOf.call(map, "id");
  return name ? find.call(document, `img[usemap="#${CSS.escape(name)}" i]`) : null;
}

/** Bounding rectangle of an element; that of an image map area is computed from its `coords`. */
function drawnRect(el) {
  const image = imageOfArea(el);
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

/** Interactive content: inside a label, a click on it does not activate the labelled control. */
const INTERACTIVE_CONTENT = "a[href], button, input, select, textarea, details, embed, iframe, object, img[usemap], audio[controls], video[controls]";
/** Roles with a checked or pressed state. */
const CHECKED_ROLES = "[role=checkbox], [role=radio], [role=switch], [role=menuitemcheckbox], [role=menuitemradio], [aria-pressed]";

/** Control that a click on an element activates through the label around it; null when there is none. */
function labelledControl(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (localNameOf.call(at) === "label") return labelControlOf.call(at);
    if (matches.call(at, INTERACTIVE_CONTENT)) return null;
  }
  return null;
}

/**
 * Control whose state a click on an element changes: the labelled control, or the nearest ancestor with a checked
 * state.
 */
function statefulControl(el) {
  const labelled = labelledControl(el);
  if (labelled !== null && localNameOf.call(labelled) === "input" && /^(?:checkbox|radio|file)$/.test(inputTypeOf.call(labelled))) return labelled;
  if (matches.call(el, INTERACTIVE_CONTENT)) return el;
  for (let at = el, up = 0; at !== null && nodeTypeOf.call(at) === 1 && up < 8; at = flatParentOf(at), up++) {
    if (matches.call(at, CHECKED_ROLES)) return at;
    if (matches.call(at, NESTED_TARGETS)) break;
  }
  return el;
}

/** Id of the control that all elements activate, or of the first element; null when they activate different ones. */
function commonControl(ids) {
  const all = ids.map(elementOf);
  if (all.includes(null)) return null;
  const controls = all.map((el) => labelledControl(el) || el);
  if (controls.some((control) => control !== controls[0])) return null;
  return ids[Math.max(0, all.indexOf(controls[0]))];
}

/** Visible label of a hidden input, or the element itself. */
function visibleProxy(el) {
  if (localNameOf.call(el) !== "input") return el;
  const isVisible = checkVisibility.call(el, { visibilityProperty: true, opacityProperty: true }) && targetRects(el).length > 0;
  if (isVisible) return el;
  for (const label of el.labels || []) {
    if (checkVisibility.call(label, { visibilityProperty: true }) && targetRects(label).length > 0) return label;
  }
  return el;
}

/** Elements to dispatch events to, the best first: an input, then its labels. */
function eventTargetsFor(el, eventTarget) {
  if (eventTarget !== el || localNameOf.call(el) !== "input") return [eventTarget];
  const labels = [...(el.labels || [])].filter((label) => checkVisibility.call(label, { visibilityProperty: true }) && targetRects(label).length > 0);
  return [eventTarget, ...labels];
}

const SCROLL_ALIGNMENTS = [{ block: "nearest", inline: "nearest" }, { block: "center", inline: "center" },
  { block: "start", inline: "nearest" }, { block: "end", inline: "nearest" }];

/** Time of the last change of a style attribute, by which scripts move elements. */
let lastStyleMove = -Infinity;
const MOVING_MS = 60;

/** Returns whether an element may be moving: a running animation around it, or recent style changes. */
function mayBeMoving(el) {
  const now = performance.now();
  if (now - lastStyleMove < MOVING_MS || lastLayoutShift > 0 && now - lastLayoutShift < MOVING_MS) return true;
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    for (const animation of animationsOf.call(at)) if (animation.playState === "running") return true;
  }
  return false;
}

/** Resolves with the next animation frame, or after 100 ms on a page that is not rendered. */
const nextFrame = () => new Promise((go) => {
  const late = setOwnTimeout(go, 100);
  requestOwnFrame(() => { clearTimeout(late); go(); });
});

/** Waits two animation frames: changes of one are painted in the next. */
async function nextTwoFrames() {
  await nextFrame();
  await nextFrame();
  return true;
}

/** Period without mutations after which the page counts as quiet, and the longest wait for it. */
const QUIET_MS = 100, MAX_QUIET_WAIT_MS = 1000;

/** Waits until the page has reacted to the pointer position, by frames or timers. */
async function waitForQuietDom() {
  const begun = performance.now();
  let last = begun;
  const observer = new MutationObserver(() => { last = performance.now(); });
  observer.observe(document, OBSERVE_ALL);
  for (const shadow of shadows) observer.observe(shadow, OBSERVE_ALL);
  await nextTwoFrames();
  while (performance.now() - last < QUIET_MS && performance.now() - begun < MAX_QUIET_WAIT_MS) {
    await new Promise((go) => setOwnTimeout(go, 10));
  }
  observer.disconnect();
  return true;
}

const rectKey = (el) => {
  const { left, top, width, height } = rectOf.call(el);
  return [left, top, width, height].map((side) => Math.round(side * 4)).join();
};

/**
 * Checks actionability. Returns the point to act at, or the problem. An element out of view is scrolled into view
 * first, unless the check is `dry`.
 */
async function checkActionability(id, requirements) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return { problem: "gone" };
  const refusal = stateProblem(el, requirements);
  if (refusal !== null) return refusal;
  let eventTarget = visibleProxy(el);
  if (!requirements.point && !requirements.visible) return { id, eventTarget, controlState: controlState(el) };
  // An image map area has no box of its own.
  const isDrawn = localNameOf.call(eventTarget) === "area" || checkVisibility.call(eventTarget, { visibilityProperty: true, contentVisibilityAuto: false });
  if (!isDrawn || targetRects(eventTarget).length === 0) {
    return { problem: "hidden", by: hiddenCause(eventTarget) };
  }
  if (!requirements.point) {
    const field = requirements.editable ? fieldFor(el) : el;
    return { id, eventTarget: field === el ? eventTarget : field, field: field === el ? undefined : assignIds([field])[0], controlState: controlState(el) };
  }
  recordStyleMoves();
  if (mayBeMoving(eventTarget)) {
    const was = rectKey(eventTarget);
    await nextFrame();
    await nextFrame();
    if (!isConnectedOf.call(eventTarget)) return { problem: "gone" };
    if (rectKey(eventTarget) !== was) return { problem: "moving" };
  }
  const isOwn = requirements.enabled;
  if (requirements.at) {
    // A given point is used as it is, as long as it hits the same element.
    const [x, y] = requirements.at, hit = hitAt(x, y);
    if (hit === null) return { problem: "off-screen" };
    return isEventFor(hit, eventTarget) ? { id, x, y, eventTarget: hit, controlState: controlState(el) }
      : { problem: "covered", by: describe(hit), cover: idOf(hit) };
  }
  const targets = eventTargetsFor(el, eventTarget);
  let point = null;
  const isReached = (target) => {
    const found = hitPoint(target, isOwn);
    if (found.x !== undefined) eventTarget = target;
    if (found.x !== undefined || point === null || point.cover === null) point = found;
    return found.x !== undefined;
  };
  // Out of view: scroll. Labels serve an element that is covered.
  const isFound = isReached(targets[0]) || point.cover !== null && targets.slice(1).some(isReached);
  if (!isFound && requirements.dry && point.cover === null) return { id, eventTarget, needsScroll: true, controlState: controlState(el) };
  if (!isFound && !requirements.dry) {
    point = null;
    targets.some((target) => SCROLL_ALIGNMENTS.some((place) => {
      scrollIntoView.call(target, { ...place, behavior: "instant" });
      return isReached(target);
    }));
  }
  if (point.x === undefined) {
    if (targets.length === 1 && styleOf(eventTarget).pointerEvents === "none") return { problem: "pointer-events", by: "pointer-events: none" };
    const { cover } = point;
    if (cover === null) return { problem: "off-screen" };
    return { problem: "covered", by: describe(cover), cover: idOf(cover) };
  }
  const hit = hitAt(point.x, point.y);
  return { id, x: point.x, y: point.y, eventTarget: isEventFor(hit, eventTarget) ? eventTarget : hit, controlState: controlState(el) };
}

function hiddenCause(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const style = styleOf(at);
    if (style.display === "none") return `display: none of ${describe(at)}`;
    if (style.visibility !== "visible") return `visibility: ${style.visibility}`;
  }
  return "it has no size";
}

/** State that an action may change, of the element or of the control that it stands for. */
function controlState(el) {
  const control = statefulControl(el);
  const state = ownControlState(control);
  return control === el ? state : { ...state, control: assignIds([control])[0] };
}

function ownControlState(el) {
  const tag = localNameOf.call(el);
  if (tag === "input") {
    const kind = inputTypeOf.call(el);
    return { kind, isChecked: kind === "checkbox" || kind === "radio" ? checkedOf.call(el) : null };
  }
  const said = attributeOf.call(el, "aria-checked") || attributeOf.call(el, "aria-pressed");
  return { kind: tag, isChecked: said === null ? null : said === "true" };
}
