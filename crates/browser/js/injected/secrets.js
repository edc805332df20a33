// Secret fields: detection by type, autocomplete, name and label, and the masking of their values.

/** Mask of a secret, whatever its length. */
const MASK = "••••••";

const SECRET_AUTOCOMPLETE = /\b(current-password|new-password|one-time-code|cc-number|cc-csc)\b/i;
const SECRET_NAME = /(^|[^a-z])(pass|passw(or)?d|passcode|passphrase|pwd|pin(code)?|otp|totp|one[-_ ]?time([-_ ]?code)?|cvv2?|cvc2?|csc|card[-_ ]?(no|num(ber)?)|cc[-_ ]?num(ber)?|secret([-_ ]?key)?|api[-_ ]?key|(access|auth|api|bearer|refresh|reset|session|csrf|xsrf)[-_ ]?token|ssn)([^a-z]|$)/i;
/** Labels of secret fields, in the most common languages. */
const SECRET_LABEL = /(?<![\p{L}-])(password|pass ?word|passwort|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło|пароль|passcode|passphrase|pin|otp|one[- ]time (code|pass(word|code))|(verification|security|authentication|confirmation|sms|2fa|login) code|cvv2?|cvc2?|card number|kartennummer|secret( key| access key)?|api key|((access|auth|api|bearer|personal access) )?token|social security number|ssn)(?![\p{L}])|密码|密碼|パスワード|비밀번호/iu;
/** Labels that mention a secret and are not for one. */
const NOT_SECRET_SUBJECT = /\b(search|filter|find|name|hint|question|e-?mail|expir|title|description|note|length|count|limit|amount|price|symbol|address|url)/i;
const NEVER_SECRET_TYPES = new Set("search email url date month week time datetime-local range color checkbox radio file".split(" "));

/** Fields that were of type password once: a "show password" button only changes the type. */
const passwordFields = new WeakSet();
/** Values of such fields: a page can also put another field in their place. */
const secretTexts = new Set();
const MIN_SECRET_LENGTH = 4;
const MAX_SECRETS = 1000;

/** Returns whether the value of a field is secret. */
function isSecretField(el, attributes, tag = localNameOf.call(el)) {
  const type = tag === "input" ? inputTypeOf.call(el) : tag;
  if (type === "password") passwordFields.add(el);
  const isField = tag === "input" || tag === "textarea";
  const held = tag === "input" ? inputValueOf.call(el) : tag === "textarea" ? areaValueOf.call(el) : "";
  if (passwordFields.has(el)) {
    if (held.length >= MIN_SECRET_LENGTH && secretTexts.size < MAX_SECRETS) secretTexts.add(held);
    return true;
  }
  if (secretTexts.size > 0 && held !== "" && secretTexts.has(held)) return true;
  if (attributes !== null) {
    if (attributes.autocomplete && SECRET_AUTOCOMPLETE.test(attributes.autocomplete)) return true;
    const names = isField ? `${attributes.name || ""} ${attributes.id || ""}` : " ";
    if (names !== " " && SECRET_NAME.test(names.replace(/([a-z])([A-Z])/g, "$1-$2"))) return true;
  }
  if (!NEVER_SECRET_TYPES.has(type) && type !== "hidden" && isLabelledSecret(el, attributes)) return true;
  return (attributes !== null || memo.rules.everywhere !== 0 || memo.rules.tags.size > 0) &&
    computed(el).webkitTextSecurity !== "none";
}

/** Returns whether the label of a field names a secret. */
function isLabelledSecret(el, attributes) {
  const namesSecret = (text) => text !== null && text !== undefined && text.length < 200 && SECRET_LABEL.test(text) &&
    !NOT_SECRET_SUBJECT.test(text);
  if (attributes !== null) {
    if (namesSecret(attributes["aria-label"]) || namesSecret(attributes.placeholder)) return true;
    const ids = attributes["aria-labelledby"];
    if (ids !== undefined && referenced(el, ids).some((other) => namesSecret(textContentOf.call(other)))) return true;
  }
  const labels = labelsOf(el);
  return labels !== null && labels.some((label) => namesSecret(textContentOf.call(label)));
}

// Card numbers and tokens are masked in Rust, by one definition for all that is read (`page::mask`). This world passes
// them on unmasked.

/** Marks the value of a field as secret from here on. */
function markSecret(number) {
  const el = elementOf(number);
  if (el === null) return false;
  passwordFields.add(el);
  markChanged(el);
  return true;
}

const TEXT_FIELDS = new Set(["input", "textarea"]);
const EDITABLE_SELECTOR = "input, textarea, [contenteditable]";

/** Editable elements of a subtree, itself included. */
const editablesIn = (root) =>
  [...(matches.call(root, EDITABLE_SELECTOR) ? [root] : []), ...findAllInside.call(root, EDITABLE_SELECTOR)];

/** Returns for each field whether its value is secret. */
function areSecret(fields) {
  if (fields.length === 0) return [];
  memo = newMemo();
  try {
    readSheets();
    return fields.map((field) => {
      const tag = localNameOf.call(field);
      return TEXT_FIELDS.has(tag) || isEditableHost(field) ? isSecretField(field, attributesOf(field, tag), tag) : passwordFields.has(field);
    });
  } finally {
    memo = null;
  }
}

/**
 * Masks what was typed into secret editable elements of a subtree. The browser renders some of it as dots, which give
 * away the length.
 */
function maskTypedText(el, text) {
  const hosts = editablesIn(el).filter((field) => field instanceof HTMLElement && !TEXT_FIELDS.has(localNameOf.call(field)));
  areSecret(hosts).forEach((isSecret, at) => {
    const typed = isSecret ? innerTextOf.call(hosts[at]).trim() : "";
    if (typed !== "") text = text.split(typed).join(MASK);
  });
  return text;
}

/** Values of all secret fields of this document, to be masked in other outputs. */
function secretValues() {
  const all = [];
  const search = (root) => {
    const find = root.nodeType === 9 ? findAll : findAllInFragment;
    all.push(...find.call(root, EDITABLE_SELECTOR));
    for (const el of find.call(root, "*")) {
      const shadow = anyShadowRootOf(el);
      if (shadow !== null) search(shadow);
    }
  };
  search(document);
  const held = new Set(secretTexts);
  areSecret(all).forEach((isSecret, at) => {
    if (!isSecret) return;
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

/** Markup of an element without the values of secret fields, in attributes and in editable elements. */
function markupWithoutSecrets(el) {
  const fields = editablesIn(el);
  const secret = areSecret(fields);
  if (!secret.includes(true)) return outerHtmlOf.call(el);
  // In an inert document the copy loads nothing, and custom elements are not upgraded.
  const copy = importNode.call(document.implementation.createHTMLDocument(""), el, true);
  editablesIn(copy).forEach((field, at) => {
    if (!secret[at]) return;
    if (localNameOf.call(field) !== "input") {
      if (textContentOf.call(field) !== "") setTextContent.call(field, MASK);
      return;
    }
    const held = inputValueOf.call(fields[at]);
    for (const name of attributeNamesOf.call(field)) {
      const said = attributeOf.call(field, name);
      if (said && (name === "value" || said.length >= MIN_SECRET_LENGTH && said === held)) setAttribute.call(field, name, MASK);
    }
  });
  return outerHtmlOf.call(copy);
}
