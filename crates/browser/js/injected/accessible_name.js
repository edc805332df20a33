// Accessible names: the accessible name computation (accname 1.2), as Chromium does it where the standard leaves room.

/** Roles named from content. */
const NAMED_BY_CONTENT = new Set((
  "button cell checkbox columnheader doc-backlink doc-biblioref doc-glossref doc-noteref disclosuretriangle " +
  "gridcell heading link menuitem menuitemcheckbox menuitemradio option radio rowheader switch tab " +
  "tooltip treeitem term math doc-subtitle graphics-object").split(" "));

/** Roles for which naming is prohibited. */
const NAME_PROHIBITED = new Set((
  "caption code definition deletion emphasis insertion mark none paragraph strong subscript suggestion " +
  "superscript term time rubyannotation").split(" "));

/** Roles whose content is excluded from the names of their ancestors. */
const NAME_EXCLUDED_ROLES = new Set((
  "alert alertdialog application article audio banner blockquote colorwell combobox complementary contentinfo date " +
  "datetime dialog document embeddedobject feed figure form graphics-document graphics-object graphics-symbol grid " +
  "group iframe img inputtime listbox log main marquee math menu menubar meter navigation note pluginobject " +
  "progressbar radiogroup region rowgroup scrollbar search searchbox sectionheader separator slider spinbutton status " +
  "svg table tablist tabpanel textbox timer toolbar tree treegrid video").split(" "));

/** Tags whose content is included all the same. */
const NAME_INCLUDED_TAGS = new Set(["address", "details", "footer", "marquee", "svg"]);

/** White space other than single spaces between words. */
const IRREGULAR_SPACE = /[^\S ]|  |^ | $/;
const collapseSpace = (text) => IRREGULAR_SPACE.test(text) ? text.replace(/\s+/g, " ").trim() : text;
const MAX_NAME_DEPTH = 200;

const inputValueOf = getter(HTMLInputElement.prototype, "value");
const areaValueOf = getter(HTMLTextAreaElement.prototype, "value");
const optionTextOf = getter(HTMLOptionElement.prototype, "text");
const selectedOptionsOf = getter(HTMLSelectElement.prototype, "selectedOptions");
const labelControlOf = getter(HTMLLabelElement.prototype, "control");

const LABELABLE = new Set(["button", "input", "meter", "output", "progress", "select", "textarea"]);

const FOCUSABLE_SELECTOR = "a[href], button, input, select, textarea, summary, iframe, [tabindex], [contenteditable], [role=button], [role=link]";

/** The last name came from an element that is not rendered. */
let isNameHidden = false;

/** Source of the last name: an attribute, a related element, the content. */
let nameSource = "";

/** The last name from content is the only text inside, with nothing else. */
let isNameOnlyText = false;

/** Elements that an id list attribute refers to. */
function referenced(el, ids) {
  const root = rootOf.call(el);
  const found = [];
  for (const id of ids.split(/\s+/)) {
    const other = id && byId(root, id);
    if (other) found.push(other);
  }
  return found;
}

/** Accessible name of an element with this role. */
function nameOf(el, tag, role, attributes, mask, transform) {
  nameSource = "";
  isNameHidden = isNameOnlyText = false;
  if (memo.visited.size > 0) memo.visited.clear();
  if (attributes !== null) {
    const ids = attributes["aria-labelledby"];
    if (ids !== undefined && role !== "none") {
      const name = labelledBy(el, ids);
      if (name) return nameSource = "related", name;
    }
    const label = attributes["aria-label"];
    if (label !== undefined && role !== "none") {
      const name = collapseSpace(label);
      if (name) return nameSource = "attribute", name;
    }
  }
  const native = nativeName(el, tag, role, attributes);
  if (native !== null && native !== "") return native;
  const isDecorative = native === "" && tag === "img";
  if (NAMED_BY_CONTENT.has(role) && tag !== "math" || role === "row" && isInGrid(el)) {
    const name = nameFromContent(el, tag, mask, transform);
    if (name) return nameSource = "content", name;
  }
  if (attributes !== null && !isDecorative) {
    const title = attributes.title;
    if (title !== undefined && !NAME_PROHIBITED.has(role) && (role !== "generic" || isFocusable(el, tag, attributes))) {
      const name = collapseSpace(title);
      if (name && !isWholeText(el, title)) return nameSource = "title", name;
    }
    const placeholder = attributes.placeholder ?? attributes["aria-placeholder"];
    if (placeholder !== undefined && TEXT_ROLES.has(role)) {
      const name = collapseSpace(placeholder);
      if (name) return nameSource = "placeholder", name;
    }
  }
  return "";
}

