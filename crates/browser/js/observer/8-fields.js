// What has no keys or clicks of its own is done by script: values, choices, focus, scrolling; and points of the page.

const setInputValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
const setSelected = Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected").set;
const optionValueOf = getter(HTMLOptionElement.prototype, "value");
const optionLabelOf = getter(HTMLOptionElement.prototype, "label");
const optionsOf = getter(HTMLSelectElement.prototype, "options");
const suggestionsOf = getter(HTMLDataListElement.prototype, "options");
const dispatch = EventTarget.prototype.dispatchEvent;

const announce = (el, ...names) => {
  for (const name of names) dispatch.call(el, name === "input" ? new InputEvent(name, { bubbles: true, composed: true }) : new Event(name, { bubbles: true }));
};

const takeFocus = (el) => (el instanceof SVGElement ? focusOnSvg : focusOn).call(el, { preventScroll: true });

/** Kinds of fields that are chosen from, not typed into. */
const CHOSEN = /^(?:date|month|week|time|datetime-local|color|range)$/;

/**
 * Gets a field ready to be typed into: focused, with all that is in it selected. Fields that are not typed into take the
 * value at once. Says what is left to do: `type`, `clear` or nothing.
 */
function prepare(number, value, keeps) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { left: "gone" };
  const tag = localNameOf.call(el);
  if (tag === "input" && CHOSEN.test(inputTypeOf.call(el))) {
    takeFocus(el);
    const before = inputValueOf.call(el), kind = inputTypeOf.call(el);
    setInputValue.call(el, value);
    const now = inputValueOf.call(el);
    const isTaken = now === value || kind === "range" && Number(now) === Number(value) || kind === "color" && now === value.toLowerCase();
    if (!isTaken) {
      setInputValue.call(el, before);
      const { min, max, step } = el;
      return { left: "refused", range: kind === "range" ? [min || "0", max || "100", step || "1"] : null };
    }
    announce(el, "input", "change");
    return { left: "nothing" };
  }
  takeFocus(el);
  if (deepActive() !== el && !isInside(deepActive(), el)) return { left: "unfocused" };
  if (takesKeys(el)) return { left: "keys" };
  if (tag === "input" || tag === "textarea") {
    if (keeps) toEnd(el);
    else el.select();
    const held = heldValue(el);
    return { left: value !== "" ? "type" : held !== "" && !keeps ? "clear" : "nothing" };
  }
  const selection = getSelection();
  const range = new Range();
  range.selectNodeContents(el);
  if (keeps) range.collapse(false);
  selection.removeAllRanges();
  selection.addRange(range);
  return { left: value !== "" ? "type" : textContentOf.call(el) !== "" && !keeps ? "clear" : "nothing" };
}

function toEnd(el) {
  try {
    const { length } = heldValue(el);
    el.setSelectionRange(length, length);
  } catch {
    // Numbers and addresses have no selection; typing goes to their end anyway.
  }
}

/** How what a field holds now compares with what was wanted. */
function compareValue(number, wanted, keeps) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { is: "gone" };
  const isField = /^(?:input|textarea)$/.test(localNameOf.call(el));
  const plain = (text) => isField ? text.replace(/\r\n?/g, "\n") : collapse(text);
  const held = plain(isField ? heldValue(el) : innerTextOf.call(el)), want = plain(wanted);
  const oneLine = (text) => localNameOf.call(el) === "input" ? text.replace(/\n/g, "") : text;
  if (held === oneLine(want) || keeps && held.includes(oneLine(want))) return { is: "equal" };
  if (takesKeys(el)) {
    const context = editContextOf.call(el);
    return { is: context !== null && plain(context.text) === want ? "equal" : "unread" };
  }
  const letters = (text) => text.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();
  const kind = inputTypeOf.call(el instanceof HTMLInputElement ? el : document.createElement("input"));
  if (letters(held) === letters(want) || kind === "number" && Number(held) === Number(want)) return { is: "formatted" };
  return { is: held === "" ? "empty" : "other", held: areSecret([el])[0] ? MASK : held.slice(0, 200) };
}

