// The report: the lines of a walk, the difference from the report before, and long reports in chunks.

/** The report, or what is different from the one before if that is the one that is known. */
function finish(title) {
  const was = options.since === lastReport && lastReport > 0 ? lastOut : null;
  lastOut = options.watch ? out : [];
  lastReport++;
  out[0] = [1, flat(location.href), origin, title, mayHost.size, dropped, memo.read.size, holders.join(),
    lastReport, kindOf.call(document).replace(/^text\/html$/, "")].join("\t");
  out.push("");
  if (was === null) return options.hand === undefined ? out.join("\n") : handOver(options.hand);
  const [same, tail] = alike(was, out, 1);
  const now = linesOf(out.slice(same, out.length - tail)), before = linesOf(was.slice(same, was.length - tail));
  // Pieces that are not the same can be alike in most of their lines.
  const [sameInside, tailInside] = alike(before, now, 0);
  const from = countLines(out.slice(1, same)) + sameInside, to = countLines(out.slice(out.length - tail)) + tailInside;
  return [`~${from}\t${to}`, out[0], ...now.slice(sameInside, now.length - tailInside)].join("\n");
}

/** So many characters go on their way at a time. */
const PIECE = 1 << 17;

/**
 * Hands over the lines of a long report in pieces, and returns how many they were, the first line and what is left. In one
 * piece it would be copied from one large buffer to the next before anybody could begin to read it.
 */
function handOver(sign) {
  const hand = globalThis.agbrowseHand;
  let from = 1, size = 0, count = 0;
  for (let at = 1; typeof hand === "function" && at < out.length - 1; at++) {
    size += out[at].length;
    if (size < PIECE) continue;
    hand(`${sign}\n${out.slice(from, at + 1).join("\n")}\n`);
    count++;
    size = 0;
    from = at + 1;
  }
  if (count === 0) return out.join("\n");
  const rest = out.slice(from);
  rest.unshift(`^${count}`, out[0]);
  return rest.join("\n");
}

/** How many entries are the same from one on, and at the end. */
function alike(was, now, from) {
  const most = Math.min(was.length, now.length);
  let same = from, tail = 0;
  while (same < most && now[same] === was[same]) same++;
  while (tail < most - same && now[now.length - 1 - tail] === was[was.length - 1 - tail]) tail++;
  return [same, tail];
}

/** The lines of a report, each by itself. */
const linesOf = (entries) => entries.some((it) => typeof it !== "string")
  ? entries.flatMap((it) => typeof it === "string" ? it : it.text.split("\n")) : entries;

const countLines = (entries) => entries.reduce((sum, it) => sum + (typeof it === "string" ? 1 : it.count), 0);

/** How lines begin, by role and depth: there are few, and what is put together of fewer pieces takes less room. */
const beginnings = new Map();

function beginningOf(depth, role) {
  let byDepth = beginnings.get(role);
  if (byDepth === undefined) beginnings.set(role, byDepth = []);
  return byDepth[depth] ??= `${depth}\t${role}\t\t`;
}

const textBeginnings = [];
const beginningOfText = (depth) => textBeginnings[depth] ??= `${depth}\t"`;

/** The name of an element that is called what the next line says. */
const SAME = "\u0001";

function addLine(depth, role, el, name, flags, rest) {
  const number = numberOf(el);
  seen.push(el);
  seenNumbers.push(number);
  const begin = number === previousNumber + 1 ? beginningOf(depth, role) : `${depth}\t${role}\t${number}\t`;
  previousNumber = number;
  if (seen.length > limit) checkTime();
  const end = flags === "" ? rest : flagsField(flags) + rest;
  out.push(begin + name + end);
}

/** There are few of these too. */
const flagFields = new Map();

function flagsField(flags) {
  let field = flagFields.get(flags);
  if (field === undefined) flagFields.set(flags, field = `\tf${flags}`);
  return field;
}

const withFlag = (line, flag) => {
  const fields = line.split("\t");
  const at = fields.findIndex((field, index) => index > 3 && field[0] === "f");
  if (at < 0) fields.splice(4, 0, `f${flag}`);
  else if (!fields[at].includes(flag)) fields[at] += flag;
  return fields.join("\t");
};

/** The text that rules put before or after what is in an element. */
function addGenerated(el, which, depth, sight) {
  const text = pseudoText(el, which);
  if (text === "") return;
  const plain = tidy(text);
  if (plain !== "") addPlain(plain, depth, firewall ? unseenGenerated(el, pseudoStyle, sight) : "");
}

/** A quotation with its marks. */
function addQuoted(el, text, depth, { transform, sight }) {
  const whole = pseudoText(el, "::before") + transformed(text, transform) + pseudoText(el, "::after");
  addText(whole, depth, sight, el, null);
}

/** `node` is the text; null when it is all that its parent has. */
function addText(text, depth, sight, parent, node) {
  if (tellsHidden && HAS_INVISIBLE.test(text)) {
    const words = tidy(spelled(text));
    if (words !== "") out.push(`${depth}\t"${words}\tfh\twinvisible-characters`);
  }
  const plain = tidy(text);
  if (plain === "") return;
  const why = firewall ? unseen(sight, parent, node) : "";
  if (why === "") addPlain(plain, depth, "");
  else addUnseen(plain, depth, why, parent);
}

/** `why` is the reason why nobody can see it. */
function addPlain(plain, depth, why) {
  if (why === "") out.push(beginningOfText(depth) + plain);
  else {
    dropped++;
    if (tellsHidden) out.push(`${depth}\t"${plain}\tfh\tw${why}`);
  }
}

const UNTIDY = /[^\S ]|  |^ | $|[\x00-\x1f]/;

/** What was asked about last: mostly names and then the texts that they are made of. */
let untidied = "", tidied = "";

/** A text as it goes into a line: on one line, without what cannot be seen, not endless. */
function tidy(text) {
  if (text === untidied) return tidied;
  untidied = text;
  return tidied = tidyAnew(text);
}

function tidyAnew(text) {
  // Both ends of a long text: what tells it from others may be at either.
  let plain = text.length > maxText ? `${text.slice(0, maxText - TAIL_TEXT)} … ${text.slice(-TAIL_TEXT)}` : text;
  if (UNTIDY.test(plain)) plain = plain.replace(/[\s\x00-\x1f]+/g, " ").trim();
  return firewall ? visibly(plain) : plain;
}

const urlField = (el) => {
  const href = el.href;
  return typeof href === "string" ? `\tu${flat(href)}` : "";
};

const boxField = (el) => {
  const rect = drawnAt(el);
  const short = (number) => Math.round(number * 100) / 100;
  return `\tb${short(rect.left)},${short(rect.top)},${short(rect.width)},${short(rect.height)}`;
};
