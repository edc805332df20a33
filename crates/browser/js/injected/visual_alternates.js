// Screen reader text and its visual alternates: `aria-hidden` siblings that show the same.

/**
 * Adds a hidden text. A screen reader text often has an `aria-hidden` sibling that shows the same, such as a styled
 * price: if they match, the text counts as visible, since it is easier to read; if not, the visible one is reported in
 * its place.
 */
function addHiddenText(plain, depth, why, parent) {
  const [drawn, others] = visualAlternates(parent);
  if (drawn.length > 0) isUncacheable = true;
  const claimed = memo.claimed ??= new Set();
  const free = drawn.filter(([it]) => !claimed.has(it));
  const own = lettersAndDigits(plain);
  const same = own === "" ? undefined : free.find(([, text]) => lettersAndDigits(text) === own);
  addTextLine(plain, depth, same === undefined ? why : "");
  if (same !== undefined) return void claimed.add(same[0]);
  for (const [it, text] of free) {
    // The alternate of another text is reported next to that one.
    if (others.has(lettersAndDigits(text))) continue;
    claimed.add(it);
    reportLines.push(textPrefix(depth) + text);
  }
}

const lettersAndDigits = (text) => text.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();

/** Siblings searched on each side. */
const MAX_SIBLING_DISTANCE = 20;

/** Visible `aria-hidden` siblings of an element with their text, and the texts of the other siblings. */
function visualAlternates(el) {
  const drawn = [], others = new Set();
  const inherited = parentOf(el);
  if (inherited === null || nodeTypeOf.call(inherited) !== 1) return [drawn, others];
  const near = [];
  let it = el;
  for (let left = MAX_SIBLING_DISTANCE; left > 0 && (it = previousElementOf.call(it)) !== null; left--) near.unshift(it);
  it = el;
  for (let left = MAX_SIBLING_DISTANCE; left > 0 && (it = nextElementOf.call(it)) !== null; left--) near.push(it);
  const cache = memo.siblingTexts ??= new Map();
  for (it of near) {
    let entry = cache.get(it);
    if (entry === undefined) {
      const isDrawn = attributeOf.call(it, "aria-hidden") === "true";
      cache.set(it, entry = [isDrawn, isDrawn ? tidyText(visibleText(it, visibilityIn(inherited), 0)) : lettersAndDigits(textContentOf.call(it).slice(0, 200))]);
    }
    const [isDrawn, text] = entry;
    if (!isDrawn) others.add(text);
    else if (text !== "") drawn.push([it, text]);
  }
  return [drawn, others];
}

/** Visibility of an element, computed along its ancestors. */
function visibilityIn(el) {
  const cache = memo.visibilities ??= new Map();
  const missing = [];
  let at = el;
  for (; at !== null && nodeTypeOf.call(at) === 1 && !cache.has(at); at = flatParentOf(at)) missing.push(at);
  let visibility = at !== null && cache.get(at) || DEFAULT_VISIBILITY;
  for (at of missing.reverse()) cache.set(at, visibility = visibilityOf(at, localNameOf.call(at), ALL_PROPERTIES, visibility));
  return visibility;
}

/** Adds the visible text of an `aria-hidden` element, marked as such. */
function addAriaHiddenText(el, depth) {
  const plain = tidyText(visibleText(el, DEFAULT_VISIBILITY, 0));
  if (plain !== "") reportLines.push(`${depth}\t"${plain}\tfh\twaria-hidden`);
}

/** Text of a subtree that a person can see. */
function visibleText(el, inherited, depth) {
  const tag = localNameOf.call(el);
  const style = computed(el);
  if (SKIPPED_TAGS.has(tag) || LEAF_TAGS.has(tag) || tag === "select" || style.display === "none" || depth > MAX_NAME_DEPTH) return "";
  if (style.contentVisibility === "hidden") return "";
  if (style.webkitTextSecurity !== "none" || isEditableHost(el) && isSecretField(el, attributesOf(el, tag), tag)) return MASK;
  if (tag === "details" && !openOf.call(el)) {
    const summary = summaryOf(el);
    return summary === null ? "" : visibleText(summary, visibilityOf(el, tag, ALL_PROPERTIES, inherited), depth + 1);
  }
  const visibility = visibilityOf(el, tag, ALL_PROPERTIES, inherited);
  const isVisible = style.visibility === "visible";
  let text = "";
  forEachFlatChild(el, tag, (child, isText) => {
    if (!isText) text += visibleText(child, visibility, depth + 1);
    else if (isVisible && /\S/.test(dataOf.call(child)) && hiddenTextReason(visibility, el, child) === "") text += dataOf.call(child);
  });
  return BLOCK_DISPLAY.test(style.display) || tag === "sup" || tag === "sub" ? ` ${text} ` : text;
}
