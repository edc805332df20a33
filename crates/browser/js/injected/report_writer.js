// The report: its lines, the patch against the last report, and long reports in chunks.

/** Returns the report, or a patch when the caller has the last one. */
function finishReport(title) {
  const previous = options.since === lastReportId && lastReportId > 0 ? lastReportLines : null;
  lastReportLines = options.watch ? reportLines : [];
  lastReportId++;
  reportLines[0] = [1, oneLine(location.href), origin, title, possibleShadowHosts.size, droppedTexts, memo.shadowRoots.size, frameElements.join(),
    lastReportId, contentTypeOf.call(document).replace(/^text\/html$/, "")].join("\t");
  reportLines.push("");
  if (previous === null) return options.chunkKey === undefined ? reportLines.join("\n") : sendChunks(options.chunkKey);
  const [same, tail] = commonEnds(previous, reportLines, 1);
  const now = splitBundles(reportLines.slice(same, reportLines.length - tail)), before = splitBundles(previous.slice(same, previous.length - tail));
  // Bundles that differ can share most of their lines.
  const [sameInside, tailInside] = commonEnds(before, now, 0);
  const from = countLines(reportLines.slice(1, same)) + sameInside, to = countLines(reportLines.slice(reportLines.length - tail)) + tailInside;
  return [`~${from}\t${to}`, reportLines[0], ...now.slice(sameInside, now.length - tailInside)].join("\n");
}

/** Characters of a chunk. */
const CHUNK_CHARS = 1 << 17;

/**
 * Sends the lines of a long report in chunks, and returns their count, the head line and the remaining lines. One long
 * string would be copied from buffer to buffer before Rust could begin to read it.
 */
function sendChunks(key) {
  const sendChunk = globalThis.agbrowseSendChunk;
  let from = 1, size = 0, count = 0;
  for (let at = 1; typeof sendChunk === "function" && at < reportLines.length - 1; at++) {
    size += reportLines[at].length;
    if (size < CHUNK_CHARS) continue;
    sendChunk(`${key}\n${reportLines.slice(from, at + 1).join("\n")}\n`);
    count++;
    size = 0;
    from = at + 1;
  }
  if (count === 0) return reportLines.join("\n");
  const rest = reportLines.slice(from);
  rest.unshift(`^${count}`, reportLines[0]);
  return rest.join("\n");
}

/** Lengths of the common prefix (counted from `from`) and suffix. */
function commonEnds(previous, now, from) {
  const most = Math.min(previous.length, now.length);
  let same = from, tail = 0;
  while (same < most && now[same] === previous[same]) same++;
  while (tail < most - same && now[now.length - 1 - tail] === previous[previous.length - 1 - tail]) tail++;
  return [same, tail];
}

/** Report entries with bundles split into lines. */
const splitBundles = (entries) => entries.some((it) => typeof it !== "string")
  ? entries.flatMap((it) => typeof it === "string" ? it : it.text.split("\n")) : entries;

const countLines = (entries) => entries.reduce((sum, it) => sum + (typeof it === "string" ? 1 : it.count), 0);

/** Line prefixes by role and depth: there are few, and shared strings take less memory. */
const linePrefixes = new Map();

function linePrefix(depth, role) {
  let byDepth = linePrefixes.get(role);
  if (byDepth === undefined) linePrefixes.set(role, byDepth = []);
  return byDepth[depth] ??= `${depth}\t${role}\t\t`;
}

const textPrefixes = [];
const textPrefix = (depth) => textPrefixes[depth] ??= `${depth}\t"`;

/** Name of an element whose name is the text on the next line. */
const NAME_IS_TEXT = "\u0001";

function addElementLine(depth, role, el, name, flags, rest) {
  const id = idOf(el);
  reportedElements.push(el);
  reportedIds.push(id);
  const begin = id === previousId + 1 ? linePrefix(depth, role) : `${depth}\t${role}\t${id}\t`;
  previousId = id;
  if (reportedElements.length > nextTimeCheck) checkTime();
  const end = flags === "" ? rest : flagsField(flags) + rest;
  reportLines.push(begin + name + end);
}

/** Flag fields by flags: there are few of these too. */
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

/** Adds the text of a pseudo-element. */
function addPseudoText(el, which, depth, visibility) {
  const text = pseudoText(el, which);
  if (text === "") return;
  const plain = tidyText(text);
  if (plain !== "") addTextLine(plain, depth, firewall ? hiddenPseudoReason(el, pseudoStyle, visibility) : "");
}

/** Adds a `q` with its quotation marks. */
function addQuotation(el, text, depth, { transform, visibility }) {
  const whole = pseudoText(el, "::before") + applyTextTransform(text, transform) + pseudoText(el, "::after");
  addText(whole, depth, visibility, el, null);
}

/** Adds a text. `node`: the text node; null when it is all that its parent has. */
function addText(text, depth, visibility, parent, node) {
  if (includesHidden && HAS_INVISIBLE.test(text)) {
    const words = tidyText(decodeTagCharacters(text));
    if (words !== "") reportLines.push(`${depth}\t"${words}\tfh\twinvisible-characters`);
  }
  const plain = tidyText(text);
  if (plain === "") return;
  const why = firewall ? hiddenTextReason(visibility, parent, node) : "";
  if (why === "") addTextLine(plain, depth, "");
  else addHiddenText(plain, depth, why, parent);
}

/** Adds a text line. `why`: the reason why it is hidden, or "". */
function addTextLine(plain, depth, why) {
  if (why === "") reportLines.push(textPrefix(depth) + plain);
  else {
    droppedTexts++;
    if (includesHidden) reportLines.push(`${depth}\t"${plain}\tfh\tw${why}`);
  }
}

const NEEDS_TIDYING = /[^\S ]|  |^ | $|[\x00-\x1f]/;

/** Last input and output of `tidyText`: mostly names and then the texts that they come from. */
let tidyInput = "", tidyOutput = "";

/** Text as it goes into a line: on one line, without invisible characters, of limited length. */
function tidyText(text) {
  if (text === tidyInput) return tidyOutput;
  tidyInput = text;
  return tidyOutput = computeTidyText(text);
}

function computeTidyText(text) {
  // Both ends of a long text: either may identify it.
  let plain = text.length > maxText ? `${text.slice(0, maxText - TAIL_TEXT)} … ${text.slice(-TAIL_TEXT)}` : text;
  if (NEEDS_TIDYING.test(plain)) plain = plain.replace(/[\s\x00-\x1f]+/g, " ").trim();
  return firewall ? stripInvisible(plain) : plain;
}

const urlField = (el) => {
  const href = el.href;
  return typeof href === "string" ? `\tu${oneLine(href)}` : "";
};

const boxField = (el) => {
  const rect = drawnRect(el);
  const short = (id) => Math.round(id * 100) / 100;
  return `\tb${short(rect.left)},${short(rect.top)},${short(rect.width)},${short(rect.height)}`;
};
