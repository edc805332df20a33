// States and values of elements: disabled, focused, checked, expanded, level, value.

const checkedOf = getter(HTMLInputElement.prototype, "checked");
const indeterminateOf = getter(HTMLInputElement.prototype, "indeterminate");
const selectedOf = getter(HTMLOptionElement.prototype, "selected");
const openOf = getter(HTMLDetailsElement.prototype, "open");
const isPausedOf = getter(HTMLMediaElement.prototype, "paused");

const tristateCode = (value) => value === "true" ? "1" : value === "mixed" ? "m" : value === "false" ? "0" : null;

const CHECKABLE = new Set("checkbox menuitemcheckbox menuitemradio option radio switch treeitem".split(" "));
const SELECTABLE = new Set("cell columnheader gridcell option row rowheader tab treeitem".split(" "));
const EXPANDABLE = new Set((
  "application button checkbox columnheader combobox gridcell link listbox menuitem menuitemcheckbox " +
  "menuitemradio row rowheader switch tab treeitem disclosuretriangle details").split(" "));
const RANGED = new Set("slider spinbutton scrollbar progressbar meter separator".split(" "));
const TEXT_ROLES = new Set("textbox searchbox combobox spinbutton".split(" "));

/** Valid values of `aria-haspopup` and `aria-invalid`. Others mean nothing. */
const POPUP_TYPES = new Set("true menu listbox tree grid dialog".split(" "));
const INVALID_TYPES = new Set("grammar spelling".split(" "));

/** Tags with states without any attribute, besides labelable ones. */
const STATEFUL_TAGS = new Set(["summary", "details", "dialog", "option", "object", "embed"]);

