// Roles: WAI-ARIA, and the implicit roles of HTML elements (HTML-AAM).

const ARIA_ROLES = new Set((
  "alert alertdialog application article banner blockquote button caption cell checkbox code columnheader " +
  "combobox comment complementary contentinfo definition deletion dialog directory document emphasis feed figure " +
  "form generic grid gridcell group heading image img insertion link list listbox listitem log main mark marquee " +
  "math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph " +
  "presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox " +
  "sectionfooter sectionheader separator " +
  "slider spinbutton status strong subscript suggestion superscript switch tab table tablist tabpanel term textbox " +
  "time timer toolbar tooltip tree treegrid treeitem graphics-document graphics-object graphics-symbol " +
  "doc-abstract doc-acknowledgments doc-afterword doc-appendix doc-backlink doc-biblioentry doc-bibliography " +
  "doc-biblioref doc-chapter doc-colophon doc-conclusion doc-cover doc-credit doc-credits doc-dedication " +
  "doc-endnote doc-endnotes doc-epigraph doc-epilogue doc-errata doc-example doc-footnote doc-foreword " +
  "doc-glossary doc-glossref doc-index doc-introduction doc-noteref doc-notice doc-pagebreak doc-pagefooter " +
  "doc-pageheader doc-pagelist doc-part doc-preface doc-prologue doc-pullquote doc-qna doc-subtitle doc-tip " +
  "doc-toc").split(" "));

/** Global ARIA attributes: with one of them, `role=none` does not apply. */
const GLOBAL_ARIA = [
  "aria-atomic", "aria-busy", "aria-controls", "aria-current", "aria-describedby", "aria-description",
  "aria-details", "aria-dropeffect", "aria-flowto", "aria-grabbed", "aria-keyshortcuts", "aria-label",
  "aria-labelledby", "aria-labeledby", "aria-braillelabel", "aria-brailleroledescription", "aria-live", "aria-owns",
  "aria-relevant", "aria-roledescription",
];

/** Tags with a fixed role. */
const TAG_ROLES = {
  __proto__: null,
  abbr: "abbr", address: "group", article: "article", aside: "complementary", audio: "audio", blockquote: "blockquote",
  button: "button", canvas: "canvas", caption: "caption", code: "code", dd: "definition", del: "deletion",
  details: "group", dfn: "term", dialog: "dialog", dir: "list", dl: "descriptionlist",
  dt: "term", em: "emphasis", embed: "embeddedobject", fieldset: "group", figcaption: "figcaption",
  figure: "figure", form: "form", h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading",
  h6: "heading", hgroup: "group", hr: "separator", iframe: "iframe", frame: "iframe", ins: "insertion",
  label: "label", legend: "legend",
  main: "main", mark: "mark", math: "math", menu: "list", meter: "meter", nav: "navigation",
  object: "pluginobject", ol: "list", optgroup: "group", option: "option", output: "status", p: "paragraph",
  progress: "progressbar", rt: "none", ruby: "ruby", s: "deletion", search: "search",
  strong: "strong", sub: "subscript", summary: "disclosuretriangle", sup: "superscript",
  textarea: "textbox", time: "time", tr: "row", ul: "list", video: "video",
};

const INPUT_ROLES = {
  __proto__: null,
  button: "button", checkbox: "checkbox", color: "colorwell", date: "date", "datetime-local": "datetime",
  email: "textbox", file: "button", image: "button", month: "datetime", number: "spinbutton",
  password: "textbox", radio: "radio", range: "slider", reset: "button", search: "searchbox",
  submit: "button", tel: "textbox", text: "textbox", time: "inputtime", url: "textbox", week: "datetime",
};

/** Roles of inputs that can have a `datalist`. */
const LIST_INPUT_ROLES = new Set("textbox searchbox date datetime inputtime spinbutton".split(" "));

const inputTypeOf = getter(HTMLInputElement.prototype, "type");
const inputListOf = getter(HTMLInputElement.prototype, "list");
const selectMultipleOf = getter(HTMLSelectElement.prototype, "multiple");
const selectSizeOf = getter(HTMLSelectElement.prototype, "size");

/** Inside these, `header` and `footer` belong to the section and not to the page. */
const SECTIONING = new Set(["article", "aside", "main", "nav", "section"]);
const SECTIONS = new Set(["article", "complementary", "main", "navigation"]);

/** Nearest sectioning element around an element, by role or tag. */
function enclosingSection(el) {
  for (let at = flatParentOf(el); at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const attribute = attributeOf.call(at, "role");
    let role = attribute === null ? "" : firstRole(attribute);
    if ((role === "region" || role === "form") && SECTIONING.has(localNameOf.call(at))) role = "";
    if (role === "" ? SECTIONING.has(localNameOf.call(at)) : SECTIONS.has(role)) return at;
  }
  return null;
}

