// Form fields by script: values, options, focus, selection, scrolling, and the comparison of values afterwards.

const setInputValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
const setSelected = Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected").set;
const optionValueOf = getter(HTMLOptionElement.prototype, "value");
const optionLabelOf = getter(HTMLOptionElement.prototype, "label");
const optionsOf = getter(HTMLSelectElement.prototype, "options");
const suggestionsOf = getter(HTMLDataListElement.prototype, "options");
const dispatch = EventTarget.prototype.dispatchEvent;

const dispatchEvents = (el, ...names) => {
  for (const name of names) dispatch.call(el, name === "input" ? new InputEvent(name, { bubbles: true, composed: true }) : new Event(name, { bubbles: true }));
};

const focusWithoutScroll = (el) => (el instanceof SVGElement ? focusOnSvg : focusHtml).call(el, { preventScroll: true });

/** Input types with a picker instead of a text cursor. */
const PICKER_TYPES = /^(?:date|month|week|time|datetime-local|color|range)$/;

/** Roles of wrappers around a field that are no other control. */
const FIELD_WRAPPER_ROLES = /^(?:|textbox|searchbox|group|presentation|none|generic|region|application|code|document|article)$/;
/** Ancestors searched for the root of an editor. */
const MAX_EDITOR_LEVELS = 12;

/** Editable fields in a subtree, also in its shadow trees; nested ones count once. */
function editableFieldsIn(el) {
  const found = [];
  const search = (root) => {
    const find = root instanceof ShadowRoot ? findAllInFragment : findAllInside;
    for (const at of find.call(root, "input, textarea, [contenteditable], [role=textbox], [role=searchbox]")) {
      const isTaken = isEditable(at) && !isReadOnly(at) && checkVisibility.call(at, { visibilityProperty: true }) &&
        !(localNameOf.call(at) === "input" && PICKER_TYPES.test(inputTypeOf.call(at)));
      if (isTaken && !found.some((outer) => isInside(at, outer))) found.push(at);
    }
  };
  search(el);
  for (const shadow of shadows) if (isInside(shadow.host, el)) search(shadow);
  return found;
}

/**
 * Field that takes the keys for an element: itself, the only one in it, or the input proxy of its editor. Null when
 * there is none, several, or when the element is another control.
 */
function fieldFor(el) {
  if (isEditable(el)) return el;
  if (matches.call(el, `option, ${INTERACTIVE_CONTENT}`) || !FIELD_WRAPPER_ROLES.test(attributeOf.call(el, "role") || "")) return null;
  const inside = editableFieldsIn(el);
  if (inside.length > 0) return inside.length === 1 ? inside[0] : null;
  for (let at = flatParentOf(el), up = 0; at !== null && at !== bodyOf.call(document) && nodeTypeOf.call(at) === 1 && up < MAX_EDITOR_LEVELS; at = flatParentOf(at), up++) {
    const around = editableFieldsIn(at);
    if (around.length > 0) return around.length === 1 && isInputProxy(around[0]) ? around[0] : null;
  }
  return null;
}

/** Fields smaller than this on a side show no readable text, in px. */
const MIN_FIELD_PX = 4;

/**
 * Returns whether a field is the input proxy of an editor drawn by the page: too small, clipped away or transparent.
 * Such an editor keeps its text elsewhere; the selection and value of the field say little about it.
 */
function isInputProxy(el) {
  if (!/^(?:input|textarea)$/.test(localNameOf.call(el))) return false;
  if (!checkVisibility.call(el, { visibilityProperty: true, opacityProperty: true })) return true;
  const { width, height } = rectOf.call(el);
  if (Math.min(width, height) < MIN_FIELD_PX) return true;
  for (let at = flatParentOf(el), up = 0; at !== null && nodeTypeOf.call(at) === 1 && up < 4; at = flatParentOf(at), up++) {
    const { overflowX, overflowY } = styleOf(at);
    const isClipped = overflowX !== "visible" && at.clientWidth < MIN_FIELD_PX || overflowY !== "visible" && at.clientHeight < MIN_FIELD_PX;
    if (isClipped) return true;
  }
  return false;
}

/** Returns whether only the page's script knows the content of an editor. */
const isOpaqueEditor = (el) => isScriptedEditor(el) || isInputProxy(el);

/**
 * Input methods for a field, the best first. Code editors indent and close brackets at keys, but take pasted text as it
 * is.
 */
