// What is said for those who listen, and what stands beside it for those who see.

/**
 * A text that is only for those who listen. Beside it there is often the same for those who see, as prices are drawn: if it
 * says the same, the text is told, as it is easier to read; if not, what is seen is told in its place.
 */
function addUnseen(plain, depth, why, parent) {
  const [drawn, others] = besides(parent);
  if (drawn.length > 0) isRestless = true;
  const claimed = memo.claimed ??= new Set();
  const free = drawn.filter(([it]) => !claimed.has(it));
  const own = lettersOf(plain);
  const same = own === "" ? undefined : free.find(([, text]) => lettersOf(text) === own);
  addPlain(plain, depth, same === undefined ? why : "");
  if (same !== undefined) return void claimed.add(same[0]);
  for (const [it, text] of free) {
    // What another one says stands beside that one.
    if (others.has(lettersOf(text))) continue;
    claimed.add(it);
    out.push(beginningOfText(depth) + text);
  }
}

const lettersOf = (text) => text.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();

/** How far from an element something stands that says the same. */
const BESIDE = 20;

/** What one can read beside an element that is kept from those who listen; and what else is said there. */
function besides(el) {
  const drawn = [], others = new Set();
  const around = parentOf(el);
  if (around === null || nodeTypeOf.call(around) !== 1) return [drawn, others];
  const near = [];
  let it = el;
  for (let left = BESIDE; left > 0 && (it = previousElementOf.call(it)) !== null; left--) near.unshift(it);
  it = el;
  for (let left = BESIDE; left > 0 && (it = nextElementOf.call(it)) !== null; left--) near.push(it);
  const known = memo.beside ??= new Map();
  for (it of near) {
    let said = known.get(it);
    if (said === undefined) {
      const isDrawn = attributeOf.call(it, "aria-hidden") === "true";
      known.set(it, said = [isDrawn, isDrawn ? tidy(readable(it, sightIn(around), 0)) : lettersOf(textContentOf.call(it).slice(0, 200))]);
    }
    const [isDrawn, text] = said;
    if (!isDrawn) others.add(text);
    else if (text !== "") drawn.push([it, text]);
  }
  return [drawn, others];
}

/** What of an element can be seen, with all that is around it. */
function sightIn(el) {
  const known = memo.sights ??= new Map();
  const missing = [];
  let at = el;
  for (; at !== null && nodeTypeOf.call(at) === 1 && !known.has(at); at = flatParentOf(at)) missing.push(at);
  let sight = at !== null && known.get(at) || PLAIN_SIGHT;
  for (at of missing.reverse()) known.set(at, sight = sightOf(at, localNameOf.call(at), EVERYTHING, sight));
  return sight;
}

/** Tells what one can read in an element that is kept from those who listen, marked. */
function addKept(el, depth) {
  const plain = tidy(readable(el, PLAIN_SIGHT, 0));
  if (plain !== "") out.push(`${depth}\t"${plain}\tfh\twaria-hidden`);
}

/** The text of an element that a person can see. */
function readable(el, around, depth) {
  const tag = localNameOf.call(el);
  const style = computed(el);
  if (SILENT.has(tag) || LEAVES.has(tag) || tag === "select" || style.display === "none" || depth > MAX_NAME_DEPTH) return "";
  if (style.contentVisibility === "hidden") return "";
  if (style.webkitTextSecurity !== "none" || isEditableHost(el) && isSecret(el, attributesOf(el, tag), tag)) return MASK;
  if (tag === "details" && !openOf.call(el)) {
    const summary = summaryOf(el);
    return summary === null ? "" : readable(summary, sightOf(el, tag, EVERYTHING, around), depth + 1);
  }
  const sight = sightOf(el, tag, EVERYTHING, around);
  const isVisible = style.visibility === "visible";
  let text = "";
  forEachFlatChild(el, tag, (child, isText) => {
    if (!isText) text += readable(child, sight, depth + 1);
    else if (isVisible && /\S/.test(dataOf.call(child)) && unseen(sight, el, child) === "") text += dataOf.call(child);
  });
  return BLOCKS.test(style.display) || tag === "sup" || tag === "sub" ? ` ${text} ` : text;
}