/** Chooses options of a list by value, label or position. */
function choose(number, wanted) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { is: "gone" };
  const offers = localNameOf.call(el) === "input" ? inputListOf.call(el) : null;
  if (offers === null && localNameOf.call(el) !== "select") return { is: "widget" };
  const all = [...(offers === null ? optionsOf.call(el) : suggestionsOf.call(offers))];
  const nameOf = (option) => collapse(optionLabelOf.call(option));
  const chosen = [];
  for (const want of wanted) {
    const found = (want.startsWith("index=") ? all[Number(want.slice(6))] : undefined) ||
      all.find((option) => optionValueOf.call(option) === want) ||
      all.find((option) => nameOf(option) === collapse(want)) ||
      all.find((option) => nameOf(option).toLowerCase() === collapse(want).toLowerCase());
    if (found === undefined) return { is: "missing", wanted: want, options: all.slice(0, 40).map(nameOf) };
    if (matches.call(found, ":disabled")) return { is: "disabled", wanted: want };
    chosen.push(found);
  }
  if (chosen.length > 1 && (offers !== null || !selectMultipleOf.call(el))) return { is: "single" };
  // What a field only suggests is written into it.
  if (offers !== null) return { is: "suggested", labels: chosen.map((option) => optionValueOf.call(option)) };
  takeFocus(el);
  let isChanged = false;
  for (const option of all) {
    const will = chosen.includes(option);
    if (selectedOf.call(option) === will) continue;
    isChanged = true;
    if (will || selectMultipleOf.call(el)) setSelected.call(option, will);
  }
  if (isChanged) announce(el, "input", "change");
  return { is: "chosen", labels: chosen.map(nameOf), isChanged };
}

/** The nearest thing around an element that can be scrolled; the document when there is none. */
function scrollerOf(el, isAcross) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const style = styleOf(at);
    const room = isAcross ? at.scrollWidth - at.clientWidth : at.scrollHeight - at.clientHeight;
    if (room > 1 && /auto|scroll|overlay/.test(isAcross ? style.overflowX : style.overflowY)) return at;
  }
  return document.scrollingElement || documentElementOf.call(document);
}

/** Scrolls, and says how far it went and what is left. */
function scrollWith(number, { to, x, y }) {
  const el = number === 0 ? documentElementOf.call(document) : elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return null;
  if (to === "view") {
    const at = () => { const { left, top } = rectOf.call(el); return [left, top]; };
    const was = at();
    scrollIntoView.call(el, { block: "center", inline: "nearest", behavior: "instant" });
    const now = at();
    return { x: was[0] - now[0], y: was[1] - now[1], left: 0 };
  }
  const box = scrollerOf(el, to === "left" || to === "right" || y === 0 && x !== 0);
  const was = [box.scrollLeft, box.scrollTop];
  if (to === "end") box.scrollTo({ top: box.scrollHeight, behavior: "instant" });
  else if (to === "start") box.scrollTo({ top: 0, behavior: "instant" });
  // Farther than anything reaches, in scripts that run from right to left too.
  else if (to === "left" || to === "right") box.scrollTo({ left: to === "left" ? -1e9 : 1e9, behavior: "instant" });
  else box.scrollBy({ left: x, top: y, behavior: "instant" });
  const left = Math.max(0, box.scrollHeight - box.clientHeight - box.scrollTop);
  return { x: box.scrollLeft - was[0], y: box.scrollTop - was[1], left: Math.round(left) };
}

/** What has the focus in this document, and whether it can be typed into. */
function focusedField() {
  const active = deepActive();
  if (active === null) return { number: 0, isFrame: false, isEditable: false, described: "the page" };
  const isField = isEditable(active) && !isReadOnly(active) && !matches.call(active, ":disabled") &&
    !(localNameOf.call(active) === "input" && CHOSEN.test(inputTypeOf.call(active)));
  return { number: remember([active])[0], isFrame: HOLDERS.has(localNameOf.call(active)), isEditable: isField, described: described(active) };
}

