// DOM accessors, taken from the prototypes once.
//
// The isolated world has its own prototypes, which a page cannot replace. A page can still shadow properties of forms
// and of the document by naming elements after them (`<input name="firstChild">`), so nothing below reads a property of
// a node by name unless the interface rules that out.

const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;

const firstChildOf = getter(Node.prototype, "firstChild");
const nextSiblingOf = getter(Node.prototype, "nextSibling");
const parentNodeOf = getter(Node.prototype, "parentNode");
const nodeTypeOf = getter(Node.prototype, "nodeType");
const isConnectedOf = getter(Node.prototype, "isConnected");
const textContentOf = getter(Node.prototype, "textContent");
const rootOf = Node.prototype.getRootNode;
const contains = Node.prototype.contains;
const rawLocalNameOf = getter(Element.prototype, "localName");
const namespaceOf = getter(Element.prototype, "namespaceURI");
const previousElementOf = getter(Element.prototype, "previousElementSibling");
const nextElementOf = getter(Element.prototype, "nextElementSibling");
const elementCountOf = getter(Element.prototype, "childElementCount");
const shadowRootOf = getter(Element.prototype, "shadowRoot");
const assignedSlotOf = getter(Element.prototype, "assignedSlot");
const attributeOf = Element.prototype.getAttribute;
const hasAttribute = Element.prototype.hasAttribute;
const hasAttributes = Element.prototype.hasAttributes;
const matches = Element.prototype.matches;
const closest = Element.prototype.closest;
const rectOf = Element.prototype.getBoundingClientRect;
const checkVisibility = Element.prototype.checkVisibility;
const tabIndexOf = getter(HTMLElement.prototype, "tabIndex");
const assignedNodes = HTMLSlotElement.prototype.assignedNodes;
const find = Document.prototype.querySelector;
const findAll = Document.prototype.querySelectorAll;
const findInside = Element.prototype.querySelector;
const findAllInside = Element.prototype.querySelectorAll;
const findInFragment = DocumentFragment.prototype.querySelector;
const findAllInFragment = DocumentFragment.prototype.querySelectorAll;
const elementById = Document.prototype.getElementById;
const elementByIdInFragment = DocumentFragment.prototype.getElementById;
const documentElementOf = getter(Document.prototype, "documentElement");
const bodyOf = getter(Document.prototype, "body");
const titleOf = getter(Document.prototype, "title");
const documentUrlOf = getter(Document.prototype, "URL");
const contentTypeOf = getter(Document.prototype, "contentType");
const byTag = Document.prototype.getElementsByTagName;
const contentDocumentOf = getter(HTMLIFrameElement.prototype, "contentDocument");
const activeElementOf = getter(Document.prototype, "activeElement");
const addListener = EventTarget.prototype.addEventListener;
const styleOf = getComputedStyle;
const dataOf = getter(CharacterData.prototype, "data");

const HTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/** Tag names with a meaning in HTML only. SVG elements can have the same names, without the meaning. */
const HTML_ONLY = new Set(("area audio button canvas details dialog embed fieldset frame iframe img input label legend map meter object " +
  "optgroup option output progress select slot summary template textarea video").split(" "));

/**
 * Local name of an element, called with it as `this`; prefixed with `not:` for elements of another namespace that share
 * a name with HTML.
 */
function localNameOf() {
  const name = rawLocalNameOf.call(this);
  return HTML_ONLY.has(name) && namespaceOf.call(this) !== HTML ? `not:${name}` : name;
}

/** Closed shadow roots by host, supplied from outside. */
const closedRoots = new WeakMap();
let closedCount = 0;

/** Shadow root of an element, open or closed. */
const anyShadowRootOf = (el) => shadowRootOf.call(el) || (closedCount === 0 ? null : closedRoots.get(el) || null);

/** `getElementById` for documents and shadow roots; null for other trees. */
const byId = (root, id) =>
  root.nodeType === 9 ? elementById.call(root, id)
  : root instanceof DocumentFragment ? elementByIdInFragment.call(root, id)
  : null;

const parentOf = (el) => {
  const parent = parentNodeOf.call(el);
  return parent === null ? null : parent instanceof ShadowRoot ? parent.host : parent;
};

/** Parent in the flat tree: where the element is rendered. */
const flatParentOf = (el) => assignedSlotOf.call(el) || parentOf(el);

/** Calls back for every text and element child in the flat tree. */
function forEachFlatChild(el, tag, visit) {
  const shadow = anyShadowRootOf(el);
  if (shadow !== null) readShadowSheets(shadow);
  else if (tag === "slot") {
    const assigned = assignedNodes.call(el);
    if (assigned.length > 0) {
      for (const node of assigned) {
        const type = nodeTypeOf.call(node);
        if (type === 3) visit(node, true);
        else if (type === 1) visit(node, false);
      }
      return;
    }
  }
  for (let node = firstChildOf.call(shadow || el); node !== null; node = nextSiblingOf.call(node)) {
    const type = nodeTypeOf.call(node);
    if (type === 3) visit(node, true);
    else if (type === 1) visit(node, false);
  }
}

/**
 * Text of an element with no element children; null otherwise. Avoids touching text nodes one by one: in an isolated
 * world each costs a wrapper object.
 */
function onlyText(el, tag) {
  if (el === memo.textOnlyElement) return memo.textOnlyResult;
  memo.textOnlyElement = el;
  return memo.textOnlyResult = elementCountOf.call(el) !== 0 || tag === "slot" || anyShadowRootOf(el) !== null ? null : textContentOf.call(el);
}
