// What a hand needs of the page: whether something can be done now, and where. All answers are about the moment.

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

/** What something is, for a message: what one would look for in the markup. */
function describe(el) {
  if (el === null || nodeTypeOf.call(el) !== 1) return "the page";
  const id = attributeOf.call(el, "id");
  const classes = (attributeOf.call(el, "class") || "").trim().split(/\s+/).filter(Boolean).slice(0, 2);
  const words = (attributeOf.call(el, "aria-label") || collapseSpace(textContentOf.call(el).slice(0, 400))).slice(0, 40);
  return `<${localNameOf.call(el)}${id ? `#${id}` : ""}${classes.map((name) => `.${name}`).join("")}>` +
    (words ? ` ${JSON.stringify(words)}` : "");
}

/** Whether one element is another, or is drawn inside of it. */
function isInside(el, outer) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) if (at === outer) return true;
  return false;
}

const editContextOf = "editContext" in HTMLElement.prototype ? getter(HTMLElement.prototype, "editContext") : () => null;

/** Whether an element takes keys and does itself what they mean: an editor that is drawn by its page. */
function isScriptedEditor(el) {
  if (!(el instanceof HTMLElement) || isEditableOf.call(el) || /^(?:input|textarea|select)$/.test(localNameOf.call(el))) return false;
  return editContextOf.call(el) !== null ||
    /^(?:textbox|searchbox)$/.test(attributeOf.call(el, "role")) && hasAttribute.call(el, "tabindex") && el.tabIndex >= 0;
}

/** Whether a key can change what an element holds. */
function isEditable(el) {
  const tag = localNameOf.call(el);
  if (tag === "input") return !/^(?:button|submit|reset|image|checkbox|radio|file|hidden)$/.test(inputTypeOf.call(el));
  return tag === "textarea" || (el instanceof HTMLElement && isEditableOf.call(el)) || isScriptedEditor(el);
}

const isReadOnly = (el) => hasAttribute.call(el, "readonly") && /^(?:input|textarea)$/.test(localNameOf.call(el)) ||
  attributeOf.call(el, "aria-readonly") === "true";

/** A dialog that the page made itself and that is to be answered before anything else. */
function ariaModal() {
  const all = findAll.call(document, "[aria-modal=true]");
  for (let at = all.length - 1; at >= 0; at--) {
    if (checkVisibility.call(all[at], { visibilityProperty: true, opacityProperty: true }) && targetRects(all[at]).length > 0) return all[at];
  }
  return null;
}

/** The dialog that something is behind which a selector or some words are about; null when there is none. */
function modalInFrontOf(css, words) {
  const modal = topModal();
  if (modal === null) return null;
  const wanted = collapseSpace(words).toLowerCase();
  const says = (text) => text !== null && collapseSpace(text.slice(0, 2000)).toLowerCase().includes(wanted);
  const isIt = (el) => css !== "" || says(textContentOf.call(el)) ||
    ["aria-label", "placeholder", "title", "alt", "value"].some((name) => says(attributeOf.call(el, name)));
  for (const el of findAll.call(document, css || "body *")) {
    if (!isInside(el, modal) && !isInside(modal, el) && !/^(?:script|style|template)$/.test(localNameOf.call(el)) && isIt(el) &&
      checkVisibility.call(el, { visibilityProperty: true })) return describe(modal);
  }
  return null;
}

/** Why an element takes no orders, or null. */
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
  // Lists and calendars of a dialog may stand beside it; what cannot be clicked is behind it.
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

