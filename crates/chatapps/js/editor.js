// Composers. A rich text editor keeps its text in a model of its own, as ProseMirror and Quill do: the model follows what
// the browser types, pastes and deletes; what a script writes into the element is not seen, and goes with the next change.

function mountEditor(element, { changed, submit }) {
  const isPlain = element.tagName === 'TEXTAREA';
  let model = '';

  const update = (text) => {
    model = text;
    element.classList.toggle(CONFIG.blankClass, text === '');
    changed();
  };

  /** Text of the element: one line for each paragraph or line break. */
  const read = () => {
    const lines = [];
    let open = false;
    const add = (text) => {
      if (open) lines[lines.length - 1] += text;
      else lines.push(text);
      open = true;
    };
    const walk = (node) => {
      for (const child of node.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) {
          add(child.data);
        } else if (child.nodeName === 'BR') {
          // The last break of a block only gives it its height.
          const isFiller = !child.nextSibling;
          if (!isFiller) {
            add('');
            open = false;
          } else if (!open) {
            add('');
          }
        } else if (/^(P|DIV|LI|UL|OL|PRE|BLOCKQUOTE|H\d)$/.test(child.nodeName)) {
          open = false;
          const before = lines.length;
          walk(child);
          if (lines.length === before) lines.push('');
          open = false;
        } else {
          walk(child);
        }
      }
    };
    walk(element);
    return lines.join('\n').replaceAll('\u00a0', ' ').replace(/\r\n?/g, '\n');
  };

  /** Writes the model into the element, with the caret at its end. */
  const write = (focus) => {
    const paragraphs = model.split('\n').map((line) => {
      const paragraph = document.createElement('p');
      paragraph.append(line === '' ? document.createElement('br') : line);
      return paragraph;
    });
    element.replaceChildren(...paragraphs);
    if (focus && document.activeElement === element) {
      const end = document.createRange();
      end.selectNodeContents(paragraphs.at(-1));
      end.collapse(model === '');
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(end);
    }
  };

  if (isPlain) {
    element.addEventListener('input', () => update(element.value));
  } else {
    document.execCommand('defaultParagraphSeparator', false, 'p');
    element.addEventListener('beforeinput', (event) => {
      const { inputType } = event;
      // Formatting is no part of a prompt.
      if (inputType.startsWith('format')) event.preventDefault();
      if (inputType === 'insertLineBreak') {
        event.preventDefault();
        document.execCommand('insertParagraph');
      }
    });
    element.addEventListener('input', (event) => {
      if (!event.isTrusted) {
        write(true);
        return;
      }
      const text = read();
      const isBlank = text.trim() === '' && !text.includes('\n');
      update(isBlank && element.textContent === '' ? '' : text);
      if (model === '' && element.firstElementChild?.nodeName !== 'P') write(true);
    });
    element.addEventListener('paste', (event) => {
      const text = event.clipboardData?.getData('text/plain');
      if (!text) return;
      event.preventDefault();
      document.execCommand('insertText', false, text);
    });
    element.classList.add(CONFIG.blankClass);
  }

  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    if (event.shiftKey) {
      if (!isPlain) {
        event.preventDefault();
        document.execCommand('insertParagraph');
      }
      return;
    }
    event.preventDefault();
    submit(event);
  });

  // A browser that restores form fields is not asked.
  if (isPlain) element.value = '';

  return {
    text: () => model,
    clear: () => {
      if (isPlain) element.value = '';
      update('');
      if (!isPlain) write(true);
    },
  };
}
