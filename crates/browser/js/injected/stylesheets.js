// How an element is drawn, as far as it matters to what is told of it.
//
// Reading computed styles is what a walk spends its time on: half a microsecond for each property of each element.
// So the style sheets are looked through first: which properties do they set at all, and on what kind of element?
// An element that no rule with a property can be about has that property from its parent or from the browser's
// own sheet, and is not asked. Who may be meant is decided by the last part of a selector alone (a class, an id,
// an attribute, a tag): that is always more elements than the rule is really about, never fewer. When a sheet
// cannot be read, because it came from another origin, everybody is asked.

const BEFORE = 1, AFTER = 2, DISPLAY = 4, VISIBILITY = 8, CURSOR = 16, TEXT_TRANSFORM = 32, COLOR = 64, BACKGROUND = 128,
  SCROLL = 256, OPACITY = 512, CLIP = 1024, TEXT_INDENT = 2048, TRANSFORM = 4096, OFFSET = 8192, SIZE = 16384, FONT = 32768,
  ALL_PROPERTIES = 65535;
/** What can take a box out of sight. */
const HIDING = OPACITY | CLIP | TEXT_INDENT | TRANSFORM | OFFSET | SIZE | FONT;

/** Far enough to matter, or nobody knows how far. */
const FAR_VALUE = /-\d|\d{3}|var\(|calc\(/;
/** Small enough to matter, or nobody knows how small. */
const SMALL_VALUE = /(?:^|\s)(?:0|[12]px|\.|\d%|var\(|calc\(|clamp\(|min\()/;

/** What a declaration is about, by the beginnings of property names. A value can make it matter or not. */
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

/** The same by whole names, as they are met. */
const propertiesByName = new Map();

function propertiesNamed(name) {
  let result = propertiesByName.get(name);
  if (result === undefined) {
    result = PROPERTIES.filter((it) => name === it.name || name.startsWith(`${it.name}-`));
    propertiesByName.set(name, result);
  }
  return result;
}

/** What declarations set. A semicolon in a value can make this see more than there is, never less. */
function propertyMask(text) {
  let sets = 0;
  for (const [, name, value] of text.matchAll(/([\w-]+)\s*:\s*([^;]*)/g)) {
    for (const { bits, matters } of propertiesNamed(name)) {
      if (matters === undefined || matters.test(value)) sets |= bits;
    }
  }
  return sets;
}

/** Everything remembered during one observation. */
let memo = null;

const newMemo = () => ({
  styles: new Map(), labels: new Map(), visited: new Set(), tables: new Map(), maps: new Map(), lists: new Map(),
  counters: null, rules: null, classes: new Map(), animated: null,
  // What was asked last, and the answer: the same is often asked for several times in a row.
  textOnlyElement: null, textOnlyResult: null, labelsRoot: null, labelsInRoot: null, list: undefined, isList: false,
});

function computed(el) {
  let style = memo.styles.get(el);
  if (style === undefined) memo.styles.set(el, style = styleOf(el));
  return style;
}

/** What the rules of a sheet set, by the last part of their selectors. */
const newRules = () => ({
  everywhere: 0, tags: new Map(), classes: new Map(), ids: new Map(), attributes: new Map(), hosts: 0,
  /** Rules about anything inside of something: what that must have among its classes, and what they set. */
  descendants: [],
  /** A change anywhere can matter anywhere else: rules ask what is in an element, or how large it is. */
  dependsOnDescendants: false,
  /** Rules ask for elements without content. */
  usesEmpty: false,
  /** Rules that ask for neighbours, or for the place among them: selectors of all who may be meant. */
  siblingSelectors: new Set(),
  /** Selectors of what rules ask for the mouse: to show or hide something, to have it told otherwise, to colour it. */
  hoverVisibility: new Set(), hoverReport: new Set(), hoverColor: new Set(),
  /** Rules ask what is being pressed. */
  usesActive: false,
});

const sheetRules = new WeakMap();
/** Sheets of other origins, as told from outside. */
const suppliedSheets = new Map();
/** Sheets that could not be read this time. */
let unreadableSheets = [];

/** Takes in the text of a sheet that cannot be read from here; null when nobody could get it. */
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

/** Scripts can change a rule without anybody being told, so what is known of a sheet is not kept for longer. */
const SHEET_CACHE_MS = 5000;

/** Links to sheets that could not be loaded. Sheets of other origins look the same whether they are there or not. */
const failedLinks = new WeakSet();
const NO_RULES = newRules();
addEventListener("error", ({ target }) => { if (target instanceof HTMLLinkElement) failedLinks.add(target); }, true);
addListener.call(document, "load", ({ target }) => { if (target instanceof HTMLLinkElement) failedLinks.delete(target); }, true);

const rulesOf = getter(CSSStyleSheet.prototype, "cssRules");
const ownerNodeOf = getter(StyleSheet.prototype, "ownerNode");
const sheetDisabledOf = getter(StyleSheet.prototype, "disabled");

/** What was known of sheets before this is not taken: somebody wants to know it anew. */
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
      // An animation is known by the elements it moves.
    } else if (rule.cssRules) {
      if (rule instanceof CSSContainerRule) result.dependsOnDescendants = true;
      readRules(rule.cssRules, result, parent, depth + 1);
    } else if (rule.style && parent !== null) {
      // Declarations after a nested rule belong to the rule around it.
      readRule(parent, rule.style.cssText, result);
    }
  }
}

/** An escape by number, which ends with a space of its own when it is short. */
const SHORT_ESCAPE = /\\([0-9a-f]{1,6})\s?/gi;

function readRule(selectorText, text, result) {
  const sets = propertyMask(text);
  // Written in full, an escape has no space that could be taken for the end of a name.
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

/** What a selector has that asks for neighbours or for the place among them. */
const SIBLING_DEPENDENT = /[+~]|:(?:first|last|only|nth|empty)/;
/** What of a compound selector says what an element is like by itself. */
const SIMPLE_SELECTORS = /^(?:[a-z*][\w-]*)|[#.](?:[\w-]|[^\x00-\x7f]|\\.)+|\[[^\]]*\]/gi;
/** With more selectors than this, everybody may be meant. */
const MAX_SIBLING_SELECTORS = 300;

/**
 * Notes whom a change among their neighbours can matter to: selectors of at least those elements, without what asks for
 * anybody beside them.
 */
function addSiblingSelectors(selector, into) {
  if (into.has("*")) return;
  // Also what is too odd to be taken apart here.
  if (/:host|::|&|\||"[^"]*[[\]()\\]/.test(selector) || into.size > MAX_SIBLING_SELECTORS) return void into.add("*");
  const parts = compoundsOf(selector);
  const isBeside = ({ combinator }) => combinator === "+" || combinator === "~";
  parts.forEach((part, index) => {
    if (!isBeside(part) && !part.asks) return;
    let weak = part.own;
    for (let at = index; at > 0; at--) {
      if (!isBeside(parts[at])) weak = parts[at - 1].own + parts[at].combinator + weak;
    }
    into.add(weak);
  });
}

/** The compounds of a selector: what stands before each, what it says by itself, and whether it asks for neighbours. */
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

/** What decides whether something is there to be seen. */
const SHOWING = DISPLAY | VISIBILITY | HIDING;

/** A colour that nothing can be seen in. */
const TRANSPARENT_COLOR = /transparent|[,/]\s*(?:0|0?\.0\d*|0%)\s*\)|#[0-9a-f]{3}0\b|#[0-9a-f]{6}00\b|var\(/i;

/** Where it is noted whom a rule asks for the mouse, by what the rule sets. */
function hoverSelectorsFor(sets, text, result) {
  if ((sets & SHOWING) !== 0) return result.hoverVisibility;
  return (sets & ~(COLOR | BACKGROUND)) !== 0 || sets === 0 || TRANSPARENT_COLOR.test(text) ? result.hoverReport : result.hoverColor;
}

/** Notes which elements a rule asks for the mouse. */
function addHoverSelectors(selector, into) {
  for (const part of splitSelector(selector)) {
    if (!part.includes(":hover")) continue;
    // Inside of a host or a part it is not said what the mouse is over.
    if (/\([^)]*:hover|:host|::(?:part|slotted)/.test(part)) into.add("*");
    else for (const word of part.split(/[\s>+~]+/)) if (word.includes(":hover")) into.add(word.replace(/:hover|::.*$/g, "") || "*");
  }
}

/** Content that is more than a box to draw in. */
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

/** Notes that a selector's last part may be about elements, and what its rule sets on them. */
function addRule(result, selector, sets) {
  if (/:host|::slotted|::part|&/.test(selector)) {
    result.everywhere |= sets;
    result.hosts |= sets;
    return;
  }
  // What stands in parentheses says more about the same element, and is not needed to be on the safe side.
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

/** `tree` is where the rules hold. */
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

/** All rules of this document and of the shadow trees met so far. */
function readSheets() {
  // Not known before the document has begun.
  const isQuirkyNow = modeOf.call(document) === "BackCompat";
  if (isQuirkyNow !== isQuirksMode) [isQuirksMode, sheetsValidFrom] = [isQuirkyNow, performance.now()];
  unreadableSheets = [];
  const all = newRules();
  // The browser's own sheet says so.
  all.tags.set("q", BEFORE | AFTER);
  memo.sheets = [];
  const read = (sheets) => {
    for (const sheet of sheets) {
      if (!isSheetActive(sheet)) continue;
      const rules = readSheet(sheet);
      // One that could not be loaded changes nothing, also when that turns out in between.
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

/** Whether a sheet is not switched off, nor meant for another kind of screen. */
function isSheetActive(sheet) {
  if (sheetDisabledOf.call(sheet)) return false;
  const media = mediaTextOf.call(sheetMediaOf.call(sheet));
  return media === "" || matchMedia(media).matches;
}

const sheetMediaOf = getter(StyleSheet.prototype, "media");
const mediaTextOf = getter(MediaList.prototype, "mediaText");

/** Movements whose end is waited for. */
const awaitedAnimations = new WeakSet();

/** What is moving now, or is held where a movement left it, is not where the rules put it. */
function readAnimations(tree) {
  for (const animation of tree.getAnimations()) {
    const { effect } = animation;
    if (!effect || !effect.target) continue;
    (memo.animated ??= new Set()).add(effect.target);
    if (awaitedAnimations.has(animation) || effect.getComputedTiming().endTime === Infinity) continue;
    awaitedAnimations.add(animation);
    // Not every movement that a script makes ends with an event.
    const over = () => {
      markSubtreeChanged(effect.target);
      markDirty();
    };
    animation.finished.then(over, over);
  }
}

/** Rules of a shadow tree. Classes and tags are not told apart by tree: asking too many is harmless. */
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

/** A class or an id as rules go by it: in documents of the oldest kind, large and small letters are the same. */
const foldCase = (name) => isQuirksMode ? name.toLowerCase() : name;
let isQuirksMode = false;

/** What has to be asked of an element without attributes. */
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

/** The same by the text of style attributes: many are alike. */
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

/** Attributes that are read, and those that change how the browser draws an element by itself. */
const READ_ATTRIBUTES = new Set((
  "role title alt href placeholder value type name label summary autocomplete disabled required readonly " +
  "contenteditable draggable tabindex inert min max usemap onclick onmousedown onmouseup onpointerdown ondblclick ontouchstart").split(" "));
/** Those of them that say nothing about states. */
const CONTENT_ONLY = new Set(["href", "alt", "title", "type", "name", "label", "summary", "usemap", "role"]);
/** Those of which it matters only that they are there. */
const PRESENCE_ONLY = new Set(["href", "type", "usemap", "inert", "required", "readonly", "disabled"]);
const attributeNamesOf = Element.prototype.getAttributeNames;

/** The attributes that say something to us, by name, and what has to be asked; null when there are none. */
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

/** What the browser's own sheet makes a block of. */
const BLOCK_TAGS = new Set((
  "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer " +
  "form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup option p " +
  "plaintext pre search section summary table tbody td tfoot th thead tr caption ul xmp " +
  "button input select textarea meter progress marquee video audio").split(" "));

/** What does not flow in one line with the text around it. */
const BLOCK_DISPLAY = /^(?!inline$|contents$|ruby|none$)/;
const FLEX_OR_GRID = /flex|grid/;

/** Whether an element breaks the line it is in. */
function isBlockLike(el, tag, mask, isParentFlexible) {
  if ((mask & DISPLAY) !== 0) return BLOCK_DISPLAY.test(computed(el).display);
  return isParentFlexible || BLOCK_TAGS.has(tag);
}

/** Whether an element is drawn at all, somewhere. */
const isRendered = (el) => checkVisibility.call(el, { visibilityProperty: true }) || isDisplayContents(el);

const isDisplayContents = (el) => {
  const style = computed(el);
  return style.display === "contents" && style.visibility === "visible";
};