/** Flags and remaining fields of an element's report line: everything but depth, role, id and name. */
function statesOf(el, tag, isHtml, role, attributes, inherited, mask) {
  let flags = "", rest = "";
  const a = attributes;
  const isControl = isHtml && LABELABLE.has(tag);
  if (isControl || a !== null || isHtml && STATEFUL_TAGS.has(tag)) {
    const isDisabledNow = isHtml && isDisabled(el, tag);
    const canFocus = isFocusable(el, tag, a, isDisabledNow);
    const ariaDisabled = a === null ? undefined : a["aria-disabled"];
    // `aria-disabled` of an ancestor applies to focusable elements; native controls know about their fieldset
    // themselves.
    const isOff = isDisabledNow || ariaDisabled === "true" && role !== "generic" ||
      inherited.isDisabled && ariaDisabled !== "false" && canFocus;
    if (isOff) flags += "d";
    if (canFocus) {
      flags += "f";
      if (inherited.active === el) flags += "F";
    }
  }
  if (a !== null && !a.isStateless) {
    const tab = tabIndexAttribute(el);
    if (tab !== null && tab >= 0) flags += "t";
    if (a.contenteditable !== undefined && isEditableHost(el)) flags += "e";
    if (a["aria-modal"] === "true") flags += "m";
    if (a["aria-busy"] === "true") flags += "b";
    if (a["aria-required"] === "true" || a.required !== undefined && isControl) flags += "r";
    if (a["aria-readonly"] === "true" || a.readonly !== undefined && isControl) flags += "o";
    if (a["aria-multiline"] === "true") flags += "M";
    if (a["aria-multiselectable"] === "true") flags += "S";
    if (a.onclick !== undefined || a.onmousedown !== undefined || a.onpointerdown !== undefined ||
        a.onmouseup !== undefined || a.ondblclick !== undefined || a.ontouchstart !== undefined || a.draggable === "true") flags += "l";
    if (a["aria-haspopup"]) {
      const popup = a["aria-haspopup"].toLowerCase();
      if (POPUP_TYPES.has(popup)) rest += `\th${popup === "true" ? "menu" : popup}`;
    }
    if (a["aria-invalid"]) {
      const invalid = a["aria-invalid"].toLowerCase();
      if (invalid !== "false") rest += `\ti${INVALID_TYPES.has(invalid) ? invalid : "true"}`;
    }
    if (a["aria-roledescription"]) rest += `\tr${oneLine(a["aria-roledescription"])}`;
    if (a["aria-keyshortcuts"]) rest += `\ts${oneLine(a["aria-keyshortcuts"])}`;
    if (/^(?:horizontal|vertical)$/i.test(a["aria-orientation"])) rest += `\to${oneLine(a["aria-orientation"])}`;
    if (/^(?:inline|list|both)$/i.test(a["aria-autocomplete"])) rest += `\ta${oneLine(a["aria-autocomplete"])}`;
    if (a["aria-expanded"] !== undefined && EXPANDABLE.has(role)) {
      const open = tristateCode(a["aria-expanded"]);
      if (open === "0" || open === "1") rest += `\tx${open}`;
    }
    if (a["aria-pressed"] !== undefined && role === "button") {
      const down = tristateCode(a["aria-pressed"]);
      if (down) rest += `\tp${down}`;
    }
  }
  if (a !== null && a.isInvoker && role === "button" && !rest.includes("\tx")) {
    const popover = popoverOf(el, tag);
    if (popover !== null) rest += matches.call(popover, ":popover-open") ? "\tx1" : "\tx0";
  }
  if (CHECKABLE.has(role)) {
    const checked = isHtml && tag === "input" ? (indeterminateOf.call(el) ? "m" : checkedOf.call(el) ? "1" : "0")
      : a !== null && a["aria-checked"] !== undefined ? tristateCode(a["aria-checked"])
      : role === "option" || role === "treeitem" ? null : "0";
    if (checked) rest += `\tc${checked}`;
  }
  if (SELECTABLE.has(role)) {
    if (isHtml && tag === "option" ? selectedOf.call(el) : a !== null && a["aria-selected"] === "true") flags += "s";
  }
  if ((mask & SCROLL) !== 0 && isScroller(el)) flags += "f";
  switch (tag) {
    case "label": {
      const control = labelControlOf.call(el);
      if (control !== null && localNameOf.call(control) === "input" && isHiddenControl(control)) {
        flags += "L";
        const type = inputTypeOf.call(control);
        if (type === "checkbox" || type === "radio") {
          rest += indeterminateOf.call(control) ? "\tcm" : checkedOf.call(control) ? "\tc1" : "\tc0";
        }
        if (type === "file") flags += "u";
      }
      break;
    }
    case "textarea": {
      flags += "M";
      const fieldValue = areaValueOf.call(el);
      if (isSecretField(el, a, tag)) {
        if (fieldValue) rest += `\tv${MASK}`;
        flags += "y";
      } else {
        rest += valueField(fieldValue);
      }
      break;
    }
    case "input": {
      const type = inputTypeOf.call(el);
      if (type === "checkbox" || type === "radio" || type === "button" || type === "submit" || type === "reset" ||
          type === "image") break;
      if (isSecretField(el, a, tag)) {
        if (inputValueOf.call(el)) rest += `\tv${MASK}`;
        flags += "y";
      } else if (type === "file") {
        flags += "u";
        const files = inputValueOf.call(el);
        if (files) rest += valueField(files.replace(/^.*[\\/]/, ""));
      } else {
        rest += valueField(inputValueOf.call(el));
      }
      break;
    }
    case "select":
      if (role === "combobox") {
        const chosen = selectedOptionsOf.call(el)[0];
        if (chosen) rest += valueField(optionTextOf.call(chosen));
      }
      if (selectMultipleOf.call(el)) flags += "S";
      break;
    case "progress": case "meter":
      if (a !== null && a.value !== undefined) rest += valueField(normalizedNumber(a.value));
      break;
    case "details":
      rest += openOf.call(el) ? "\tx1" : "\tx0";
      break;
    case "summary": {
      const parent = parentOf(el);
      if (role === "disclosuretriangle" && parent) rest += openOf.call(parent) ? "\tx1" : "\tx0";
      break;
    }
    case "dialog":
      if (matches.call(el, ":modal")) flags += "m";
      break;
    case "h1": case "h2": case "h3": case "h4": case "h5": case "h6":
      if (role === "heading" && (a === null || a["aria-level"] === undefined)) rest += `\tl${tag[1]}`;
      break;
    case "canvas": case "video": case "audio": case "svg": case "object": case "embed":
      if (role !== tag) rest += `\tk${tag}`;
      if (el instanceof HTMLMediaElement && hasAttribute.call(el, "controls") && !isPausedOf.call(el)) rest += valueField("playing");
      break;
    default:
      if (a !== null && a.contenteditable !== undefined && isEditableHost(el) && isSecretField(el, a, tag)) {
        if (TEXT_ROLES.has(role) && textContentOf.call(el) !== "") rest += `\tv${MASK}`;
        flags += "y";
      } else if (a !== null && TEXT_ROLES.has(role) && isEditableHost(el)) {
        rest += valueField((elementCountOf.call(el) === 0 ? textContentOf : innerTextOf).call(el).slice(0, 2000));
      } else if (role === "combobox") {
        // A select-only combobox shows its value as text.
        rest += valueField(collapseSpace(textContentOf.call(el).slice(0, 200)));
      }
  }
  if (a !== null && (!a.isStateless || role === "heading")) {
    if (RANGED.has(role) && tag !== "input") {
      const now = a["aria-valuenow"];
      if (now !== undefined && tag !== "progress" && tag !== "meter") rest += valueField(normalizedNumber(now));
    }
    if (RANGED.has(role)) {
      const min = a["aria-valuemin"] ?? a.min, max = a["aria-valuemax"] ?? a.max;
      if (min !== undefined) rest += `\tn${oneLine(min)}`;
      if (max !== undefined) rest += `\tm${oneLine(max)}`;
      if (a["aria-valuetext"] !== undefined) rest += `\tt${oneLine(a["aria-valuetext"])}`;
    }
    const level = a["aria-level"];
    if (level !== undefined && (role === "heading" || role === "treeitem" || role === "listitem" || role === "row")) {
      const number = parseInt(level, 10);
      if (number > 0 && number < 1000) rest += `\tl${number}`;
    } else if (role === "heading" && tag[0] !== "h") {
      rest += "\tl2";
    }
  }
  return [flags, rest];
}

