// Reads the state of a conversation: numbers of turns, signs of streaming and completion, and the text of the composer,
// of the last prompt and of the last answer as far as they are asked for. Nothing is touched.
({ user, assistant, streaming, done, composer, chips, textLimit, withAnswer }) => {
  const isVisible = (it) => {
    const box = it.getBoundingClientRect()
    return box.width > 0 && box.height > 0 && it.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  }
  const HAS_TEXT = /^(.*):has-text\("([^]*)"\)$/
  const select = (selector, root = document) => {
    const [, css, text] = HAS_TEXT.exec(selector) ?? [null, selector, null]
    try {
      const all = [...root.querySelectorAll(css)]
      return text === null ? all : all.filter((it) => it.textContent.includes(text))
    } catch {
      return []
    }
  }
  const first = (selectors, root) => {
    for (const selector of selectors) {
      const all = select(selector, root)
      if (all.length > 0) return all
    }
    return []
  }
  // Turns, without those that are part of another one.
  const turns = (selectors) => {
    const all = first(selectors)
    return all.filter((it) => !all.some((other) => other !== it && other.contains(it)))
  }
  const some = (selectors, root) => selectors.some((selector) => select(selector, root).some(isVisible))

  const SKIPPED = "button, [role=button], [role=toolbar], nav, svg, script, style, template, [aria-hidden=true], [hidden]"
  const BLOCK = /^(block|flex|grid|list-item|table|table-row|flow-root)$/

  // The text as a person reads it: blocks on lines of their own, without buttons.
  const textOf = (root, limit) => {
    let text = ""
    const line = () => {
      if (text !== "" && !text.endsWith("\n")) text += "\n"
    }
    const walk = (it, isPre) => {
      if (text.length > limit) return
      if (it.nodeType === Node.TEXT_NODE) {
        text += isPre ? it.data : it.data.replace(/\s+/g, " ")
        return
      }
      if (it.nodeType !== Node.ELEMENT_NODE || it.matches(SKIPPED)) return
      if (it.localName === "br") {
        text += "\n"
        return
      }
      const style = getComputedStyle(it)
      if (style.display === "none" || style.visibility === "hidden") return
      const isBlock = BLOCK.test(style.display)
      if (isBlock) line()
      if (it.localName === "li") text += "- "
      for (const child of it.childNodes) walk(child, isPre || style.whiteSpace.startsWith("pre"))
      if (it.localName === "td" || it.localName === "th") text += "\t"
      if (isBlock) line()
    }
    walk(root, false)
    return text.replace(/[ \t]+$/gm, "").trim().slice(0, limit)
  }

  const users = turns(user)
  const answers = turns(assistant)
  const last = answers.at(-1)
  const whole = last ? textOf(last, textLimit) : ""
  const field = first(composer).find(isVisible)
  const draft = field ? field.value ?? textOf(field, textLimit) : null
  const busy = chips ? [...document.querySelectorAll("[aria-busy=true]")].some(isVisible) : false
  return {
    host: location.host,
    path: location.pathname,
    users: users.length,
    answers: answers.length,
    streaming: some(streaming),
    done: last ? some(done, last) || (last.parentElement !== null && some(done, last.parentElement)) : false,
    answerChars: whole.length,
    answerTail: whole.slice(-120),
    answer: withAnswer ? whole : null,
    lastPrompt: users.length > 0 ? textOf(users.at(-1), textLimit) : null,
    draft,
    busy,
    chipsShown: (chips ?? []).filter((name) => document.body.innerText.includes(name)),
    title: document.title.slice(0, 200),
    bodyChars: document.body?.innerText.trim().length ?? 0,
    bodyHead: (document.body?.innerText ?? "").slice(0, 2000),
  }
}
