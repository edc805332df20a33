// Text of `::before` and `::after`: generated content, counters, quotation marks, and `text-transform`.

/** Computed style of the last pseudo-element. */
let pseudoStyle = null;

/** Text of a pseudo-element, `::before` or `::after`. */
function pseudoText(el, which) {
  const style = pseudoStyle = styleOf(el, which);
  const content = style.content;
  if (content === "none" || content === "normal" || content === "") return "";
  if (style.display === "none" || style.visibility !== "visible") return "";
  // `content: url(x) / "text"`: alternative text of an image.
  const slash = content.lastIndexOf("/ ");
  const literal = slash >= 0 && /^\/ ("|attr|counter)/.test(content.slice(slash)) ? content.slice(slash + 2) : content;
  let text = "";
  for (const [, quoted, attribute, counter, list, glue, quote] of literal.matchAll(CONTENT_PARTS)) {
    if (quoted !== undefined) text += unescapeCss(quoted);
    else if (attribute !== undefined) text += attributeOf.call(el, attribute) || "";
    else if (counter !== undefined) text += counterText(el, which, counter, null);
    else if (list !== undefined) text += counterText(el, which, list, unescapeCss(glue));
    else if (quote !== undefined) text += quoteMark(el, style.quotes, quote === "open" ? 0 : 1);
  }
  text = applyTextTransform(text, style.textTransform);
  return literal !== content || BLOCK_DISPLAY.test(style.display) ? ` ${text} ` : text;
}

/** Parts of a `content` value. Images come first: their URLs are quoted too, and are no text. */
const CONTENT_PARTS = /(?:url|src)\((?:"(?:[^"\\]|\\.)*"|[^)]*)\)|image-set\((?:"(?:[^"\\]|\\.)*"|\([^()]*\)|[^()"])*\)|"((?:[^"\\]|\\.)*)"|attr\(([\w-]+)\)|counter\(\s*([\w-]+)[^)]*\)|counters\(\s*([\w-]+)\s*,\s*"((?:[^"\\]|\\.)*)"[^)]*\)|\b(open|close)-quote/g;

/** Outer and inner quotation marks by language; others use the English ones. */
const QUOTES = new Map(Object.entries({
  "„“‚‘": "de cs sk sl hr et",
  "«»«»": "fr",
  "«»‹›": "fr-ch fa am",
  "«»”“": "fr-ca",
  "«»“”": "it pt-pt el ca",
  "‘’‘’": "nl",
  "«»„“": "ru uk",
  "„”«»": "pl ro",
  "””’’": "sv fi he",
  "«»‘’": "nb nn no",
  "„”»«": "hu",
  "「」『』": "ja zh-hant",
  "”“’‘": "ar ur",
  "„”’’": "sr",
  "„“„“": "bg lt",
}).flatMap(([marks, languages]) => languages.split(" ").map((language) => [language, marks])));

/** Opening (0) or closing (1) quotation mark of an element. */
function quoteMark(el, quotes, end) {
  if (quotes === "none") return "";
  isUncacheable = true;
  let depth = 0;
  for (let at = flatParentOf(el); at !== null && nodeTypeOf.call(at) === 1; at = flatParentOf(at)) {
    if (localNameOf.call(at) === "q" || hasAttributes.call(at) && styleOf(at, "::before").content.includes("open-quote")) depth++;
  }
  const literal = Array.from(quotes.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, mark]) => unescapeCss(mark));
  const marks = literal.length > 1 ? literal : [...quotesForLanguage(el)];
  return marks[Math.min(depth * 2, marks.length - marks.length % 2 - 2) + end];
}

function quotesForLanguage(el) {
  let language = "";
  for (let at = el; at !== null && nodeTypeOf.call(at) === 1 && language === ""; at = flatParentOf(at)) {
    language = (attributeOf.call(at, "lang") ?? attributeOf.call(at, "xml:lang") ?? "").toLowerCase();
  }
  return QUOTES.get(language) ?? QUOTES.get(language.split("-")[0]) ?? "“”‘’";
}

const unescapeCss = (text) =>
  text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gis, (_, code, char) =>
    code ? String.fromCodePoint(Math.min(parseInt(code, 16), 0x10ffff) || 0xfffd) : char);

/** Value of a CSS counter. All counters are computed once, in document order. */
function counterText(el, which, name, glue) {
  isUncacheable = true;
  memo.counters ??= computeCounters();
  const scope = memo.counters.get(el)?.[which];
  if (!scope) return "0";
  const values = [];
  for (let at = scope; at !== null; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, name)) values.unshift(at[name].value);
  }
  if (values.length === 0) return "0";
  return glue === null ? String(values.at(-1)) : values.join(glue);
}

const COUNTER_PROPERTIES = [["counterReset", 0], ["counterIncrement", 1], ["counterSet", 0]];

function computeCounters() {
  const all = new Map();
  const apply = (style, scope) => {
    for (const [property, defaultAmount] of COUNTER_PROPERTIES) {
      const value = style[property];
      if (!value || value === "none") continue;
      for (const [, name, number] of value.matchAll(/([\w-]+)(?:\s+(-?\d+))?/g)) {
        const amount = number === undefined ? defaultAmount : +number;
        if (property === "counterReset") scope[name] = { value: amount };
        else if (!(name in scope)) scope[name] = { value: 0 };
        if (property === "counterIncrement") scope[name].value += amount;
        if (property === "counterSet") scope[name].value = amount;
      }
    }
  };
  const freeze = (scope) => {
    if (scope === null) return null;
    const copy = Object.create(freeze(Object.getPrototypeOf(scope)));
    for (const name of Object.keys(scope)) copy[name] = { value: scope[name].value };
    return copy;
  };
  const visit = (el, siblings, depth) => {
    const style = computed(el);
    if (style.display === "none" || depth > MAX_NAME_DEPTH) return;
    apply(style, siblings);
    const inner = Object.create(siblings);
    const marks = {};
    const mark = (which) => {
      const pseudo = styleOf(el, which);
      if (pseudo.content === "none" || pseudo.content === "normal") return;
      apply(pseudo, inner);
      if (/counter/.test(pseudo.content)) marks[which] = freeze(inner);
    };
    mark("::before");
    forEachFlatChild(el, localNameOf.call(el), (child, isText) => { if (!isText) visit(child, inner, depth + 1); });
    mark("::after");
    all.set(el, marks);
  };
  const root = documentElementOf.call(document);
  if (root !== null) visit(root, Object.create(null), 0);
  return all;
}

function applyTextTransform(text, transform) {
  switch (transform) {
    case "": case "none": return text;
    case "uppercase": return text.toUpperCase();
    case "lowercase": return text.toLowerCase();
    case "capitalize":
      return text.replace(/(^|[\s\u2010-\u2015(\[{"'«„“‘-])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase());
    default: return text;
  }
}

/** Form controls do not inherit `text-transform`. */
const RESETS_TEXT_TRANSFORM = new Set(["button", "input", "select", "textarea"]);

/** `text-transform` of an element, given the inherited one. */
const textTransformOf = (el, tag, mask, inherited) =>
  (mask & TEXT_TRANSFORM) !== 0 ? computed(el).textTransform : RESETS_TEXT_TRANSFORM.has(tag) ? "none" : inherited;

/** The same for an element outside the walk. */
function textTransformAt(el) {
  return memo.rules.everywhere & TEXT_TRANSFORM || memo.rules.tags.size + memo.rules.classes.size + memo.rules.ids.size +
    memo.rules.attributes.size > 0 ? computed(el).textTransform : "";
}
