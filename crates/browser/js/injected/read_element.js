// Reads single elements: text, markup, values, rectangles, selectors.

const VOID = new Set((
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr").split(" "));

/** Elements whose content is parsed as raw text but serialized like any other. */
const RAW_TEXT_TAGS = new Set("noscript noframes noembed iframe xmp plaintext".split(" "));

const nodeNameOf = getter(Node.prototype, "nodeName");
const templateContentOf = getter(HTMLTemplateElement.prototype, "content");

function withoutComments(markup) {
  let kept = "", at = 0;
  for (;;) {
    const begin = markup.indexOf("<!--", at);
    const end = begin < 0 ? -1 : markup.indexOf("-->", begin + 4);
    if (end < 0) return kept + markup.slice(at);
    kept += markup.slice(at, begin);
    at = end + 3;
  }
}

/** Tags of a markup text, without attributes and contents. */
const tagsOfMarkup = (markup) => `>${withoutComments(markup)}<`.replace(/<([^\s<>/!"=]+)\s[^<>]*>/g, "<$1>")
  .replace(/>[^<]+</g, "><").slice(1, -1);

/**
 * Tag skeleton of an element (id 0: of the body): nested tags without attributes and text, enough to notice a rebuilt
 * page.
 */
function tagSkeleton(id, max) {
  const root = id > 0 ? elementOf(id) : bodyOf.call(document);
  if (root === null || nodeTypeOf.call(root) !== 1) return null;
  let text = "";
  const visit = (el, depth) => {
    if (text.length >= max || depth > MAX_DEPTH) return;
    const isHtml = namespaceOf.call(el) === HTML;
    const tag = isHtml ? localNameOf.call(el) : nodeNameOf.call(el);
    text += `<${tag}>`;
    if (isHtml && VOID.has(tag)) return;
    if (isHtml && RAW_TEXT_TAGS.has(tag)) text += tagsOfMarkup(textContentOf.call(el));
    else {
      const holder = isHtml && tag === "template" && el instanceof HTMLTemplateElement ? templateContentOf.call(el) : el;
      for (let child = firstChildOf.call(holder); child !== null; child = nextSiblingOf.call(child)) {
        if (nodeTypeOf.call(child) === 1) visit(child, depth + 1);
      }
    }
    text += `</${tag}>`;
  };
  visit(root, 0);
  return text.slice(0, max);
}

/** Ids of the elements that a CSS selector matches, also in shadow trees; null for an invalid selector. */
function findBySelector(selector) {
  const found = [];
  const search = (root) => {
    const all = root.nodeType === 9 ? findAll : findAllInFragment;
    for (const el of all.call(root, selector)) found.push(el);
    for (const el of all.call(root, "*")) {
      const shadow = anyShadowRootOf(el);
      if (shadow !== null) search(shadow);
    }
  };
  try {
    search(document);
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
  return assignIds(found).join();
}

const innerTextOf = getter(HTMLElement.prototype, "innerText");
const outerHtmlOf = getter(Element.prototype, "outerHTML");

/** Reads one property of an element. Text patterns of secrets are masked by the caller. */
function readElement(id, what, name) {
  const el = elementOf(id);
  if (el === null || !isConnectedOf.call(el)) return null;
  switch (what) {
    case "text": {
      const text = el instanceof HTMLElement ? innerTextOf.call(el) : textContentOf.call(el);
      return { value: maskTypedText(el, text) };
    }
    case "html": return { value: markupWithoutSecrets(el) };
    case "value": {
      const tag = localNameOf.call(el);
      const isEditable = tag !== "input" && tag !== "textarea" && tag !== "select" && isEditableHost(el);
      const held = tag === "input" ? inputValueOf.call(el) : tag === "textarea" ? areaValueOf.call(el)
        : tag === "select" ? el.value : isEditable ? innerTextOf.call(el) : attributeOf.call(el, "value");
      return { value: held && areSecret([el])[0] ? MASK : held };
    }
    case "attr": {
      const attribute = attributeOf.call(el, name);
      if (!attribute || !TEXT_FIELDS.has(localNameOf.call(el)) || !areSecret([el])[0]) return { value: attribute };
      const held = localNameOf.call(el) === "textarea" ? areaValueOf.call(el) : inputValueOf.call(el);
      // Some pages copy the value to other attributes.
      return { value: /^value$/i.test(name) || attribute === held ? MASK : attribute };
    }
    case "box": {
      const rect = drawnRect(el);
      return { value: [rect.left, rect.top, rect.width, rect.height] };
    }
    case "scroll": {
      (imageOfArea(el) || el).scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const rect = drawnRect(el);
      return { value: [rect.left, rect.top, rect.width, rect.height] };
    }
  }
  return null;
}