/** Implicit role of an element by its tag, or "" when it has none. */
function nativeRole(el, tag) {
  const role = TAG_ROLES[tag];
  switch (tag) {
    case "div": case "span": case "b": case "i": case "u": case "body": case "font": return "generic";
    case "a":
      return hasAttribute.call(el, "href") || listenerTargets.has(el) || hasAttribute.call(el, "onclick") ||
        hasAttribute.call(el, "onmousedown") || hasAttribute.call(el, "onmouseup") ? "link" : "generic";
    case "input": {
      const type = inputTypeOf.call(el);
      const role = INPUT_ROLES[type] || "textbox";
      if (LIST_INPUT_ROLES.has(role) && type !== "password" && inputListOf.call(el)) return "combobox";
      if (type === "button" && hasAttribute.call(el, "aria-pressed")) return "button";
      return role;
    }
    case "select":
      return selectMultipleOf.call(el) || selectSizeOf.call(el) > 1 ? "listbox" : "combobox";
    case "area": return hasAttribute.call(el, "href") ? "link" : "none";
    case "img": {
      const alt = attributeOf.call(el, "alt");
      if (alt === "" && !hasAuthorName(el)) return "none";
      return "img";
    }
    case "li": return isListItem(el) ? "listitem" : "generic";
    case "header": return enclosingSection(el) ? "sectionheader" : "banner";
    case "footer": return enclosingSection(el) ? "sectionfooter" : "contentinfo";
    case "section": return "section";
    case "table": case "td": case "th": case "tr": case "tbody": case "thead": case "tfoot":
      return tableRole(el, tag);
    case "summary": {
      const parent = parentOf(el);
      const isFirst = parent && localNameOf.call(parent) === "details" && summaryOf(parent) === el;
      return isFirst ? "disclosuretriangle" : "generic";
    }
    // Without a `summary`, the browser renders a default one.
    case "details": if (summaryOf(el) === null) return "disclosuretriangle"; break;
    case "aside":
      return enclosingSection(el) && !hasAuthorName(el) && !isTopLevelAside(el) ? "generic" : "complementary";
    case "br": return "linebreak";
    case "label": return labelRole(el);
    case "slot": return "generic";
  }
  return role || "generic";
}

/** First `summary` of a `details`; null when there is none. */
const summaryOf = (details) => findInside.call(details, ":scope > summary");

/** Returns whether the parent of an `li` is a list, or no list element at all: the same for all items of it. */
function isListItem(el) {
  const parent = flatParentOf(el);
  // Items of a list follow one another, and a map lookup costs more than all the rest.
  if (parent === memo.list) return memo.isList;
  let cached = memo.lists.get(parent);
  if (cached === undefined) memo.lists.set(parent, cached = isListOrNone(parent));
  memo.list = parent;
  return memo.isList = cached;
}

function isListOrNone(parent) {
  if (parent === null || nodeTypeOf.call(parent) !== 1 || !/^(?:ul|ol|menu|dir)$/.test(localNameOf.call(parent))) return true;
  const attribute = attributeOf.call(parent, "role");
  return !attribute || /^(?:list|directory)$/.test(firstRole(attribute));
}

/** Returns whether an `aside` is directly in the page or its main part, and so stays complementary. */
const isTopLevelAside = (el) => {
  const section = enclosingSection(el);
  return section !== null && (localNameOf.call(section) === "main" || firstRole(attributeOf.call(section, "role") || "") === "main") &&
    enclosingSection(section) === null;
};

/** Role of a label: generic for one that only names a rendered checkbox or radio button. */
function labelRole(el) {
  const control = labelControlOf.call(el);
  if (control === null || localNameOf.call(control) !== "input") return "label";
  const type = inputTypeOf.call(control);
  return (type === "checkbox" || type === "radio") && isRendered(control) && tabIndexAttribute(el) === null &&
    findInside.call(el, "a[href], button, select, textarea") === null ? "generic" : "label";
}

/** Table that an element belongs to. */
const tableOf = (el) => closest.call(el, "table");