/** Name from content. */
function nameFromContent(el, tag, mask, transform) {
  // Mostly that is plain text.
  const text = (mask & (BEFORE | AFTER)) === 0 && memo.owners === null ? onlyText(el, tag) : null;
  if (text !== null) {
    isNameOnlyText = true;
    return (mask & VISIBILITY) === 0 || computed(el).visibility === "visible" ? collapseSpace(applyTextTransform(text, transform)) : "";
  }
  memo.visited.add(el);
  return collapseSpace(contentText(el, tag, mask,
    { labelledby: false, hidden: false, inAriaHidden: false, self: el, depth: 0, label: false, inContent: true, isVisible: true, transform }));
}

/** Returns whether a title only repeats the rendered text of the element. */
function isWholeText(el, title) {
  const attribute = title.trim();
  return textContentOf.call(el).includes(attribute) && el instanceof HTMLElement && innerTextOf.call(el).trim() === attribute;
}

/** Returns whether a row is part of a grid: such rows are named from content. */
function isInGrid(row) {
  const around = closest.call(row, "table, [role~=table], [role~=grid], [role~=treegrid]");
  return around !== null && /^(?:tree)?grid$/.test(firstRole(attributeOf.call(around, "role") || ""));
}

function labelledBy(el, ids) {
  const parts = [];
  for (const other of referenced(el, ids)) {
    const isDrawn = isRendered(other);
    if (!isDrawn || isVisuallyHidden(other)) isNameHidden = true;
    // A reference to hidden content is named by all of it.
    const inAriaHidden = closest.call(other, "[aria-hidden=true]") !== null;
    const part = collapseSpace(textAlternativeAt(other, { ...nameContext(other, el, true, !isDrawn), inAriaHidden: inAriaHidden }));
    if (part) parts.push(part);
  }
  return parts.join(" ");
}

/** Returns whether a rendered element cannot be seen. */
const isVisuallyHidden = (el) => firewall && ownHiddenReason(el, computed(el), HIDING) !== "";

/** Context of a name computation, starting at the first element that contributes. */
const nameContext = (el, self, labelledby, hidden) =>
  ({ labelledby, hidden, inAriaHidden: false, self, depth: 0, label: false, inContent: false, isVisible: true, transform: textTransformAt(el) });

/** Name from HTML (HTML-AAM); null when HTML gives none, "" when it says that there is none. */
function nativeName(el, tag, role, attributes) {
  switch (tag) {
    case "input": {
      const type = inputTypeOf.call(el);
      if (type === "button" || type === "submit" || type === "reset") {
        const label = labelText(el);
        if (label) return nameSource = "related", label;
        const value = attributes && attributes.value;
        if (value !== undefined) {
          const name = collapseSpace(value);
          if (name) return nameSource = "value", name;
        }
        if (attributes && attributes.title && value === undefined && type === "button") return null;
        const defaultText = type === "submit" ? "Submit" : type === "reset" ? "Reset" : "";
        if (defaultText && value === undefined) return nameSource = "value", defaultText;
        return null;
      }
      if (type === "image") {
        const label = labelText(el);
        if (label) return nameSource = "related", label;
        for (const name of ["alt", "value", "title"]) {
          const text = attributes && attributes[name];
          if (text !== undefined && collapseSpace(text)) return nameSource = "attribute", collapseSpace(text);
        }
        return nameSource = "value", "Submit";
      }
      const label = labelText(el);
      // Default button text of the browser; a title only describes it.
      if (!label && type === "file") {
        return nameSource = "value", hasAttribute.call(el, "multiple") ? "Choose Files" : "Choose File";
      }
      return relatedName(label);
    }
    case "select": case "textarea": case "meter": case "progress": case "output": case "button":
      return relatedName(labelText(el));
    case "img": case "area": {
      const alt = attributes === null ? undefined : attributes.alt;
      if (alt === undefined) return null;
      const name = collapseSpace(alt);
      if (name) nameSource = "attribute";
      return name || (tag === "img" ? "" : null);
    }
    case "image": return svgName(el);
    case "fieldset": return childName(el, "legend");
    case "table": {
      const name = childName(el, "caption");
      if (name) return name;
      const summary = attributes && attributes.summary;
      return summary ? (nameSource = "attribute", collapseSpace(summary)) : null;
    }
    case "optgroup": return attributes && attributes.label ? (nameSource = "attribute", collapseSpace(attributes.label)) : null;
    case "option": {
      const name = collapseSpace(optionTextOf.call(el)) ;
      const label = attributes && attributes.label;
      if (label) return nameSource = "attribute", collapseSpace(label);
      return name ? (nameSource = "content", name) : null;
    }
    case "details": return role === "disclosuretriangle" ? (nameSource = "value", "Details") : null;
    case "svg": return svgName(el);
    case "iframe": case "frame": return null;
  }
  if (namespaceOf.call(el) === SVG) return svgName(el);
  return null;
}

