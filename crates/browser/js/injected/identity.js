// The identity text of an element: its own text and that of its item and dialog, to notice that it was replaced.

/** Elements that are one of many by what they are. */
const ITEM_SELECTOR = "tr, li, dt, dd, [role=row], [role=listitem], [role=option], [role=treeitem], article, [role=article]";
/** How far up an item may begin, how many siblings are looked at, and how large an item may be. */
const MAX_ITEM_LEVELS = 8, MAX_ITEM_SIBLINGS = 20, MAX_ITEM_TEXT = 5000, MAX_ITEM_NODES = 1000;
const previousSiblingOf = getter(Node.prototype, "previousSibling");

/** Whether an element has a sibling with the same tag. */
function hasSameTagSibling(el) {
  const tag = localNameOf.call(el);
  for (const step of [nextSiblingOf, previousSiblingOf]) {
    let left = MAX_ITEM_SIBLINGS;
    for (let at = step.call(el); at !== null && left-- > 0; at = step.call(at)) {
      if (nodeTypeOf.call(at) === 1 && localNameOf.call(at) === tag) return true;
    }
  }
  return false;
}

/** The texts, names and values in a box, apart from those in an element of it; null when it is too large for an item. */
function textsIn(box, apart) {
  const texts = [];
  let size = 0, nodes = 0;
  for (let at = firstChildOf.call(box); at !== null;) {
    if (++nodes > MAX_ITEM_NODES || size > MAX_ITEM_TEXT) return null;
    const kind = at === apart ? 0 : nodeTypeOf.call(at);
    if (kind === 3) add(dataOf.call(at));
    else if (kind === 1) {
      const tag = localNameOf.call(at);
      if (FIELD_TAGS.has(tag)) add(currentValue(at));
      add(attributeOf.call(at, "aria-label"));
      add(attributeOf.call(at, "alt"));
    }
    let next = kind === 1 ? firstChildOf.call(at) : null;
    while (next === null && at !== box) {
      next = nextSiblingOf.call(at);
      if (next === null) at = parentOf(at);
    }
    at = at === box ? null : next;
  }
  return texts;
  function add(text) {
    const plain = text === null ? "" : text.trim();
    if (plain === "") return;
    size += plain.length;
    texts.push(plain);
  }
}

/** The item that an element is in, and its texts: the nearest repeated element that says more than it, or the nearest box. */
function enclosingItem(el) {
  let nearest = null;
  for (let at = parentOf(el), up = 0; at !== null && nodeTypeOf.call(at) === 1 && up < MAX_ITEM_LEVELS; at = parentOf(at), up++) {
    const texts = at === bodyOf.call(document) ? null : textsIn(at, el);
    if (texts === null) break;
    if (texts.length === 0) continue;
    nearest ??= { box: at, texts };
    if (matches.call(at, ITEM_SELECTOR) && !matches.call(at, "dt, dd") || hasSameTagSibling(at)) return { box: at, texts };
  }
  return nearest;
}

/** Clocks, relative times and percentages: they pass by themselves. */
const CLOCKS_AND_PERCENTAGES = /\d{1,2}:\d{2}(?::\d{2})?|\d+(?:\.\d+)?\s*(?:%|ms\b|s\b|secs?\b|seconds?\b|min\b|minutes?\b|hours?\b)/gi;

/** The identity of an element: its own words, the texts of its item and those of its dialog. */
function identityText(el) {
  const item = enclosingItem(el), dialog = closest.call(el, "dialog, [role=dialog], [role=alertdialog]");
  const own = [attributeOf.call(el, "aria-label"), attributeOf.call(el, "title"), attributeOf.call(el, "href"),
    textContentOf.call(el).slice(0, MAX_ITEM_TEXT)].join("\n");
  const words = [`\n${own}`, ...(item === null ? [] : item.texts), ...(dialog === null ? [] : textsIn(dialog, el) || [])];
  return words.map((it) => it.replace(CLOCKS_AND_PERCENTAGES, "0"));
}

/** Whether an element still has the identity that it had. What comes with the mouse over it is added to its item. */
function hasSameIdentity(el, words) {
  const now = new Set(identityText(el));
  return words.every((it) => now.has(it));
}
