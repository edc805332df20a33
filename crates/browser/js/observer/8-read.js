// What can be asked of single elements.

const VOID = new Set((
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr").split(" "));

/** Elements whose markup is text to the browser, but written out like any other. */
const UNPARSED = new Set("noscript noframes noembed iframe xmp plaintext".split(" "));

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

/** The tags in a text, without attributes and whatever stands between them. */
const shapeOfMarkup = (markup) => `>${withoutComments(markup)}<`.replace(/<([^\s<>/!"=]+)\s[^<>]*>/g, "<$1>")
  .replace(/>[^<]+</g, "><").slice(1, -1);

/** The tags of an element (0: of the page) and everything in it, without what they say: enough to tell whether the page was rebuilt. */
function shape(number, max) {
  const root = number > 0 ? elementOf(number) : bodyOf.call(document);
  if (root === null || nodeTypeOf.call(root) !== 1) return null;
  let text = "";
  const visit = (el, depth) => {
    if (text.length >= max || depth > MAX_DEPTH) return;
    const isHtml = namespaceOf.call(el) === HTML;
    const tag = isHtml ? localNameOf.call(el) : nodeNameOf.call(el);
    text += `<${tag}>`;
    if (isHtml && VOID.has(tag)) return;
    if (isHtml && UNPARSED.has(tag)) text += shapeOfMarkup(textContentOf.call(el));
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

/** Numbers for elements that may not have been part of an observation, so that they can be asked for. */
function remember(found) {
  const given = found.map(numberOf);
  elementOf(0);
  given.forEach((number, at) => byNumber.set(number, found[at]));
  return given;
}

/** The most elements in a box that is there for its icon. */
const MOST_IN_ICON = 12;

/** Whether an element is a drawing taken from elsewhere, or a small box around one: that names it when it is listened to. */
const isAroundIcon = (el) => findInside.call(el, "use") !== null && findAllInside.call(el, "*").length <= MOST_IN_ICON;

/** Whether an element is something else when somebody listens to it. */
function isMadeByHearing(el) {
  const tag = localNameOf.call(el);
  return tag === "tbody" || tag === "a" && !hasAttribute.call(el, "href") || isAroundIcon(el);
}

/**
 * Takes in elements whose clicks a script listens to, and tells their numbers. A mark at the beginning says that one was
 * not told of by the last walk, because nothing else speaks for it: the next walk will. Who got ready to look may have
 * brought it in between, and who looks has to know all the same.
 */
function hears(nodes) {
  const given = nodes.map(numberOf);
  nodes.forEach((node, at) => {
    if (hearing.has(node) || nodeTypeOf.call(node) !== 1) return;
    hearing.add(node);
    hearingCount++;
    if (elementOf(given[at]) !== null && !isMadeByHearing(node) || !isShown.call(node)) return;
    isHearingMissed = true;
    if (isAroundIcon(node)) noteDeepChange(node);
    else noteChange(node);
  });
  return (isHearingMissed ? "!," : "") + given.join();
}

/** The numbers of the elements that a CSS selector is about, also inside shadow trees; null when it is no selector. */
function findTargets(selector) {
  const found = [];
  const look = (root) => {
    const all = root.nodeType === 9 ? findAll : findAllInFragment;
    for (const el of all.call(root, selector)) found.push(el);
    for (const el of all.call(root, "*")) {
      const shadow = shadowOf(el);
      if (shadow !== null) look(shadow);
    }
  };
  try {
    look(document);
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
  return remember(found).join();
}

const innerTextOf = getter(HTMLElement.prototype, "innerText");
const outerHtmlOf = getter(Element.prototype, "outerHTML");

/** One thing about an element. What is a secret whatever field holds it is masked by who asks. */
function readElement(number, what, name) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return null;
  switch (what) {
    case "text": {
      const text = el instanceof HTMLElement ? innerTextOf.call(el) : textContentOf.call(el);
      return { value: withoutTyped(el, text) };
    }
    case "html": return { value: withoutSecrets(el) };
    case "value": {
      const tag = localNameOf.call(el);
      const isEditable = tag !== "input" && tag !== "textarea" && tag !== "select" && isEditableHost(el);
      const held = tag === "input" ? inputValueOf.call(el) : tag === "textarea" ? areaValueOf.call(el)
        : tag === "select" ? el.value : isEditable ? innerTextOf.call(el) : attributeOf.call(el, "value");
      return { value: held && areSecret([el])[0] ? MASK : held };
    }
    case "attr": {
      const said = attributeOf.call(el, name);
      if (!said || !FIELDS.has(localNameOf.call(el)) || !areSecret([el])[0]) return { value: said };
      const held = localNameOf.call(el) === "textarea" ? areaValueOf.call(el) : inputValueOf.call(el);
      // Some pages keep what is typed in other attributes too.
      return { value: /^value$/i.test(name) || said === held ? MASK : said };
    }
    case "box": {
      const rect = drawnAt(el);
      return { value: [rect.left, rect.top, rect.width, rect.height] };
    }
    case "scroll": {
      (pictureOf(el) || el).scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const rect = drawnAt(el);
      return { value: [rect.left, rect.top, rect.width, rect.height] };
    }
  }
  return null;
}

const FIELDS = new Set(["input", "textarea"]);
const EDITABLE = "input, textarea, [contenteditable]";

/** What can be typed into, of an element and what is in it. */
const fieldsIn = (root) =>
  [...(matches.call(root, EDITABLE) ? [root] : []), ...findAllInside.call(root, EDITABLE)];

/** Which of these fields hold what is nobody's business. */
function areSecret(fields) {
  if (fields.length === 0) return [];
  memo = newMemo();
  try {
    readSheets();
    return fields.map((field) => {
      const tag = localNameOf.call(field);
      return FIELDS.has(tag) || isEditableHost(field) ? isSecret(field, attributesOf(field, tag), tag) : passwords.has(field);
    });
  } finally {
    memo = null;
  }
}

/** A text without what was typed into secret parts of an element. The browser shows some of it as dots, which tell how long it is. */
function withoutTyped(el, text) {
  const hosts = fieldsIn(el).filter((field) => field instanceof HTMLElement && !FIELDS.has(localNameOf.call(field)));
  areSecret(hosts).forEach((is, at) => {
    const typed = is ? innerTextOf.call(hosts[at]).trim() : "";
    if (typed !== "") text = text.split(typed).join(MASK);
  });
  return text;
}

/** What the secret fields of this document hold, for looking for it in what somebody else tells of them. */
function secrets() {
  const all = [];
  const look = (root) => {
    const find = root.nodeType === 9 ? findAll : findAllInFragment;
    all.push(...find.call(root, EDITABLE));
    for (const el of find.call(root, "*")) {
      const shadow = shadowOf(el);
      if (shadow !== null) look(shadow);
    }
  };
  look(document);
  const held = new Set(heldSecrets);
  areSecret(all).forEach((is, at) => {
    if (!is) return;
    const el = all[at], tag = localNameOf.call(el);
    if (tag === "input") held.add(inputValueOf.call(el));
    else if (tag === "textarea") held.add(areaValueOf.call(el));
    else {
      held.add(textContentOf.call(el));
      const texts = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
      while (texts.nextNode() !== null) held.add(dataOf.call(texts.currentNode));
    }
  });
  return [...held].filter((text) => text.trim() !== "");
}

const importNode = Document.prototype.importNode;
const setAttribute = Element.prototype.setAttribute;
const setTextContent = Object.getOwnPropertyDescriptor(Node.prototype, "textContent").set;

/** The markup of an element without what secret fields hold: what the page wrote into them, what is typed into its elements. */
function withoutSecrets(el) {
  const fields = fieldsIn(el);
  const secret = areSecret(fields);
  if (!secret.includes(true)) return outerHtmlOf.call(el);
  // In a document of its own a copy is only markup: nothing is loaded, no element of the page's comes to life.
  const copy = importNode.call(document.implementation.createHTMLDocument(""), el, true);
  fieldsIn(copy).forEach((field, at) => {
    if (!secret[at]) return;
    if (localNameOf.call(field) !== "input") {
      if (textContentOf.call(field) !== "") setTextContent.call(field, MASK);
      return;
    }
    const held = inputValueOf.call(fields[at]);
    for (const name of attributeNamesOf.call(field)) {
      const said = attributeOf.call(field, name);
      if (said && (name === "value" || said.length >= SHORTEST_SECRET && said === held)) setAttribute.call(field, name, MASK);
    }
  });
  return outerHtmlOf.call(copy);
}

/** Where the document in a frame's element begins. */
function cornerOf(number) {
  const el = elementOf(number);
  if (el === null) return null;
  const rect = rectOf.call(el);
  const style = styleOf(el);
  return [rect.left + el.clientLeft + parseFloat(style.paddingLeft), rect.top + el.clientTop + parseFloat(style.paddingTop)];
}