const relatedName = (name) => name ? (nameSource = "related", name) : null;

function svgName(el) {
  const title = svgTitle(el);
  if (title) {
    const name = collapseSpace(textContentOf.call(title));
    if (name) return nameSource = "related", name;
  }
  // Chromium reports the title of a symbol as a group in the drawing; a clickable icon is named by it.
  const used = localNameOf.call(el) === "svg" && isClickableIcon(el) ? findInside.call(el, "use") : null;
  const usedName = used === null ? "" : usedTitle(used);
  if (usedName !== "") return nameSource = "related", usedName;
  const link = attributeOf.call(el, "xlink:title");
  return link && collapseSpace(link) ? (nameSource = "attribute", collapseSpace(link)) : null;
}

/** Title of the element that an SVG `use` refers to. */
function usedTitle(el) {
  const address = attributeOf.call(el, "href") ?? attributeOf.call(el, "xlink:href");
  if (address === null || !address.startsWith("#")) return "";
  isUncacheable = true;
  const used = byId(rootOf.call(el), address.slice(1));
  const title = used === null ? null : svgTitle(used);
  return title === null ? "" : collapseSpace(textContentOf.call(title));
}

function childName(el, tag) {
  for (let child = firstChildOf.call(el); child; child = nextSiblingOf.call(child)) {
    if (nodeTypeOf.call(child) === 1 && localNameOf.call(child) === tag) {
      if (!isRendered(child)) return null;
      const name = collapseSpace(textAlternativeAt(child, nameContext(child, el, false, false)));
      return name ? (nameSource = "related", name) : null;
    }
  }
  return null;
}

/**
 * Text of the labels of a control. Labels are collected once per tree: `el.labels` would search the whole document for
 * each control.
 */
function labelText(el) {
  const labels = labelsOf(el);
  if (labels === null) return "";
  const parts = [];
  for (const label of labels) {
    // A label that is not rendered does not count, except by reference.
    if (memo.visited.has(label) || !isRendered(label) || closest.call(label, "[aria-hidden=true]") !== null) continue;
    const part = collapseSpace(textAlternativeAt(label, { ...nameContext(label, el, false, false), label: true }));
    if (!part) continue;
    if (isVisuallyHidden(label)) isNameHidden = true;
    parts.push(part);
  }
  return parts.join(" ");
}

function labelsOf(el) {
  // A walk that entered no shadow tree has seen elements of the document only.
  const root = memo.isWalk && memo.shadowRoots.size === 0 ? document : rootOf.call(el);
  // A map lookup by node costs more than all the rest.
  let labels = root === memo.labelsRoot ? memo.labelsInRoot : memo.labels.get(root);
  if (labels === undefined) {
    labels = null;
    const all = root.nodeType === 9 ? findAll.call(root, "label")
      : root instanceof DocumentFragment ? findAllInFragment.call(root, "label") : [];
    for (const label of all) {
      const control = labelControlOf.call(label);
      if (control === null) continue;
      labels ??= new Map();
      const known = labels.get(control);
      if (known) known.push(label);
      else labels.set(control, [label]);
    }
    memo.labels.set(root, labels);
  }
  memo.labelsRoot = root;
  memo.labelsInRoot = labels;
  return labels && labels.get(el) || null;
}

