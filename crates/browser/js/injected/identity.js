// The identity text of an element: its own text and that of its item and dialog, to notice that it was replaced.

/** Elements that are items of a list, table or tree. */
const ITEM_SELECTOR = "tr, li, dt, dd, [role=row], [role=listitem], [role=option], [role=treeitem], article, [role=article]";
/** Limits: ancestors and siblings searched for an item, text and nodes of an item. */
const MAX_ITEM_LEVELS = 8, MAX_ITEM_SIBLINGS = 20, MAX_ITEM_TEXT = 5000, MAX_ITEM_NODES = 1000;
const previousSiblingOf = getter(Node.prototype, "previousSibling");

/** Returns whether an element has a sibling with the same tag. */
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

/** Texts, labels and values in a box, without those in one of its elements; null when it is too large for an item. */
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

/**
 * Item around an element, with its texts: the nearest repeated ancestor with text of its own, or the nearest such box.
 */
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

/** Clocks, relative times and percentages: they change by themselves. */
const CLOCKS_AND_PERCENTAGES = /\d{1,2}:\d{2}(?::\d{2})?|\d+(?:\.\d+)?\s*(?:%|ms\b|s\b|secs?\b|seconds?\b|min\b|minutes?\b|hours?\b)/gi;

/** Identity text of an element: its own texts, those of its item and of its dialog. */
function identityText(el) {
  const item = enclosingItem(el), dialog = closest.call(el, "dialog, [role=dialog], [role=alertdialog]");
  const own = [attributeOf.call(el, "aria-label"), attributeOf.call(el, "title"), attributeOf.call(el, "href"),
    textContentOf.call(el).slice(0, MAX_ITEM_TEXT)].join("\n");
  const texts = [`\n${own}`, ...(item === null ? [] : item.texts), ...(dialog === null ? [] : textsIn(dialog, el) || [])];
  return texts.map((it) => it.replace(CLOCKS_AND_PERCENTAGES, "0"));
}

/** Returns whether an element still has its identity text. Additions, such as hover buttons, do not count. */
function hasSameIdentity(el, texts) {
  const now = new Set(identityText(el));
  return texts.every((it) => now.has(it));
}