function tableRole(el, tag) {
  if (tag === "table") return isDataTable(el) ? "table" : "layouttable";
  const table = tableOf(el);
  if (!table) return "generic";
  const explicit = attributeOf.call(table, "role");
  const kind = explicit === null ? (isDataTable(table) ? "table" : "none") : firstRole(explicit) || "table";
  // A row of a layout table still groups its cells.
  if (kind === "none" || kind === "presentation") return tag === "tr" && explicit === null ? "generic" : "none";
  const isGrid = kind === "grid" || kind === "treegrid";
  switch (tag) {
    case "tr": return kind === "table" || isGrid ? "row" : "generic";
    case "td": return isGrid ? "gridcell" : kind === "table" ? "cell" : "generic";
    case "th": {
      if (kind !== "table" && !isGrid) return "generic";
      const scope = (attributeOf.call(el, "scope") || "").toLowerCase();
      if (scope === "row" || scope === "rowgroup") return "rowheader";
      if (scope === "col" || scope === "colgroup") return "columnheader";
      return headerKind(el);
    }
    default:
      return (kind === "table" || isGrid) && (tag !== "tbody" || hasOwnSemantics(el)) ? "rowgroup" : "generic";
  }
}

/** Role of a `th` without a scope: row header when the row also has data cells, else column header. */
function headerKind(el) {
  const row = closest.call(el, "tr");
  for (let cell = row && firstChildOf.call(row); cell; cell = nextSiblingOf.call(cell)) {
    if (nodeTypeOf.call(cell) === 1 && localNameOf.call(cell) === "td") return "rowheader";
  }
  return "columnheader";
}

/** Returns whether a table holds data, as opposed to a layout table. */
function isDataTable(table) {
  let cached = memo.tables.get(table);
  if (cached === undefined) memo.tables.set(table, cached = computeIsDataTable(table));
  return cached;
}

/**
 * Returns whether an element has semantics besides its tag: an id, a title, a tabindex, a click listener, an ARIA
 * attribute.
 */
function hasOwnSemantics(el) {
  return listenerTargets.has(el) || hasAttribute.call(el, "id") || !!attributeOf.call(el, "title") || tabIndexAttribute(el) !== null ||
    attributeNamesOf.call(el).some((name) => name.startsWith("aria-") || /^on(?:click|mousedown|mouseup)$/.test(name));
}

function computeIsDataTable(table) {
  if (hasAttribute.call(table, "role") || table.isContentEditable) return true;
  if (findInside.call(table, ":scope > caption, :scope > thead, :scope > tfoot, :scope > colgroup, :scope > col")) return true;
  if (attributeOf.call(table, "summary") || attributeOf.call(table, "rules")) return true;
  if (attributeOf.call(table, "datatable") === "0") return false;
  const { rows } = table;
  if (rows.length >= 20) return true;
  if (rows.length === 0 || rows.length === 1 && rows[0].cells.length === 1) return false;
  const style = computed(table);
  const isSpaced = !/(?:^|\s)0px/.test(style.borderSpacing) && style.borderCollapse === "separate";
  let count = 0, bordered = 0, colored = 0;
  const sides = [0, 0, 0, 0], stripes = [];
  for (let at = 0; at < rows.length; at++) {
    for (const cell of rows[at].cells) {
      if (localNameOf.call(cell) === "th") return true;
      for (const name of ["headers", "abbr", "axis", "scope"]) if (attributeOf.call(cell, name)) return true;
      // A cell without size is no evidence.
      if (widthOf.call(cell) === 0 || heightOf.call(cell) === 0) continue;
      count++;
      const drawn = computed(cell);
      const has = ["Top", "Bottom", "Left", "Right"].map((side) => parseFloat(drawn[`border${side}Width`]) > 0);
      if (has[0] && has[1] || has[2] && has[3]) bordered++;
      has.forEach((is, side) => { if (is) sides[side]++; });
      if (isSpaced && drawn.backgroundColor !== style.backgroundColor && !isTransparent(drawn.backgroundColor)) colored++;
      if (bordered >= 10 || colored >= 10) return true;
      if (at < 5 && at === stripes.length) stripes.push(computed(rows[at]).backgroundColor);
    }
  }
  if (count <= 1) return false;
  const half = count >> 1;
  if (Math.max(bordered, colored, ...sides) >= half) return true;
  return stripes.length > 2 && stripes.every((color, at) => (color === stripes[0]) === (at % 2 === 0));
}

/** First valid role of a `role` attribute. */
function firstRole(value) {
  for (const word of value.trim().toLowerCase().split(/\s+/)) {
    if (ARIA_ROLES.has(word)) return word === "image" ? "img" : word === "presentation" ? "none" : word;
  }
  return "";
}

/** Returns whether an element has an attribute that names it. */
const hasAuthorName = (el) =>
  !!(attributeOf.call(el, "aria-label") || "").trim() ||
  referenced(el, attributeOf.call(el, "aria-labelledby") || "").length > 0 ||
  !!(attributeOf.call(el, "title") || "").trim();

/** Tags that become groups when draggable, popovers or autofocused. */
const GROUP_TAGS = new Set(["div", "center", "pre"]);