function inputMethodsFor(el, value) {
  const isMultiline = value.includes("\n");
  if (isScriptedEditor(el)) return isMultiline ? ["paste", "keys"] : ["keys", "paste"];
  if (isInputProxy(el)) return isMultiline ? ["paste", "insert", "keys"] : ["insert", "paste", "keys"];
  switch (localNameOf.call(el)) {
    case "input": return ["insert", "keys"];
    case "textarea": return ["insert"];
    default: return ["insert", "paste", "replace"];
  }
}

/**
 * Prepares a field for input: focuses it and selects the content of a plain one. Inputs with a picker take the value at
 * once. Returns what is left to do: `write` by an input method, `select` and write, or nothing.
 */
function prepareFill(id, value, appends) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return { left: "gone" };
  const tag = localNameOf.call(el);
  if (tag === "input" && PICKER_TYPES.test(inputTypeOf.call(el))) {
    focusWithoutScroll(el);
    const before = inputValueOf.call(el), kind = inputTypeOf.call(el);
    setInputValue.call(el, value);
    const now = inputValueOf.call(el);
    const isTaken = now === value || kind === "range" && Number(now) === Number(value) || kind === "color" && now === value.toLowerCase();
    if (!isTaken) {
      setInputValue.call(el, before);
      const { min, max, step } = el;
      return { left: "refused", range: kind === "range" ? [min || "0", max || "100", step || "1"] : null };
    }
    dispatchEvents(el, "input", "change");
    return { left: "nothing" };
  }
  focusWithoutScroll(el);
  if (deepActiveElement() !== el && !isInside(deepActiveElement(), el)) return { left: "unfocused" };
  const methods = inputMethodsFor(el, value);
  if (appends) {
    if (tag === "input" || tag === "textarea") caretToEnd(el);
    else if (!isScriptedEditor(el)) selectContent(el).collapseToEnd();
    return { left: "write", ways: methods };
  }
  if (!/^(?:input|textarea)$/.test(tag) || isInputProxy(el)) return { left: "select", ways: methods };
  el.select();
  return { left: value !== "" || currentValue(el) !== "" ? "write" : "nothing", ways: methods };
}

const selectionIn = (el) => rootOf.call(el) instanceof ShadowRoot && rootOf.call(el).getSelection?.() || getSelection();

function selectContent(el) {
  const selection = selectionIn(el), range = new Range();
  range.selectNodeContents(el);
  selection.removeAllRanges();
  selection.addRange(range);
  return selection;
}

/**
 * Selects all content of an editor for the next key, if its select-all shortcut did not; `isForced`: it did not. An
 * editor may hold more than the document shows, which its shortcut covers. Waits until the page has been notified.
 */
async function selectAll(id, isForced) {
  const el = elementOf(id);
  if (el === null) return false;
  const context = el instanceof HTMLElement ? editContextOf.call(el) : null;
  if (context !== null && context.selectionStart === context.selectionEnd) context.updateSelection(0, context.text.length);
  if (el instanceof HTMLElement && isEditableOf.call(el)) {
    const { isCollapsed, anchorNode } = selectionIn(el);
    if (isForced || isCollapsed || !el.contains(anchorNode)) selectContent(el);
  }
  // `selectionchange` is dispatched in a task of its own.
  for (let turns = 0; turns < 2; turns++) await new Promise((go) => setTimeout(go));
  return true;
}

/**
 * Pastes a text into the focused element of a field by a synthetic event, without the clipboard. False when the page
 * does not handle it.
 */
function paste(id, text) {
  const el = elementOf(id), active = deepActiveElement();
  if (el === null || active === null || !isInside(active, el)) return false;
  const data = new DataTransfer();
  data.setData("text/plain", text);
  return !dispatch.call(active, new ClipboardEvent("paste", { bubbles: true, cancelable: true, composed: true, clipboardData: data }));
}

/**
 * Text that an editor puts into a synthetic `copy` event: with everything selected, all of its text, also where only
 * the visible part is in the document. Null when it gives none.
 */
function copyFrom(el) {
  const active = deepActiveElement();
  if (active === null || !isInside(active, el)) return null;
  const data = new DataTransfer();
  const isDefault = dispatch.call(active, new ClipboardEvent("copy", { bubbles: true, cancelable: true, composed: true, clipboardData: data }));
  if ([...data.types].includes("text/plain")) return data.getData("text/plain");
  if (!isDefault || !/^(?:input|textarea)$/.test(localNameOf.call(active))) return null;
  const { selectionStart: from, selectionEnd: to } = active;
  return from === null || from === to ? null : currentValue(active).slice(from, to);
}

function caretToEnd(el) {
  try {
    const { length } = currentValue(el);
    el.setSelectionRange(length, length);
  } catch {
    // Number and email inputs have no selection; typing appends anyway.
  }
}

