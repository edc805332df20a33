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
  "aria-labelledby", "aria-live", "aria-owns", "aria-relevant", "aria-roledescription",
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
  main: "main", mark: "mark", marquee: "marquee", math: "math", menu: "list", meter: "meter", nav: "navigation",
  object: "pluginobject", ol: "list", optgroup: "group", option: "option", output: "status", p: "paragraph",
  progress: "progressbar", rt: "rubyannotation", ruby: "ruby", s: "deletion", search: "search",
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

const inputTypeOf = getter(HTMLInputElement.prototype, "type");
const inputListOf = getter(HTMLInputElement.prototype, "list");
const selectMultipleOf = getter(HTMLSelectElement.prototype, "multiple");
const selectSizeOf = getter(HTMLSelectElement.prototype, "size");

/** Inside these, `header` and `footer` belong to the section and not to the page. */
const SECTIONING = "article, aside, main, nav, section, [role=article], [role=complementary], [role=main], " +
  "[role=navigation], [role=region]";

/** The role an element has by its tag, or "" when it has none. */
function nativeRole(el, tag) {
  const role = TAG_ROLES[tag];
  switch (tag) {
    case "div": case "span": case "b": case "i": case "u": case "body": case "font": return "generic";
    case "a":
      return hasAttribute.call(el, "href") || hasAttribute.call(el, "onclick") ? "link" : "generic";
    case "input": {
      const type = inputTypeOf.call(el);
      const role = INPUT_ROLES[type] || "textbox";
      if ((role === "textbox" || role === "searchbox") && type !== "password" && inputListOf.call(el)) return "combobox";
      if ((type === "button" || type === "checkbox") && hasAttribute.call(el, "aria-pressed")) return "button";
      return role;
    }
    case "select":
      return selectMultipleOf.call(el) || selectSizeOf.call(el) > 1 ? "listbox" : "combobox";
    case "area": return "link";
    case "img": {
      const alt = attributeOf.call(el, "alt");
      if (alt === "" && !hasAuthorName(el)) return "none";
      return "img";
    }
    case "li": return isInList(el) ? "listitem" : "generic";
    case "header": return closest.call(el, SECTIONING) ? "sectionheader" : "banner";
    case "footer": return closest.call(el, SECTIONING) ? "sectionfooter" : "contentinfo";
    case "section": return "section";
    case "table": case "td": case "th": case "tr": case "tbody": case "thead": case "tfoot":
      return tableRole(el, tag);
    case "summary": {
      const parent = parentOf(el);
      const isFirst = parent && localNameOf.call(parent) === "details" &&
        findInside.call(parent, ":scope > summary") === el;
      return isFirst ? "disclosuretriangle" : "generic";
    }
    case "aside":
      return closest.call(parentOf(el) || el, SECTIONING) && !hasAuthorName(el) && !isTopLevelAside(el) ? "generic" : "complementary";
    case "br": return "linebreak";
    case "label": return labelRole(el);
    case "slot": return "generic";
  }
  return role || "generic";
}

/** Whether the nearest ancestor that means anything is a list: the same for all who have the same parent. */
function isInList(el) {
  const parent = flatParentOf(el);
  let known = memo.lists.get(parent);
  if (known === undefined) memo.lists.set(parent, known = isListInside(parent));
  return known;
}

function isListInside(inner) {
  for (let parent = inner; parent !== null && nodeTypeOf.call(parent) === 1; parent = flatParentOf(parent)) {
    const said = attributeOf.call(parent, "role");
    const role = said === null ? "" : firstRole(said);
    if (role === "list" || role === "directory") return true;
    if (role !== "" && role !== "none" && role !== "generic") return false;
    const tag = localNameOf.call(parent);
    if (tag === "ul" || tag === "ol" || tag === "menu" || tag === "dir") return role === "";
    if (tag !== "div" && tag !== "span" && tag !== "slot") return false;
  }
  return false;
}

/** Directly in the page or its main part: such an aside stands for itself. */
const isTopLevelAside = (el) => {
  const section = closest.call(parentOf(el) || el, SECTIONING);
  return section !== null && localNameOf.call(section) === "main" && !closest.call(parentOf(section) || section, SECTIONING);
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
      return (kind === "table" || isGrid) && hasSections(table) ? "rowgroup" : "generic";
  }
}

/** Whether a table has several groups of rows: a single one is no group. */
function hasSections(table) {
  let count = 0;
  for (let child = firstChildOf.call(table); child !== null; child = nextSiblingOf.call(child)) {
    if (nodeTypeOf.call(child) === 1 && /^(thead|tbody|tfoot)$/.test(localNameOf.call(child)) && ++count > 1) return true;
  }
  return false;
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
  if (known === undefined) memo.tables.set(table, known = decideDataTable(table));
  return known;
}

