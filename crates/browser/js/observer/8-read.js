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
  const given = numbersFor(found);
  elementOf(0);
  given.forEach((number, at) => byNumber.set(number, found[at]));
  return given;
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
        memo = newMemo();
        readSheets();
        const secret = isSecret(el, attributesOf(el, tag));
        memo = null;
        return { value: secret ? (inputValueOf.call(el) ? MASK : "") : inputValueOf.call(el) };
      }
      if (tag === "textarea") return { value: areaValueOf.call(el) };
      if (tag === "select") return { value: el.value };
      return { value: isEditableHost(el) ? innerTextOf.call(el) : attributeOf.call(el, "value") };
    }
    case "attr": {
      if (name === "value" && localNameOf.call(el) === "input" && inputTypeOf.call(el) === "password") return { value: MASK };
      return { value: attributeOf.call(el, name) };
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

/** The markup of an element. What was typed is not in it; what the page wrote into a password field would be. */
function withoutSecrets(el) {
  const html = outerHtmlOf.call(el);
  if (!/type=["']?password/i.test(html)) return html;
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const field of parsed.querySelectorAll("input[type=password i][value]")) field.setAttribute("value", MASK);
  return parsed.body.innerHTML;
}

/** Where the document in a frame's element begins. */
function cornerOf(number) {
  const el = elementOf(number);
  if (el === null) return null;
  const rect = rectOf.call(el);
  const style = styleOf(el);
  return [rect.left + el.clientLeft + parseFloat(style.paddingLeft), rect.top + el.clientTop + parseFloat(style.paddingTop)];
}
