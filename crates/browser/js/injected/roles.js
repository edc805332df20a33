// What an element is: WAI-ARIA roles, and what HTML means without them (HTML-AAM).

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

/** Attributes that any element may carry: with one of them, an element is not mere decoration. */
const GLOBAL_ARIA = [
  "aria-atomic", "aria-busy", "aria-controls", "aria-current", "aria-describedby", "aria-description",
  "aria-details", "aria-dropeffect", "aria-flowto", "aria-grabbed", "aria-keyshortcuts", "aria-label",
  "aria-labelledby", "aria-labeledby", "aria-braillelabel", "aria-brailleroledescription", "aria-live", "aria-owns",
  "aria-relevant", "aria-roledescription",
];

/** Tags whose role is always the same. */
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

/** Fields that can have a list of suggestions. */
const LIST_INPUT_ROLES = new Set("textbox searchbox date datetime inputtime spinbutton".split(" "));

const inputTypeOf = getter(HTMLInputElement.prototype, "type");
const inputListOf = getter(HTMLInputElement.prototype, "list");
const selectMultipleOf = getter(HTMLSelectElement.prototype, "multiple");
const selectSizeOf = getter(HTMLSelectElement.prototype, "size");

/** Inside these, `header` and `footer` belong to the section and not to the page. */
const SECTIONING = new Set(["article", "aside", "main", "nav", "section"]);
const SECTIONS = new Set(["article", "complementary", "main", "navigation"]);

/** The section that an element is in, by what it is and not by its tag alone. */
function enclosingSection(el) {
  for (let at = flatParentOf(el); at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    const attribute = attributeOf.call(at, "role");
    let role = attribute === null ? "" : firstRole(attribute);
    if ((role === "region" || role === "form") && SECTIONING.has(localNameOf.call(at))) role = "";
    if (role === "" ? SECTIONING.has(localNameOf.call(at)) : SECTIONS.has(role)) return at;
  }
  return null;
}

/** The role an element has by its tag, or "" when it has none. */
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
    // The browser draws one of its own in it.
    case "details": if (summaryOf(el) === null) return "disclosuretriangle"; break;
    case "aside":
      return enclosingSection(el) && !hasAuthorName(el) && !isTopLevelAside(el) ? "generic" : "complementary";
    case "br": return "linebreak";
    case "label": return labelRole(el);
    case "slot": return "generic";
  }
  return role || "generic";
}

/** What opens and closes a `details`; null when its author wrote none. */
const summaryOf = (details) => findInside.call(details, ":scope > summary");

/** Whether the list that an item is directly in, if any, was not made something else: the same for all items of it. */
function isListItem(el) {
  const parent = flatParentOf(el);
  // Items of a list come one after the other; to look up an element in a map costs more than all the rest.
  if (parent === memo.list) return memo.isList;
  let known = memo.lists.get(parent);
  if (known === undefined) memo.lists.set(parent, known = isListOrNone(parent));
  memo.list = parent;
  return memo.isList = known;
}

function isListOrNone(parent) {
  if (parent === null || nodeTypeOf.call(parent) !== 1 || !/^(?:ul|ol|menu|dir)$/.test(localNameOf.call(parent))) return true;
  const attribute = attributeOf.call(parent, "role");
  return !attribute || /^(?:list|directory)$/.test(firstRole(attribute));
}

/** Directly in the page or its main part: such an aside stands for itself. */
const isTopLevelAside = (el) => {
  const section = enclosingSection(el);
  return section !== null && (localNameOf.call(section) === "main" || firstRole(attributeOf.call(section, "role") || "") === "main") &&
    enclosingSection(section) === null;
};

/** The label of a box to tick is that box's name and nothing else, as long as the box is there. */
function labelRole(el) {
  const control = labelControlOf.call(el);
  if (control === null || localNameOf.call(control) !== "input") return "label";
  const type = inputTypeOf.call(control);
  return (type === "checkbox" || type === "radio") && isRendered(control) && tabIndexAttribute(el) === null &&
    findInside.call(el, "a[href], button, select, textarea") === null ? "generic" : "label";
}

/** The table an element belongs to. */
const tableOf = (el) => closest.call(el, "table");

function tableRole(el, tag) {
  if (tag === "table") return isDataTable(el) ? "table" : "layouttable";
  const table = tableOf(el);
  if (!table) return "generic";
  const explicit = attributeOf.call(table, "role");
  const kind = explicit === null ? (isDataTable(table) ? "table" : "none") : firstRole(explicit) || "table";
  // A row that only places things side by side holds them together all the same.
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

/** A `th` without a scope heads its row when the row has data in it too, else its column. */
function headerKind(el) {
  const row = closest.call(el, "tr");
  for (let cell = row && firstChildOf.call(row); cell; cell = nextSiblingOf.call(cell)) {
    if (nodeTypeOf.call(cell) === 1 && localNameOf.call(cell) === "td") return "rowheader";
  }
  return "columnheader";
}

/** Whether a table holds data, or only places things side by side. */
function isDataTable(table) {
  let known = memo.tables.get(table);
  if (known === undefined) memo.tables.set(table, known = computeIsDataTable(table));
  return known;
}

/** Whether an element means something by itself, whatever its tag: somebody refers to it, listens to it or says so. */
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
      // One in which there is no room says nothing.
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

/** The first role of a list that is one. */
function firstRole(value) {
  for (const word of value.trim().toLowerCase().split(/\s+/)) {
    if (ARIA_ROLES.has(word)) return word === "image" ? "img" : word === "presentation" ? "none" : word;
  }
  return "";
}

/** Whether an element has an attribute that gives it a name. */
const hasAuthorName = (el) =>
  !!(attributeOf.call(el, "aria-label") || "").trim() ||
  referenced(el, attributeOf.call(el, "aria-labelledby") || "").length > 0 ||
  !!(attributeOf.call(el, "title") || "").trim();

/** Boxes that mean something when they can be dragged, shown or gone to. */
const GROUP_TAGS = new Set(["div", "center", "pre"]);

/** The role an element has, by what its author said and by its tag; "none" for one that is not to be told of. */
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
        // Decoration that can be reached or that says something about itself is none.
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

/** Whether what is embedded is a picture, by what its author says: pictures cannot be used. */
const isImageEmbed = (embed) => /^image\/(?!svg)/i.test(attributeOf.call(embed, "type") || "") ||
  !attributeOf.call(embed, "src") || /\.(?:png|jpe?g|gif|webp|avif|bmp|ico)(?:[?#]|$)/i.test(attributeOf.call(embed, "src"));

/** Whether the keyboard or a script can bring the focus to an element with these attributes. */
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