/** Popover that a button toggles; null when it has none. */
function popoverOf(el, tag) {
  if (tag !== "button" && tag !== "input") return null;
  const id = attributeOf.call(el, "popovertarget") ??
    (/-popover$/i.test(attributeOf.call(el, "command") || "") ? attributeOf.call(el, "commandfor") : null);
  const popover = id === null ? null : byId(rootOf.call(el), id);
  return popover !== null && hasAttribute.call(popover, "popover") ? popover : null;
}

/** Returns whether an element is a keyboard-focusable scroller: scrollable, without focusable content. */
function isScroller(el) {
  markLayoutRead();
  const style = computed(el);
  const scrolls = /auto|scroll/;
  return (scrolls.test(style.overflowY) && el.scrollHeight > el.clientHeight + 1 ||
      scrolls.test(style.overflowX) && el.scrollWidth > el.clientWidth + 1) &&
    el !== documentElementOf.call(document) && el !== bodyOf.call(document) && findInside.call(el, FOCUSABLE_SELECTOR) === null;
}

/** Returns whether a control is hidden, so that its label stands for it. */
function isHiddenControl(el) {
  if (!checkVisibility.call(el, { visibilityProperty: true, opacityProperty: true })) return true;
  const rect = rectOf.call(el);
  return rect.width <= 2 || rect.height <= 2 || ownHiddenReason(el, computed(el), HIDING) !== "";
}

/** Number in normal form: 0.5 for .5. */
const normalizedNumber = (text) => {
  const number = parseFloat(text);
  return /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(text) && Number.isFinite(number) ? String(number) : text;
};

const valueField = (value) => {
  const plain = oneLine(value.length > 2000 ? value.slice(0, 2000) : value);
  const text = firewall ? stripInvisible(plain) : plain;
  return text ? `\tv${text}` : "";
};

/** Text on one line, without tabs, which separate fields. */
const oneLine = (text) => /[\s\x00-\x1f]/.test(text) ? text.replace(/[\s\x00-\x1f]+/g, " ").trim() : text;