/** The boxes in which an element is drawn, the largest first. */
function targetRects(el) {
  if (imageOfArea(el) !== null) return [drawnRect(el)];
  // What opens and closes it is its first line, when its author wrote no summary.
  if (localNameOf.call(el) === "details" && nativeRole(el, "details") === "disclosuretriangle") {
    const { left, top, width, height } = rectOf.call(el);
    const style = styleOf(el);
    const across = clientLeftOf.call(el) + parseFloat(style.paddingLeft), down = clientTopOf.call(el) + parseFloat(style.paddingTop);
    return [{ left: left + across, top: top + down, width: Math.max(width - 2 * across, 1),
      height: Math.min(height - down, parseFloat(style.lineHeight) || parseFloat(style.fontSize) * 1.2) }];
  }
  // In the middle of its controls is the line of time; what plays and pauses it is at their beginning.
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

/** The picture that an area is part of; null when it is none. */
function imageOfArea(area) {
  const map = localNameOf.call(area) === "area" ? closest.call(area, "map") : null;
  const name = map === null ? "" : attributeOf.call(map, "name") || attributeOf.call(map, "id");
  return name ? find.call(document, `img[usemap="#${CSS.escape(name)}" i]`) : null;
}

/** Where an element is drawn; an area of a picture where the picture has it. */
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
/** ARIA roles whose elements are checked or not, with all that is in them. */
const CHECKED_ROLES = "[role=checkbox], [role=radio], [role=switch], [role=menuitemcheckbox], [role=menuitemradio], [aria-pressed]";

/** The control that a click on an element activates through the label around it; null when there is none. */
function labelledControl(el) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (localNameOf.call(at) === "label") return labelControlOf.call(at);
    if (matches.call(at, INTERACTIVE_CONTENT)) return null;
  }
  return null;
}

/** The control whose state a click on an element changes: of a text, what it labels or what it is the content of. */
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

/** Of elements that all activate the same control, the control if it is one of them, else the first; otherwise null. */
function commonControl(ids) {
  const all = ids.map(elementOf);
  if (all.includes(null)) return null;
  const controls = all.map((el) => labelledControl(el) || el);
  if (controls.some((control) => control !== controls[0])) return null;
  return ids[Math.max(0, all.indexOf(controls[0]))];
}

/** A label that is drawn in place of a field. */
function visibleProxy(el) {
  if (localNameOf.call(el) !== "input") return el;
  const isThere = checkVisibility.call(el, { visibilityProperty: true, opacityProperty: true }) && targetRects(el).length > 0;
  if (isThere) return el;
  for (const label of el.labels || []) {
    if (checkVisibility.call(label, { visibilityProperty: true }) && targetRects(label).length > 0) return label;
  }
  return el;
}

/** What an event may be sent to for an element, the best first: for a field, after itself, each of its labels. */
function eventTargetsFor(el, eventTarget) {
  if (eventTarget !== el || localNameOf.call(el) !== "input") return [eventTarget];
  const labels = [...(el.labels || [])].filter((label) => checkVisibility.call(label, { visibilityProperty: true }) && targetRects(label).length > 0);
  return [eventTarget, ...labels];
}

const SCROLL_ALIGNMENTS = [{ block: "nearest", inline: "nearest" }, { block: "center", inline: "center" },
  { block: "start", inline: "nearest" }, { block: "end", inline: "nearest" }];

/** Attributes by which scripts move things, and when one last did. */
let lastStyleMove = -Infinity;
const MOVING_MS = 60;

/** Whether something may be on its way: an animation over it, or a script that moves things. */
function mayBeMoving(el) {
  const now = performance.now();
  if (now - lastStyleMove < MOVING_MS || lastLayoutShift > 0 && now - lastLayoutShift < MOVING_MS) return true;
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    for (const animation of animationsOf.call(at)) if (animation.playState === "running") return true;
  }
  return false;
}

/** The next picture; a page that is not drawn has none. */
const nextFrame = () => new Promise((go) => {
  const late = setOwnTimeout(go, 100);
  requestOwnFrame(() => { clearTimeout(late); go(); });
});

/** The next two pictures: what a page does in one is drawn in the other. */
async function nextTwoFrames() {
  await nextFrame();
  await nextFrame();
  return true;
}

/** For so long nothing changes in a page that has come to rest under the mouse, and for so long that is waited for. */
const QUIET_MS = 100, MAX_QUIET_WAIT_MS = 1000;

/** Waits until the page has done what it does about the mouse being where it is, in frames or with timers. */
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
 * Whether something can be done to an element now. Gives the point at which to do it, or the reason why not. What is
 * out of view is brought into it first, unless the answer alone is wanted.
 */
async function checkActionability(id, requirements) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return { problem: "gone" };
  const refusal = stateProblem(el, requirements);
  if (refusal !== null) return refusal;
  let eventTarget = visibleProxy(el);
  if (!requirements.point && !requirements.visible) return { id, eventTarget, controlState: controlState(el) };
  // What stands for an area of a picture is not drawn itself.
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
    // A point that somebody chose is taken as it is, as long as the same thing is there.
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
  // What is only out of view is brought into it; labels are for what cannot be reached itself.
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

/** What an action may change about an element, or about the control that it stands for. */
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