/** Text alternative of an element outside the walk, as part of another name. */
function textAlternativeAt(el, context) {
  const tag = localNameOf.call(el);
  const attributes = attributesOf(el, tag);
  return textAlternativeOf(el, tag, attributes, attributes === null ? maskOfTag(tag) : attributes.mask, context);
}

/** Text alternative of an element, as part of another name. */
function textAlternativeOf(el, tag, attributes, mask, context) {
  // Nothing contributes twice to one name, nor to its own.
  if (context.depth > MAX_NAME_DEPTH || memo.visited.has(el)) return "";
  memo.visited.add(el);
  return computeTextAlternative(el, tag, attributes, mask, context);
}

function computeTextAlternative(el, tag, attributes, mask, context) {
  lastSource = "";
  if (attributes === null && (tag === "span" || tag === "b" || tag === "i" || tag === "em" || tag === "strong")) {
    return contentText(el, tag, mask, context);
  }
  const isHtml = namespaceOf.call(el) === HTML;
  // A slot stands for its assigned nodes.
  if (tag === "slot" && isHtml) return contentText(el, tag, mask, context);
  const role = roleOf(el, tag, isHtml, attributes);
  const isFirst = context.depth === 0;
  // A control does not contribute to its own name from inside its label.
  if (el === context.self && !isFirst) return "";
  if (attributes !== null && !context.labelledby) {
    const ids = attributes["aria-labelledby"];
    if (ids !== undefined) {
      const name = labelledBy(el, ids);
      if (name) return lastSource = "related", name;
    }
  }
  // Embedded control: its value contributes to the label.
  if (!isFirst || context.labelledby) {
    const embedded = embeddedControlValue(el, tag, role, attributes, mask, context);
    if (embedded !== null) return lastSource = "value", embedded;
  }
  if (attributes !== null) {
    const label = attributes["aria-label"];
    if (label !== undefined) {
      const name = collapseSpace(label);
      if (name) return lastSource = "attribute", name;
    }
  }
  if (role !== "none" || tag !== "img") {
    const before = nameSource;
    const native = context.labelledby && LABELABLE.has(tag) && !isFirst ? null : nativeName(el, tag, role, attributes);
    const source = nameSource;
    nameSource = before;
    if (native) return lastSource = source === "content" ? "" : source, native;
    if (native === "" && tag === "img") return "";
  } else {
    return "";
  }
  if (tag === "use" && !isHtml) {
    const title = usedTitle(el);
    if (title !== "") return lastSource = "related", title;
  }
  let content = "";
  if (isFirst || tag !== "aside" && (!NAME_EXCLUDED_ROLES.has(role) || NAME_INCLUDED_TAGS.has(tag) && !attributes?.role)) {
    content = contentText(el, tag, mask, context);
    if (content.trim()) return lastSource = "", content;
  }
  if (attributes !== null) {
    const title = attributes.title;
    if (title !== undefined) {
      const name = collapseSpace(title);
      if (name) return lastSource = "title", name;
    }
    if (attributes.placeholder !== undefined && (tag === "input" || tag === "textarea")) {
      return lastSource = "placeholder", collapseSpace(attributes.placeholder);
    }
  }
  return content;
}

/** Source of the last part of a name; "" for text. */
let lastSource = "";