/** Lines without what an editor adds: empty lines and trailing blanks. */
const textLines = (text) => text.replace(/\u00a0/g, " ").split(/\r\n?|\n/).map((line) => line.trimEnd()).filter(Boolean);
const isSameText = (one, other) => textLines(one).join("\n") === textLines(other).join("\n");

/** Parses a formatted number, with a currency sign and digit groups; NaN for anything else. */
function parseNumber(text) {
  const plain = text.replace(/[\s\u00a0'_]/g, "");
  const [, sign, digits] = /^[^\p{L}\d.,()-]*(-?)(\d+(?:[.,]\d+)*)[^\p{L}\d.,()-]*$/u.exec(plain) || [];
  if (digits === undefined) return NaN;
  const isGrouped = /^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?$/.test(digits);
  const ungrouped = isGrouped ? digits.replace(/[.,](?=\d{3}(?:[.,]|$))/g, "") : digits;
  return Number(sign + ungrouped.replace(",", "."));
}

/** Most letters that an input mask adds, such as a country code. */
const MAX_MASK_LETTERS = 4;

/**
 * Returns whether a field holds the expected text in the page's format: with separators, digit groups, or letters of a
 * mask.
 */
function isReformatted(actual, wantedText) {
  const [actualLetters, expected] = [lettersAndDigits(actual), lettersAndDigits(wantedText)];
  // An empty mask may show its placeholders.
  if (wantedText.trim() === "") return actualLetters === "" || actual.includes("_") && actualLetters.length <= MAX_MASK_LETTERS;
  if (expected === "") return actual.trim() === wantedText.trim();
  if (actualLetters === expected) return true;
  const [one, other] = [parseNumber(actual), parseNumber(wantedText)];
  if (one === one && other === other) return one === other;
  if (actualLetters.length - expected.length > MAX_MASK_LETTERS) return false;
  // A mask adds letters before or after, with a separator in between.
  const marks = [...expected].join("[^\\p{L}\\p{N}]*");
  return new RegExp(`(?:^|[^\\p{L}\\p{N}])${marks}(?:$|[^\\p{L}\\p{N}])`, "iu").test(actual);
}

/** Compares the value of a field with the expected one. `isAllSelected`: an editor can be asked for a copy. */
function compareValue(id, expected, appends, isAllSelected = false) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return { is: "gone" };
  const isDrawn = isOpaqueEditor(el), context = editContextOf.call(el);
  // A scripted editor that offers no copy is sent no shortcut for it: it may mean anything there.
  if (isDrawn && !isAllSelected) return { is: "unread", canCopy: context !== null || isInputProxy(el) || copyFrom(el) !== null };
  const copied = isAllSelected ? copyFrom(el) : null;
  if (copied !== null && (isDrawn || !isSameText(innerTextOf.call(el), expected))) return compareCopy(el, copied, expected);
  const isField = /^(?:input|textarea)$/.test(localNameOf.call(el));
  const plain = (text) => isField ? text.replace(/\r\n?/g, "\n") : collapseSpace(text);
  const shown = isField ? currentValue(el) : innerTextOf.call(el), actual = plain(shown), wantedText = plain(expected);
  const oneLine = (text) => localNameOf.call(el) === "input" ? text.replace(/\n/g, "") : text;
  if (isField ? actual === oneLine(wantedText) : isSameText(shown, expected)) return { is: "equal" };
  if (appends && actual.includes(oneLine(wantedText))) return { is: "equal" };
  if (isScriptedEditor(el)) {
    // The next input must not replace it.
    context?.updateSelection(context.text.length, context.text.length);
    return { is: context !== null && plain(context.text) === wantedText ? "equal" : "unread" };
  }
  const canCopy = !isField && !isAllSelected;
  if (!isField && actual === wantedText) return { is: "reflowed", canCopy };
  const kind = inputTypeOf.call(el instanceof HTMLInputElement ? el : document.createElement("input"));
  if (kind === "number" && Number(actual) === Number(wantedText) || isReformatted(actual, wantedText)) return { is: "formatted", canCopy, held: maskedValue(el, actual) };
  // An editor without a copy may hold it all the same.
  if (isDrawn) return { is: "unread" };
  return { is: actual === "" ? "empty" : "other", canCopy, held: maskedValue(el, actual) };
}

const maskedValue = (el, actual) => areSecret([el])[0] ? MASK : actual.slice(0, 200);

/** The same for the copied text of an editor. White space counts: it indents code. */
function compareCopy(el, copied, expected) {
  const plain = (text) => text.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  if (plain(copied) === plain(expected)) return { is: "equal" };
  if (isSameText(copied, expected)) return { is: isOpaqueEditor(el) ? "reflowed" : "equal" };
  const actual = maskedValue(el, copied);
  if (collapseSpace(copied) === collapseSpace(expected)) return { is: "reflowed" };
  if (!isOpaqueEditor(el) && isReformatted(copied, expected)) return { is: "formatted", held: actual };
  return { is: collapseSpace(copied) === "" ? "empty" : "other", held: actual };
}

/** Selects options of a list by value, label or index. */
function selectOptions(id, expected) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return { is: "gone" };
  const datalist = localNameOf.call(el) === "input" ? inputListOf.call(el) : null;
  if (datalist === null && localNameOf.call(el) !== "select") return { is: "widget" };
  const all = [...(datalist === null ? optionsOf.call(el) : suggestionsOf.call(datalist))];
  const nameOf = (option) => collapseSpace(optionLabelOf.call(option));
  const chosen = [];
  for (const wantedText of expected) {
    const found = (wantedText.startsWith("index=") ? all[Number(wantedText.slice(6))] : undefined) ||
      all.find((option) => optionValueOf.call(option) === wantedText) ||
      all.find((option) => nameOf(option) === collapseSpace(wantedText)) ||
      all.find((option) => nameOf(option).toLowerCase() === collapseSpace(wantedText).toLowerCase());
    if (found === undefined) return { is: "missing", wanted: wantedText, options: all.slice(0, 40).map(nameOf) };
    if (matches.call(found, ":disabled")) return { is: "disabled", wanted: wantedText };
    chosen.push(found);
  }
  if (chosen.length > 1 && (datalist !== null || !selectMultipleOf.call(el))) return { is: "single" };
  // Suggestions of a `datalist` are entered as text.
  if (datalist !== null) return { is: "suggested", labels: chosen.map((option) => optionValueOf.call(option)) };
  focusWithoutScroll(el);
  let isChanged = false;
  for (const option of all) {
    const will = chosen.includes(option);
    if (selectedOf.call(option) === will) continue;
    isChanged = true;
    if (will || selectMultipleOf.call(el)) setSelected.call(option, will);
  }
  if (isChanged) dispatchEvents(el, "input", "change");
  return { is: "chosen", labels: chosen.map(nameOf), isChanged };
}