function decideDataTable(table) {
  if (hasAttribute.call(table, "role") || tabIndexAttribute(table) !== null) return true;
  for (const name of GLOBAL_ARIA) if (hasAttribute.call(table, name)) return true;
  if (isEditableHost(table)) return true;
  if (findInside.call(table, ":scope > caption, :scope > thead, :scope > tfoot, :scope > colgroup, :scope > col")) return true;
  if (attributeOf.call(table, "summary")) return true;
  if (hasAttribute.call(table, "rules")) return true;
  if (attributeOf.call(table, "datatable") === "0") return false;
  const heads = findAllInside.call(table, "th");
  for (const head of heads) if (tableOf(head) === table) return true;
  const cells = findAllInside.call(table, "td");
  let count = 0;
  for (const cell of cells) {
    if (tableOf(cell) !== table) return false;
    if (hasAttribute.call(cell, "headers") || hasAttribute.call(cell, "abbr") || hasAttribute.call(cell, "axis") ||
        hasAttribute.call(cell, "scope")) return true;
    count++;
  }
  if (count <= 1) return false;
  const style = styleOf(table);
  let rows = 0, columns = 0, bordered = 0, colored = 0;
  const tableColor = style.backgroundColor;
  for (const row of table.rows) {
    rows++;
    columns = Math.max(columns, row.cells.length);
  }
  if (rows <= 1 || columns <= 1) return false;
  const limit = Math.min(count, 40);
  for (let at = 0; at < limit; at++) {
    const cell = styleOf(cells[at]);
    if (parseFloat(cell.borderTopWidth) > 0 && parseFloat(cell.borderBottomWidth) > 0 ||
        parseFloat(cell.borderLeftWidth) > 0 && parseFloat(cell.borderRightWidth) > 0) bordered++;
    if (cell.backgroundColor !== tableColor && cell.backgroundColor !== "rgba(0, 0, 0, 0)") colored++;
  }
  if (bordered * 2 >= limit || colored * 2 >= limit) return true;
  if (rows >= 20) return true;
  const colors = new Set();
  let at = 0;
  for (const row of table.rows) {
    if (at++ >= 5) break;
    const color = styleOf(row).backgroundColor;
    if (color !== "rgba(0, 0, 0, 0)") colors.add(color);
  }
  return at > 1 && colors.size > 1;
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
  !!(attributeOf.call(el, "aria-label") || "").trim() || hasAttribute.call(el, "aria-labelledby") ||
  !!(attributeOf.call(el, "title") || "").trim();

/** The role an element has, by what its author said and by its tag; "none" for one that is not to be told of. */
function roleOf(el, tag, isHtml, attributes) {
  const native = isHtml ? nativeRole(el, tag) : tag === "svg" ? "img" : foreignRole(el, tag);
  if (attributes === null) return native === "section" ? "generic" : native;
  const said = attributes.role;
  if (said) {
    for (const word of said.trim().toLowerCase().split(/\s+/)) {
      if (!ARIA_ROLES.has(word)) continue;
      const role = word === "image" ? "img" : word === "presentation" ? "none" : word === "directory" ? "list" : word;
      if (role === "none") {
        // Decoration that can be reached or that says something about itself is none.
        if (isFocusable(el, tag, attributes) || GLOBAL_ARIA.some((name) => hasAttribute.call(el, name))) break;
        return "none";
      }
      if ((role === "region" || role === "form") && !hasAuthorName(el)) continue;
      return role;
    }
  }
  return native === "section" ? (hasAuthorName(el) ? "region" : "generic") : native;
}

function foreignRole(el, tag) {
  if (namespaceOf.call(el) === MATH) return tag === "math" ? "math" : "generic";
  switch (tag) {
    case "a": return hasAttribute.call(el, "href") || hasAttribute.call(el, "xlink:href") ? "link" : "generic";
    case "image": return "img";
    case "g": case "use": case "path": case "rect": case "circle": case "ellipse": case "line": case "polygon":
    case "polyline":
      return svgTitle(el) !== null || hasAuthorName(el) ? (tag === "g" ? "group" : "graphics-symbol") : "none";
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
  return value !== null && /^(|true|plaintext-only)$/i.test(value);
};

const DISABLEABLE = new Set(["button", "input", "select", "textarea", "optgroup", "option", "fieldset"]);

const isDisabled = (el, tag) => DISABLEABLE.has(tag) && matches.call(el, ":disabled");

/** Whether the keyboard or a script can bring the focus to an element with these attributes. */
function isFocusable(el, tag, attributes) {
  if (isDisabled(el, tag)) return false;
  if (attributes !== null && attributes.tabindex !== undefined && tabIndexAttribute(el) !== null) return true;
  switch (tag) {
    case "a": case "area":
      return attributes !== null && attributes.href !== undefined || hasAttribute.call(el, "xlink:href");
    case "button": case "select": case "textarea": case "iframe": case "frame": return true;
    case "input": return inputTypeOf.call(el) !== "hidden";
    case "audio": case "video": return hasAttribute.call(el, "controls");
    case "summary": return nativeRole(el, tag) === "disclosuretriangle";
    default: return attributes !== null && attributes.contenteditable !== undefined && isEditableHost(el);
  }
}
