// Style sheet analysis: which computed styles an element needs to be asked for.
//
// Reading computed styles dominates a walk: half a microsecond for each property of each element. So the style sheets
// are scanned first for the properties that they set, and the elements that they may match. An element that no rule
// with a property can match has that property from its parent or from the user agent sheet, and is not asked. Matching
// uses the last compound of a selector alone (a class, an id, an attribute, a tag): always a superset of the elements
// that match, never a subset. When a sheet cannot be read because it is cross-origin, every element is asked.

const BEFORE = 1, AFTER = 2, DISPLAY = 4, VISIBILITY = 8, CURSOR = 16, TEXT_TRANSFORM = 32, COLOR = 64, BACKGROUND = 128,
  SCROLL = 256, OPACITY = 512, CLIP = 1024, TEXT_INDENT = 2048, TRANSFORM = 4096, OFFSET = 8192, SIZE = 16384, FONT = 32768,
  ALL_PROPERTIES = 65535;
/** Properties that can hide a box. */
const HIDING = OPACITY | CLIP | TEXT_INDENT | TRANSFORM | OFFSET | SIZE | FONT;

/** Offset large enough to matter, or of unknown size. */
const FAR_VALUE = /-\d|\d{3}|var\(|calc\(/;
/** Size small enough to matter, or unknown. */
const SMALL_VALUE = /(?:^|\s)(?:0|[12]px|\.|\d%|var\(|calc\(|clamp\(|min\()/;

/** Properties by name prefix, with their bit and an optional test of the value. */
const PROPERTIES = [
  ["all", ALL_PROPERTIES],
  ["display position float", DISPLAY],
  ["visibility content-visibility", VISIBILITY],
  ["cursor", CURSOR],
  ["text-transform -webkit-text-security", TEXT_TRANSFORM],
  ["color -webkit-text-fill-color mix-blend-mode", COLOR],
  ["background", BACKGROUND],
  ["opacity filter mask -webkit-mask", OPACITY],
  ["clip -webkit-clip", CLIP],
  ["text-indent", TEXT_INDENT],
  ["transform translate scale rotate offset zoom perspective -webkit-transform", TRANSFORM],
  ["left top right bottom margin inset", OFFSET, FAR_VALUE],
  ["width height max-width max-height min-width inline-size block-size max-inline-size max-block-size", SIZE, SMALL_VALUE],
  ["overflow", SIZE],
  ["contain", SIZE, /strict|size|var\(/],
  ["overflow", SCROLL, /auto|scroll|var\(/],
  ["font-size font line-height", FONT, SMALL_VALUE],
].flatMap(([names, bits, matters]) => names.split(" ").map((name) => ({ name, bits, matters })));

/** The same by full property name, filled on demand. */
const propertiesByName = new Map();

function propertiesNamed(name) {
  let result = propertiesByName.get(name);
  if (result === undefined) {
    result = PROPERTIES.filter((it) => name === it.name || name.startsWith(`${it.name}-`));
    propertiesByName.set(name, result);
  }
  return result;
}

/** Bit mask of the properties that declarations set. A semicolon in a value can add bits, never lose them. */
function propertyMask(text) {
  let sets = 0;
  for (const [, name, value] of text.matchAll(/([\w-]+)\s*:\s*([^;]*)/g)) {
    for (const { bits, matters } of propertiesNamed(name)) {
      if (matters === undefined || matters.test(value)) sets |= bits;
    }
  }
  return sets;
}

/** Cache of one observation. */
let memo = null;

const newMemo = () => ({
  styles: new Map(), labels: new Map(), visited: new Set(), tables: new Map(), maps: new Map(), lists: new Map(),
  counters: null, rules: null, classes: new Map(), animated: null,
  // Last query and its result: the same is often asked for several times in a row.
  textOnlyElement: null, textOnlyResult: null, labelsRoot: null, labelsInRoot: null, list: undefined, isList: false,
});

function computed(el) {
  let style = memo.styles.get(el);
  if (style === undefined) memo.styles.set(el, style = styleOf(el));
  return style;
}

/** Properties that the rules of a sheet set, keyed by the last compound of their selectors. */
const newRules = () => ({
  everywhere: 0, tags: new Map(), classes: new Map(), ids: new Map(), attributes: new Map(), hosts: 0,
  /** Rules on descendants of an element: its classes, and the properties set. */
  descendants: [],
  /** A change anywhere can affect any element: rules with `:has()` or container queries. */
  dependsOnDescendants: false,
  /** Rules use `:empty`. */
  usesEmpty: false,
  /** Selectors of the elements that sibling combinators and positional pseudo-classes may match. */
  siblingSelectors: new Set(),
  /** Selectors with `:hover`, by consequence: visibility, other report contents, colour. */
  hoverVisibility: new Set(), hoverReport: new Set(), hoverColor: new Set(),
  /** Rules use `:active`. */
  usesActive: false,
});

const sheetRules = new WeakMap();
/** Cross-origin sheets, supplied from outside by `href`. */
const suppliedSheets = new Map();
/** Sheets that could not be read in this observation. */
let unreadableSheets = [];

/** Parses the text of a sheet that cannot be read from here; null when its text is not available. */
function supplyStylesheet(href, text) {
  const result = newRules();
  if (text === null || /@import/.test(text)) [result.everywhere, result.dependsOnDescendants] = [ALL_PROPERTIES, true];
  else if (text !== "") {
    const copy = new CSSStyleSheet();
    copy.replaceSync(text);
    readRules(rulesOf.call(copy), result, null, 0);
  }
  suppliedSheets.set(href, result);
}

/** Scripts can change a rule without any notification, so the rules of a sheet are cached no longer than this. */
const SHEET_CACHE_MS = 5000;

/** Links whose sheet failed to load. A cross-origin sheet looks the same whether it loaded or not. */
const failedLinks = new WeakSet();
const NO_RULES = newRules();
addEventListener("error", ({ target }) => { if (target instanceof HTMLLinkElement) failedLinks.add(target); }, true);
addListener.call(document, "load", ({ target }) => { if (target instanceof HTMLLinkElement) failedLinks.delete(target); }, true);

const rulesOf = getter(CSSStyleSheet.prototype, "cssRules");
const ownerNodeOf = getter(StyleSheet.prototype, "ownerNode");
const sheetDisabledOf = getter(StyleSheet.prototype, "disabled");

/** Rules cached before this time are read again. */
let sheetsValidFrom = 0;

function readSheet(sheet) {
  let rules;
  try {
    rules = rulesOf.call(sheet);
  } catch {
    if (failedLinks.has(ownerNodeOf.call(sheet))) return NO_RULES;
    const href = sheet.href || "";
    const supplied = suppliedSheets.get(href);
    if (supplied !== undefined) return supplied;
    unreadableSheets.push(href);
    return { ...newRules(), everywhere: ALL_PROPERTIES, dependsOnDescendants: true };
  }
  const cached = sheetRules.get(sheet);
  const now = performance.now();
  if (cached !== undefined && cached.count === rules.length && cached.at >= sheetsValidFrom && now - cached.at < SHEET_CACHE_MS) {
    return cached.found;
  }
  const result = newRules();
  readRules(rules, result, null, 0);
  sheetRules.set(sheet, { count: rules.length, at: now, found: result });
  return result;
}

function readRules(rules, result, parent, depth) {
  if (depth > 20) return void (result.everywhere = ALL_PROPERTIES);
  for (let at = 0; at < rules.length; at++) {
    const rule = rules[at];
    if (rule instanceof CSSStyleRule) {
      const selector = rule.selectorText;
      const style = rule.style;
      if (style.length > 0) readRule(selector, style.cssText, result);
      const nested = rule.cssRules;
      if (nested.length > 0) readRules(nested, result, selector, depth + 1);
    } else if (rule instanceof CSSImportRule) {
      const sheet = rule.styleSheet;
      if (sheet) mergeRules(result, readSheet(sheet), null);
    } else if (rule instanceof CSSKeyframesRule || rule instanceof CSSFontFaceRule) {
      // Animations are detected by the elements that they animate.
    } else if (rule.cssRules) {
      if (rule instanceof CSSContainerRule) result.dependsOnDescendants = true;
      readRules(rule.cssRules, result, parent, depth + 1);
    } else if (rule.style && parent !== null) {
      // Declarations after a nested rule belong to the rule around it.
      readRule(parent, rule.style.cssText, result);
    }
  }
}

/** Numeric escape, which ends with a space when it has fewer than six digits. */
const SHORT_ESCAPE = /\\([0-9a-f]{1,6})\s?/gi;

function readRule(selectorText, text, result) {
  const sets = propertyMask(text);
  // Six digits long, an escape has no space that could be taken for a combinator.
  const selector = selectorText.includes("\\") ? selectorText.replace(SHORT_ESCAPE, (_, code) => `\\${code.padStart(6, "0")}`) : selectorText;
  if (selector.includes(":has(")) result.dependsOnDescendants = true;
  if (selector.includes(":empty")) result.usesEmpty = true;
  if (sets !== 0 || GENERATED_CONTENT.test(text)) {
    if (selector.includes(":hover")) addHoverSelectors(selector, hoverSelectorsFor(sets, text, result));
    if (selector.includes(":active")) result.usesActive = true;
  }
  for (const part of selector.includes(",") ? splitSelector(selector) : [selector]) {
    const pseudo = /::?(before|after)$/.exec(part);
    if (pseudo !== null) {
      if (!GENERATED_CONTENT.test(text)) continue;
      addRule(result, part.slice(0, pseudo.index), pseudo[1] === "before" ? BEFORE : AFTER);
    } else if (sets !== 0 && !/::(?!slotted|part)|:first-l/.test(part)) {
      addRule(result, part, sets);
    } else continue;
    if (SIBLING_DEPENDENT.test(part)) addSiblingSelectors(part, result.siblingSelectors);
  }
}

/** Sibling combinators and positional pseudo-classes. */
const SIBLING_DEPENDENT = /[+~]|:(?:first|last|only|nth|empty)/;
/** Simple selectors of a compound that depend on the element alone: tag, id, classes, attributes. */
const SIMPLE_SELECTORS = /^(?:[a-z*][\w-]*)|[#.](?:[\w-]|[^\x00-\x7f]|\\.)+|\[[^\]]*\]/gi;
/** With more selectors than this, every element counts as sibling-dependent. */
const MAX_SIBLING_SELECTORS = 300;

/**
 * Adds selectors of the elements that a change among their siblings can affect: at least those, with everything about
 * siblings removed.
 */
function addSiblingSelectors(selector, into) {
  if (into.has("*")) return;
  // Also selectors too complex to be taken apart here.
  if (/:host|::|&|\||"[^"]*[[\]()\\]/.test(selector) || into.size > MAX_SIBLING_SELECTORS) return void into.add("*");
  const parts = compoundsOf(selector);
  const isBeside = ({ combinator }) => combinator === "+" || combinator === "~";
  parts.forEach((part, index) => {
    if (!isBeside(part) && !part.asks) return;
    let relaxed = part.own;
    for (let at = index; at > 0; at--) {
      if (!isBeside(parts[at])) relaxed = parts[at - 1].own + parts[at].combinator + relaxed;
    }
    into.add(relaxed);
  });
}

/**
 * Compounds of a selector: the combinator before each, its own simple selectors, and whether it depends on siblings.
 */
function compoundsOf(selector) {
  const parts = [];
  let depth = 0, start = 0, combinator = "";
  for (let at = 0; at <= selector.length; at++) {
    const char = selector[at];
    if (char === "(" || char === "[") depth++;
    else if (char === ")" || char === "]") depth--;
    if (char === "\\") at++;
    if (char !== undefined && (depth > 0 || !/[\s>+~]/.test(char))) continue;
    if (at > start) {
      const text = selector.slice(start, at).replace(/\[[^\]]*\]/g, "[]");
      const own = selector.slice(start, at).replace(/\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g, "").match(SIMPLE_SELECTORS);
      parts.push({ combinator, own: own === null ? "*" : own.join(""), asks: SIBLING_DEPENDENT.test(text) });
      combinator = "";
    }
    start = at + 1;
    if (char !== undefined) combinator = char.trim() || combinator || " ";
  }
  return parts;
}

/** Properties that decide whether something is visible. */
const SHOWING = DISPLAY | VISIBILITY | HIDING;

/** Colour with no visible alpha, or of unknown value. */
const TRANSPARENT_COLOR = /transparent|[,/]\s*(?:0|0?\.0\d*|0%)\s*\)|#[0-9a-f]{3}0\b|#[0-9a-f]{6}00\b|var\(/i;

/** Set that collects the `:hover` selectors of a rule, by the properties that the rule sets. */
function hoverSelectorsFor(sets, text, result) {
  if ((sets & SHOWING) !== 0) return result.hoverVisibility;
  return (sets & ~(COLOR | BACKGROUND)) !== 0 || sets === 0 || TRANSPARENT_COLOR.test(text) ? result.hoverReport : result.hoverColor;
}

/** Adds the elements for which a rule tests `:hover`. */
function addHoverSelectors(selector, into) {
  for (const part of splitSelector(selector)) {
    if (!part.includes(":hover")) continue;
    // `:host` and `::part` do not say which element the pointer is over.
    if (/\([^)]*:hover|:host|::(?:part|slotted)/.test(part)) into.add("*");
    else for (const word of part.split(/[\s>+~]+/)) if (word.includes(":hover")) into.add(word.replace(/:hover|::.*$/g, "") || "*");
  }
}

/** `content` with text or an image, not an empty box. */
const GENERATED_CONTENT = /(?:^|[;\s])content\s*:\s*(?!(?:none|normal|"\s*"|'\s*')\s*(?:;|!|$))/;

function splitSelector(text) {
  const parts = [];
  let depth = 0, start = 0, isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "\\") at++;
    else if (char === "\"") isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (char === "(" || char === "[") depth++;
    else if (char === ")" || char === "]") depth--;
    else if (char === "," && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts;
}

/** Adds a rule under the last compound of its selector. */
function addRule(result, selector, sets) {
  if (/:host|::slotted|::part|&/.test(selector)) {
    result.everywhere |= sets;
    result.hosts |= sets;
    return;
  }
  // Arguments of pseudo-classes only narrow the match: dropping them stays on the safe side.
  let plain = selector.includes("\"") ? selector.replace(/"(?:[^"\\]|\\.)*"/g, "\"\"") : selector;
  while (plain !== (plain = plain.replace(/\([^()]*\)/g, "")));
  const last = /[^\s>+~|]*$/.exec(plain.replace(/\[([^\]=~|^$*\s]+)[^\]]*\]/g, "[$1]").trim())[0];
  const add = (map, key) => map.set(key, (map.get(key) || 0) | sets);
  const named = (name) => foldCase(name.includes("\\") ? unescapeCss(name) : name);
  let key;
  if ((key = /#((?:[\w-]|[^\x00-\x7f]|\\.)+)/.exec(last)) !== null) add(result.ids, named(key[1]));
  else if ((key = /\.((?:[\w-]|[^\x00-\x7f]|\\.)+)/.exec(last)) !== null) add(result.classes, named(key[1]));
  else if ((key = /\[([\w-]+)\]/.exec(last)) !== null) add(result.attributes, key[1].toLowerCase());
  else if ((key = /^([\w-]+)/.exec(last)) !== null) add(result.tags, key[1].toLowerCase());
  else if (/^:root\b/.test(last)) add(result.tags, "html");
  else if (/^:(any-link|link|visited)\b/.test(last)) add(result.tags, "a");
  else {
    const around = plain.slice(0, plain.length - last.length).matchAll(/\.((?:[\w-]|[^\x00-\x7f])+)(?!\\)/g);
    const classes = Array.from(around, ([, name]) => name);
    if (classes.length > 0) result.descendants.push({ classes, sets });
    else result.everywhere |= sets;
  }
}

/** `tree`: the document or shadow root in which the rules apply. */
function mergeRules(into, from, tree) {
  into.everywhere |= from.everywhere;
  for (const it of from.descendants) {
    if (tree === null) into.descendants.push(it);
    else if (tree !== document || it.classes.every((name) => elementsByClass.call(document, name).length > 0)) into.everywhere |= it.sets;
  }
  into.dependsOnDescendants ||= from.dependsOnDescendants;
  into.usesEmpty ||= from.usesEmpty;
  for (const it of from.siblingSelectors) into.siblingSelectors.add(it);
  into.hosts |= from.hosts;
  for (const kind of ["hoverVisibility", "hoverReport", "hoverColor"]) for (const it of from[kind]) into[kind].add(it);
  into.usesActive ||= from.usesActive;
  for (const kind of ["tags", "classes", "ids", "attributes"]) {
    for (const [key, sets] of from[kind]) into[kind].set(key, (into[kind].get(key) || 0) | sets);
  }
}

const elementsByClass = Document.prototype.getElementsByClassName;
const modeOf = getter(Document.prototype, "compatMode");
const styleSheetsOf = getter(Document.prototype, "styleSheets");
const adoptedOf = getter(Document.prototype, "adoptedStyleSheets");

/** Reads all rules of this document; shadow trees add theirs as the walk reaches them. */
function readSheets() {
  // Unknown before the document has begun.
  const isQuirkyNow = modeOf.call(document) === "BackCompat";
  if (isQuirkyNow !== isQuirksMode) [isQuirksMode, sheetsValidFrom] = [isQuirkyNow, performance.now()];
  unreadableSheets = [];
  const all = newRules();
  // The user agent sheet quotes `q`.
  all.tags.set("q", BEFORE | AFTER);
  memo.sheets = [];
  const read = (sheets) => {
    for (const sheet of sheets) {
      if (!isSheetActive(sheet)) continue;
      const rules = readSheet(sheet);
      // A failed sheet changes nothing, also when the failure is noticed between two walks.
      if (rules === NO_RULES) continue;
      memo.sheets.push(rules);
      mergeRules(all, rules, document);
    }
  };
  read(styleSheetsOf.call(document));
  read(adoptedOf.call(document));
  memo.rules = all;
  memo.shadowRoots = new Set();
  memo.animated = null;
  readAnimations(document);
}

/** Returns whether a sheet is enabled and its media query matches. */
function isSheetActive(sheet) {
  if (sheetDisabledOf.call(sheet)) return false;
  const media = mediaTextOf.call(sheetMediaOf.call(sheet));
  return media === "" || matchMedia(media).matches;
}

const sheetMediaOf = getter(StyleSheet.prototype, "media");
const mediaTextOf = getter(MediaList.prototype, "mediaText");

/** Animations whose end is awaited. */
const awaitedAnimations = new WeakSet();

/** Collects the targets of animations: while running or filling, their styles are not those of the rules. */
function readAnimations(tree) {
  for (const animation of tree.getAnimations()) {
    const { effect } = animation;
    if (!effect || !effect.target) continue;
    (memo.animated ??= new Set()).add(effect.target);
    if (awaitedAnimations.has(animation) || effect.getComputedTiming().endTime === Infinity) continue;
    awaitedAnimations.add(animation);
    // Script animations do not all end with an event.
    const onEnd = () => {
      markSubtreeChanged(effect.target);
      markDirty();
    };
    animation.finished.then(onEnd, onEnd);
  }
}

/** Adds the rules of a shadow tree. Classes and tags are not kept apart by tree: a superset is harmless. */
function readShadowSheets(shadow) {
  if (memo.shadowRoots.has(shadow)) return;
  memo.shadowRoots.add(shadow);
  readAnimations(shadow);
  let isNew = false;
  for (const sheets of [shadow.styleSheets, shadow.adoptedStyleSheets]) {
    for (const sheet of sheets) {
      mergeRules(memo.rules, readSheet(sheet), shadow);
      isNew = true;
    }
  }
  if (isNew) memo.classes.clear();
}

/** Class or id as selectors match it: case-insensitive in quirks mode. */
const foldCase = (name) => isQuirksMode ? name.toLowerCase() : name;
let isQuirksMode = false;

/** Properties to ask for on an element without attributes. */
const maskOfTag = (tag) => memo.rules.everywhere | (memo.rules.tags.get(tag) || 0);

function maskOfClass(names) {
  let mask = memo.classes.get(names);
  if (mask === undefined) {
    mask = 0;
    const { classes } = memo.rules;
    if (classes.size > 0) for (const name of foldCase(names).split(/\s+/)) mask |= classes.get(name) || 0;
    memo.classes.set(names, mask);
  }
  return mask;
}

/** The same by `style` attribute text, many of which are alike. */
const styleMasks = new Map();
const MAX_STYLE_MASKS = 2000;

function maskOfStyle(text) {
  let mask = styleMasks.get(text);
  if (mask === undefined) {
    if (styleMasks.size > MAX_STYLE_MASKS) styleMasks.clear();
    styleMasks.set(text, mask = propertyMask(text.toLowerCase()));
  }
  return mask;
}

/** Attributes that are read; the others matter only to style sheets. */
const READ_ATTRIBUTES = new Set((
  "role title alt href placeholder value type name label summary autocomplete disabled required readonly " +
  "contenteditable draggable tabindex inert min max usemap onclick onmousedown onmouseup onpointerdown ondblclick ontouchstart").split(" "));
/** Those of them that do not affect states. */
const CONTENT_ONLY = new Set(["href", "alt", "title", "type", "name", "label", "summary", "usemap", "role"]);
/** Those of which only the presence matters. */
const PRESENCE_ONLY = new Set(["href", "type", "usemap", "inert", "required", "readonly", "disabled"]);
const attributeNamesOf = Element.prototype.getAttributeNames;

/** Relevant attributes by name and the property mask; null for an element without attributes. */
function attributesOf(el, tag) {
  if (!hasAttributes.call(el)) return null;
  const { rules } = memo;
  let mask = maskOfTag(tag);
  const all = { mask: 0, isBare: true, isStateless: true, isGrouped: false, isInvoker: false };
  const names = attributeNamesOf.call(el);
  const byAttribute = rules.attributes.size > 0;
  for (let at = 0; at < names.length; at++) {
    const name = names[at];
    if (byAttribute) {
      const sets = rules.attributes.get(name);
      if (sets !== undefined) mask |= sets;
    }
    if (name === "class") mask |= maskOfClass(attributeOf.call(el, name));
    else if (name === "style") mask |= maskOfStyle(attributeOf.call(el, name));
    else if (name === "id") {
      const value = all.id = attributeOf.call(el, name);
      if (rules.ids.size > 0) mask |= rules.ids.get(foldCase(value)) || 0;
    } else if (READ_ATTRIBUTES.has(name) || name.charCodeAt(0) === 97 && name.startsWith("aria-")) {
      all[name === "aria-labeledby" && !("aria-labelledby" in all) ? "aria-labelledby" : name] =
        PRESENCE_ONLY.has(name) ? "" : attributeOf.call(el, name);
      all.isBare = false;
      if (!CONTENT_ONLY.has(name)) all.isStateless = false;
      if (REFERENCE_ATTRIBUTES.has(name)) isUncacheable = true;
    } else if (name === "hidden" || name === "popover" || name === "open") {
      mask |= DISPLAY | VISIBILITY;
      if (name === "popover") isUncacheable = all.isGrouped = true;
    } else if (name === "autofocus") all.isGrouped = true;
    else if (name === "popovertarget" || name === "commandfor") isUncacheable = all.isInvoker = true;
    else if (name === "color" || name === "text" && tag === "body") mask |= COLOR;
    else if (name === "bgcolor" || name === "background") mask |= BACKGROUND;
  }
  if (memo.animated !== null && memo.animated.has(el)) {
    mask = ALL_PROPERTIES;
    isUncacheable = true;
  }
  all.mask = mask;
  return all;
}

/** Elements that the user agent sheet makes blocks. */
const BLOCK_TAGS = new Set((
  "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer " +
  "form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup option p " +
  "plaintext pre search section summary table tbody td tfoot th thead tr caption ul xmp " +
  "button input select textarea meter progress marquee video audio").split(" "));

/** `display` values that do not flow inline with the text around. */
const BLOCK_DISPLAY = /^(?!inline$|contents$|ruby|none$)/;
const FLEX_OR_GRID = /flex|grid/;

/** Returns whether an element breaks the line it is in. */
function isBlockLike(el, tag, mask, isParentFlexible) {
  if ((mask & DISPLAY) !== 0) return BLOCK_DISPLAY.test(computed(el).display);
  return isParentFlexible || BLOCK_TAGS.has(tag);
}

/** Returns whether an element is rendered. */
const isRendered = (el) => checkVisibility.call(el, { visibilityProperty: true }) || isDisplayContents(el);

const isDisplayContents = (el) => {
  const style = computed(el);
  return style.display === "contents" && style.visibility === "visible";
};