/** Role of an element from its `role` attribute and tag; "none" for presentational elements. */
function roleOf(el, tag, isHtml, attributes) {
  const native = isHtml ? nativeRole(el, tag) : tag === "svg" ? "img" : foreignRole(el, tag, attributes);
  if (attributes === null) return native === "section" ? "generic" : native;
  const attribute = attributes.role;
  if (attribute === undefined && GROUP_TAGS.has(tag) && (attributes.isGrouped || attributes.draggable !== undefined)) return "group";
  if (attribute) {
    for (const word of attribute.trim().toLowerCase().split(/\s+/)) {
      if (!ARIA_ROLES.has(word)) continue;
      const role = word === "image" ? "img" : word === "presentation" ? "none" : word === "directory" ? "list" : word;
      if (role === "none") {
        // Presentational role conflict: a focusable element, or one with global ARIA attributes, keeps its own role.
        if (isFocusable(el, tag, attributes) || GLOBAL_ARIA.some((name) => hasAttribute.call(el, name))) break;
        return "none";
      }
      if ((role === "region" || role === "form") && !hasAuthorName(el) && !attributes["aria-roledescription"]) continue;
      return role;
    }
  }
  return native === "section" ? (hasAuthorName(el) ? "region" : "generic") : native;
}

function foreignRole(el, tag, attributes) {
  if (namespaceOf.call(el) === MATH) return tag === "math" ? "math" : "generic";
  switch (tag) {
    case "a": return hasAttribute.call(el, "href") || hasAttribute.call(el, "xlink:href") ? "link" : "generic";
    case "image": return svgTitle(el) !== null || hasAuthorName(el) ? "img" : "none";
    case "g": case "use": case "path": case "rect": case "circle": case "ellipse": case "line": case "polygon":
    case "polyline":
      return svgTitle(el) !== null || listenerTargets.has(el) || attributes !== null && !attributes.isBare &&
        (hasAuthorName(el) || attributes.tabindex !== undefined || attributes.onclick !== undefined ||
          Object.keys(attributes).some((name) => name.startsWith("aria-")))
        ? (tag === "g" ? "group" : tag === "use" ? "graphics-object" : "graphics-symbol") : "none";
    case "text": case "tspan": case "textPath": return "generic";
    case "foreignObject": return "generic";
    default: return "generic";
  }
}

function svgTitle(el) {
  for (let child = firstChildOf.call(el); child; child = nextSiblingOf.call(child)) {
    if (nodeTypeOf.call(child) === 1 && localNameOf.call(child) === "title") return child;
  }
  return null;
}

const tabIndexAttribute = (el) => {
  const value = attributeOf.call(el, "tabindex");
  if (value === null) return null;
  const number = parseInt(value, 10);
  return Number.isNaN(number) ? null : number;
};

const isEditableHost = (el) => {
  const value = attributeOf.call(el, "contenteditable");
  return value !== null && /^(|true|plaintext-only)$/i.test(value) && namespaceOf.call(el) === HTML;
};

const DISABLEABLE = new Set(["button", "input", "select", "textarea", "optgroup", "option", "fieldset"]);

const isDisabled = (el, tag) => DISABLEABLE.has(tag) && matches.call(el, ":disabled");

const objectWindowOf = getter(HTMLObjectElement.prototype, "contentWindow");

/** Returns whether an embed is an image by its type or URL: images take no focus. */
const isImageEmbed = (embed) => /^image\/(?!svg)/i.test(attributeOf.call(embed, "type") || "") ||
  !attributeOf.call(embed, "src") || /\.(?:png|jpe?g|gif|webp|avif|bmp|ico)(?:[?#]|$)/i.test(attributeOf.call(embed, "src"));

/** Returns whether an element with these attributes can be focused. */
function isFocusable(el, tag, attributes, isOff = isDisabled(el, tag)) {
  if (isOff) return false;
  if (attributes !== null && attributes.tabindex !== undefined && tabIndexAttribute(el) !== null) return true;
  switch (tag) {
    case "a": case "area":
      return attributes !== null && attributes.href !== undefined || hasAttribute.call(el, "xlink:href");
    case "button": case "select": case "textarea": case "iframe": case "frame": return true;
    case "input": return inputTypeOf.call(el) !== "hidden";
    case "audio": case "video": return hasAttribute.call(el, "controls");
    case "summary": case "details": return nativeRole(el, tag) === "disclosuretriangle";
    case "dialog": return true;
    case "object": return objectWindowOf.call(el) !== null;
    case "embed": return !isImageEmbed(el);
    default: return attributes !== null && attributes.contenteditable !== undefined && isEditableHost(el);
  }
}
