// Markdown as the answers use it, rendered while it grows: blocks that are complete are rendered once, only the last one
// again.

/** Renders `*`, `**`, `` ` `` and links of one line into an element. */
function renderInline(text, into) {
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)\s]+)\)/g;
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    into.append(text.slice(end, match.index));
    const [whole, code, strong, emphasis, label, target] = match;
    const tag = code ? 'code' : strong ? 'strong' : emphasis ? 'em' : 'a';
    const element = document.createElement(tag);
    element.textContent = code ?? strong ?? emphasis ?? label;
    if (target) element.href = target;
    into.append(element);
    end = match.index + whole.length;
  }
  into.append(text.slice(end));
  return into;
}

const create = (tag, text) => renderInline(text, document.createElement(tag));

function renderTable(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());
  const table = document.createElement('table');
  const head = table.createTHead().insertRow();
  head.append(...cells(lines[0]).map((cell) => create('th', cell)));
  const body = table.createTBody();
  for (const line of lines.slice(2)) body.insertRow().append(...cells(line).map((cell) => create('td', cell)));
  return table;
}

function renderList(lines) {
  const isOrdered = /^\d+\. /.test(lines[0]);
  const list = document.createElement(isOrdered ? 'ol' : 'ul');
  list.append(...lines.map((line) => create('li', line.replace(/^(\d+\.|[-*]) /, ''))));
  return list;
}

function renderCode(lines) {
  const text = lines.slice(1, lines.length > 1 && lines.at(-1) === '```' ? -1 : undefined).join('\n');
  const { element, hook } = build('code');
  hook('CodeLanguage').textContent = lines[0].slice(3) || 'text';
  hook('CodeText').textContent = text;
  onPress(hook('ChipButton'), () => copyText(text));
  return element;
}

/** Renders one block: text without an empty line, or a whole code block. */
function renderBlock(block) {
  const lines = block.split('\n');
  if (lines[0].startsWith('```')) return renderCode(lines);
  const heading = /^(#{1,4}) (.*)$/.exec(lines[0]);
  if (heading && lines.length === 1) return create(`h${heading[1].length + 1}`, heading[2]);
  if (lines.length > 1 && /^\|?[ :|-]+\|?$/.test(lines[1]) && lines[0].includes('|')) return renderTable(lines);
  if (lines.every((line) => /^(\d+\.|[-*]) /.test(line))) return renderList(lines);
  return create('p', lines.join('\n'));
}

/** Shows growing markdown in an element. */
function markdownView(into) {
  let pending = '';
  let last = null;

  /** Length of the first block of the text that is complete, with the empty line after it; 0 if none is. */
  const blockLength = (text) => {
    if (!text.startsWith('```')) {
      const end = text.indexOf('\n\n');
      return end < 0 ? 0 : end + 2;
    }
    const fence = text.indexOf('\n```', 3);
    const end = fence < 0 ? -1 : text.indexOf('\n\n', fence + 4);
    return end < 0 ? 0 : end + 2;
  };

  return {
    append(text) {
      pending += text;
      const complete = document.createDocumentFragment();
      for (let length = blockLength(pending); length > 0; length = blockLength(pending)) {
        const block = pending.slice(0, length).trim();
        if (block) complete.append(renderBlock(block));
        pending = pending.slice(length);
      }
      if (complete.childNodes.length > 0) {
        last?.remove();
        last = null;
        into.append(complete);
      }
      if (pending.trim() === '') return;
      const element = renderBlock(pending.trim());
      if (last) last.replaceWith(element);
      else into.append(element);
      last = element;
    },
  };
}