/** Puts the focus on an element. */
function focusElement(number) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return "gone";
  if (document.hasFocus() && deepActive() === el) return "already";
  // A text in something that takes the focus stands for that.
  for (let at = el, up = 0; at !== null && nodeTypeOf.call(at) === 1 && up < 4; at = flatParentOf(at), up++) {
    takeFocus(at);
    const active = deepActive();
    const isIn = active !== null && isInside(active, at) && (active !== bodyOf.call(document) || isEditable(active));
    if (isIn) return "focused";
  }
  return "refused";
}

/** Whether a frame is drawn otherwise than moved and scaled: rotated, skewed, mirrored, in perspective. */
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

/** Where in its border box the content of an element begins, and how much larger it is drawn. */
function contentBoxOf(el) {
  const style = styleOf(el), rect = rectOf.call(el);
  const across = el.offsetWidth > 0 ? rect.width / el.offsetWidth : 1, down = el.offsetHeight > 0 ? rect.height / el.offsetHeight : 1;
  return { rect, across, down, left: el.clientLeft + parseFloat(style.paddingLeft), top: el.clientTop + parseFloat(style.paddingTop) };
}

/**
 * What holds a frame: whether a point of its document is open to events, and where that is in this document. For one
 * that is warped, `placed` is that point as the browser says; without it, it is asked for. `isLast` says that nothing is
 * to be scrolled any more.
 */
function through(number, x, y, placed = null, isLast = false) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return { problem: "gone" };
  const isOdd = isWarped(el);
  if (isOdd && placed === null) return { isWarped: true };
  const spot = () => {
    if (isOdd) return { x: placed[0], y: placed[1] };
    const { rect, across, down, left, top } = contentBoxOf(el);
    return { x: rect.left + (left + x) * across, y: rect.top + (top + y) * down };
  };
  let at = spot();
  const isIn = () => at.x >= 0 && at.y >= 0 && at.x < innerWidth && at.y < innerHeight;
  let hit = isIn() ? hitAt(at.x, at.y) : null;
  for (let place = 1; !isLast && hit !== el && place < PLACES.length; place++) {
    const was = isOdd ? placeOf(el) : "";
    scrollIntoView.call(el, { ...PLACES[place], behavior: "instant" });
    if (!isOdd) at = spot();
    if (!isIn()) {
      const box = scrollerOf(parentOf(el) || el, false);
      box.scrollBy({ left: at.x - innerWidth / 2, top: at.y - innerHeight / 2, behavior: "instant" });
      if (!isOdd) at = spot();
    }
    // Where it is now has to be asked for.
    if (isOdd && placeOf(el) !== was) return { isWarped: true };
    hit = isIn() ? hitAt(at.x, at.y) : null;
  }
  if (hit !== el) return hit === null ? { problem: "off-screen" } : { problem: "covered", by: described(hit), cover: numberOf(hit) };
  return at;
}

/** What is drawn at a point of the view: the numbers of that and of what it is in, and the same point in a frame. */
function elementAt(x, y) {
  const hit = hitAt(x, y);
  if (hit === null) return null;
  const all = [];
  for (let at = hit; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) all.push(at);
  const isFrame = HOLDERS.has(localNameOf.call(hit));
  let inside = null;
  const isOdd = isFrame && isWarped(hit);
  if (isFrame && !isOdd) {
    const { rect, across, down, left, top } = contentBoxOf(hit);
    inside = [(x - rect.left) / across - left, (y - rect.top) / down - top];
  }
  return { path: remember(all), isFrame, isWarped: isOdd, inside, was: goneFrom(hit, x, y) };
}

/** The middle of an element that is drawn but kept from readers (`aria-hidden`); null when it is not. */
function kept(number) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el) || closest.call(el, "[aria-hidden=true]") === null) return null;
  if (!isShown.call(el, { visibilityProperty: true })) return null;
  memo = newMemo();
  try {
    const part = lostBy(el, computed(el), SIGHT) === "" ? seenPart(el) : null;
    return part === null ? null : [Math.round(part[0] + part[2] / 2), Math.round(part[1] + part[3] / 2)];
  } finally {
    memo = null;
  }
}

/** Has what a field holds be nobody's business from here on. */
function hideValue(number) {
  const el = elementOf(number);
  if (el === null) return false;
  passwords.add(el);
  noteChange(el);
  return true;
}