/** Value of a control embedded in the label of another; null for other elements. */
function embeddedControlValue(el, tag, role, attributes, mask, context) {
  const isInLabel = context.label || context.labelledby || context.inContent;
  if (!isInLabel || el === context.self) return null;
  switch (role) {
    case "textbox": case "searchbox":
      if (tag === "input") return isSecretField(el, attributes) ? "" : inputValueOf.call(el);
      if (tag === "textarea") return isSecretField(el, attributes) ? "" : areaValueOf.call(el);
      if (attributes !== null && attributes.contenteditable !== undefined && isSecretField(el, attributes, tag)) return "";
      return contentText(el, tag, mask, context);
    case "combobox": case "listbox": {
      if (tag === "select") {
        return Array.from(selectedOptionsOf.call(el), (option) => collapseSpace(optionTextOf.call(option))).join(" ");
      }
      if (tag === "input") return isSecretField(el, attributes) ? "" : inputValueOf.call(el);
      const chosen = findAllInside.call(el, "[role=option][aria-selected=true]");
      if (chosen.length) return Array.from(chosen, (option) => collapseSpace(textContentOf.call(option))).join(" ");
      return role === "combobox" ? contentText(el, tag, mask, context) : "";
    }
    case "slider": case "spinbutton": case "scrollbar": case "progressbar": case "meter": {
      const attribute = attributes && (attributes["aria-valuetext"] ?? attributes["aria-valuenow"]);
      if (attribute !== null && attribute !== undefined) return attribute;
      if (tag === "input") return isSecretField(el, attributes) ? "" : inputValueOf.call(el);
      if (tag === "progress" || tag === "meter") return attributes && attributes.value || "";
      return role === "spinbutton" || role === "slider" ? "" : null;
    }
  }
  return null;
}

/** The text last collected from an element begins or ends with a block. */
let startsBlock = false, endsBlock = false;

/** Text content of an element for a name: with generated content, slots and the text alternatives of descendants. */
function contentText(el, tag, mask, context) {
  if (context.depth > MAX_NAME_DEPTH) return "";
  const isVisible = context.hidden || ((mask & VISIBILITY) === 0 ? context.isVisible : computed(el).visibility === "visible");
  const transform = textTransformOf(el, tag, mask, context.transform);
  const next = { ...context, depth: context.depth + 1, isVisible: isVisible, transform };
  const isFlexible = (mask & DISPLAY) !== 0 && FLEX_OR_GRID.test(computed(el).display);
  let text = isVisible && (mask & BEFORE) !== 0 ? pseudoText(el, "::before") : "";
  let startsWithBlock = false, endedWithBlock = false;
  const add = (part, startsApart, endsApart) => {
    if (part === "") return void (endedWithBlock ||= startsApart || endsApart);
    const isApart = startsApart || endedWithBlock;
    if (text === "") startsWithBlock = isApart;
    else if (isApart && !text.endsWith(" ")) text += " ";
    text += part;
    endedWithBlock = endsApart;
  };
  const addChild = (child) => {
    const childTag = localNameOf.call(child);
    if (childTag === "br") return add("\n", false, false);
    if (SKIPPED_TAGS.has(childTag) || childTag === "rt") return;
    const attributes = attributesOf(child, childTag);
    const childMask = attributes === null ? maskOfTag(childTag) : attributes.mask;
    if (!next.hidden) {
      if (attributes !== null && (attributes["aria-hidden"] === "true" && !next.inAriaHidden || attributes.inert !== undefined)) return;
      if ((childMask & DISPLAY) !== 0 && computed(child).display === "none") return;
    }
    // An invisible element contributes no attributes; its descendants may be visible again.
    const isChildVisible = next.hidden || ((childMask & VISIBILITY) === 0 ? isVisible : computed(child).visibility === "visible");
    startsBlock = endsBlock = false;
    const part = isChildVisible ? textAlternativeOf(child, childTag, attributes, childMask, next)
      : LEAF_TAGS.has(childTag) ? "" : contentText(child, childTag, childMask, next);
    // What is not rendered is not inline.
    const isApart = lastSource !== "" || next.hidden || isBlockLike(child, childTag, childMask, isFlexible);
    lastSource = "";
    add(part, isApart || startsBlock, isApart || endsBlock);
  };
  const only = onlyText(el, tag);
  if (only !== null) {
    if (isVisible) add(applyTextTransform(only, transform), false, false);
  } else forEachFlatChild(el, tag, (child, isText) => {
    if (!isText) {
      if (!memo.owned?.has(child)) addChild(child);
    } else if (isVisible) add(applyTextTransform(dataOf.call(child), transform), false, false);
  });
  memo.owners?.get(el)?.forEach(addChild);
  [startsBlock, endsBlock] = [startsWithBlock, endedWithBlock];
  return isVisible && (mask & AFTER) !== 0 ? text + pseudoText(el, "::after") : text;
}