/** Nearest scrollable ancestor; the document when there is none. */
function scrollerOf(el, isAcross) {
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const style = styleOf(at);
    const room = isAcross ? at.scrollWidth - at.clientWidth : at.scrollHeight - at.clientHeight;
    if (room > 1 && /auto|scroll|overlay/.test(isAcross ? style.overflowX : style.overflowY)) return at;
  }
  return document.scrollingElement || documentElementOf.call(document);
}

/** Scrolls, and returns the distance and the remaining height. */
function scrollElement(id, { to, x, y }) {
  const el = id === 0 ? documentElementOf.call(document) : elementOf(id);
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
  // Beyond any scroll range, also in right-to-left documents.
  else if (to === "left" || to === "right") box.scrollTo({ left: to === "left" ? -1e9 : 1e9, behavior: "instant" });
  else box.scrollBy({ left: x, top: y, behavior: "instant" });
  const left = Math.max(0, box.scrollHeight - box.clientHeight - box.scrollTop);
  return { x: box.scrollLeft - was[0], y: box.scrollTop - was[1], left: Math.round(left) };
}

/** Focused element of this document, and whether it takes text. */
function focusedElement() {
  const active = deepActiveElement();
  if (active === null) return { id: 0, isFrame: false, isEditable: false, description: "the page" };
  const isField = isEditable(active) && !isReadOnly(active) && !matches.call(active, ":disabled") &&
    !(localNameOf.call(active) === "input" && PICKER_TYPES.test(inputTypeOf.call(active)));
  return { id: assignIds([active])[0], isFrame: FRAME_TAGS.has(localNameOf.call(active)), isEditable: isField, description: describe(active) };
}

/** Focuses an element. */
function focusElement(id) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return "gone";
  if (document.hasFocus() && deepActiveElement() === el) return "already";
  // Text in a focusable element stands for that.
  for (let at = el, up = 0; at !== null && nodeTypeOf.call(at) === 1 && up < 4; at = flatParentOf(at), up++) {
    focusWithoutScroll(at);
    const active = deepActiveElement();
    const isIn = active !== null && isInside(active, at) && (active !== bodyOf.call(document) || isEditable(active));
    if (isIn) return "focused";
  }
  return "refused";
}
