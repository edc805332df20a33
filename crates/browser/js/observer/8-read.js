// What can be asked of single elements.

const VOID = new Set((
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr").split(" "));

/** The tags of an element and everything in it, without what they say: enough to tell whether the page was rebuilt. */
function shape(selector, max) {
  const root = selector ? find.call(document, selector) : bodyOf.call(document);
  if (root === null) return null;
  let text = "";
  const visit = (el, depth) => {
    if (text.length >= max || depth > MAX_DEPTH) return;
    const tag = localNameOf.call(el);
    text += `<${tag}>`;
    for (let child = firstChildOf.call(el); child !== null; child = nextSiblingOf.call(child)) {
      if (nodeTypeOf.call(child) === 1) visit(child, depth + 1);
    }
    if (!VOID.has(tag)) text += `</${tag}>`;
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

/** Whether an element is something else when somebody listens to it. */
function isMadeByHearing(el) {
  const tag = localNameOf.call(el);
  return tag === "tbody" || tag === "a" && !hasAttribute.call(el, "href");
}

/**
 * Takes in elements whose clicks a script listens to, and tells their numbers. A mark at the beginning says that one of
 * them was not told of, because nothing else speaks for it: the next walk will.
 */
function hears(nodes) {
  const given = nodes.map(numberOf);
  let isMissed = false;
  nodes.forEach((node, at) => {
    if (hearing.has(node) || nodeTypeOf.call(node) !== 1) return;
    hearing.add(node);
    hearingCount++;
    if (elementOf(given[at]) !== null && !isMadeByHearing(node) || !isShown.call(node)) return;
    isMissed = true;
    noteChange(node);
  });
  return (isMissed ? "!," : "") + given.join();
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

/** One thing about an element. */
function readElement(number, what, name) {
  const el = elementOf(number);
  if (el === null || !isConnectedOf.call(el)) return null;
  switch (what) {
    case "text": return { value: el instanceof HTMLElement ? innerTextOf.call(el) : textContentOf.call(el) };
    case "html": return { value: withoutSecrets(el) };
    case "value": {
      const tag = localNameOf.call(el);
      if (tag === "input") {
        const held = inputValueOf.call(el);
        return { value: held !== "" && areSecret([el])[0] ? MASK : maskCards(held) };
      }
      if (tag === "textarea") return { value: maskCards(areaValueOf.call(el)) };
      if (tag === "select") return { value: el.value };
      if (isEditableHost(el)) return { value: maskCards(innerTextOf.call(el)) };
      return { value: attributeOf.call(el, "value") };
    }
    case "attr": {
      const said = attributeOf.call(el, name);
      if (!said || localNameOf.call(el) !== "input" || !/^value$/i.test(name)) return { value: said };
      return { value: areSecret([el])[0] ? MASK : maskCards(said) };
    }
    case "box": {
      const rect = rectOf.call(el);
      return { value: [rect.left, rect.top, rect.width, rect.height] };
    }
    case "scroll": {
      el.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const rect = rectOf.call(el);
      return { value: [rect.left, rect.top, rect.width, rect.height] };
    }
  }
  return null;
}

/** Which of these fields hold what is nobody's business. */
function areSecret(fields) {
  memo = newMemo();
  try {
    readSheets();
    return fields.map((field) => isSecret(field, attributesOf(field, "input")));
  } finally {
    memo = null;
  }
}

const importNode = Document.prototype.importNode;
const setAttribute = Element.prototype.setAttribute;

/** The markup of an element. What was typed is not in it; what the page wrote into a secret field would be. */
function withoutSecrets(el) {
  const fieldsIn = (root) => [...(localNameOf.call(root) === "input" ? [root] : []), ...findAllInside.call(root, "input")];
  const fields = fieldsIn(el);
  const secret = areSecret(fields).map((is, at) => is && hasAttribute.call(fields[at], "value"));
  if (!secret.includes(true)) return outerHtmlOf.call(el);
  // In a document of its own a copy is only markup: nothing is loaded, no element of the page's comes to life.
  const copy = importNode.call(document.implementation.createHTMLDocument(""), el, true);
  fieldsIn(copy).forEach((field, at) => { if (secret[at]) setAttribute.call(field, "value", MASK); });
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
