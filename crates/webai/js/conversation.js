// Reads the state of a conversation: numbers of turns, signs of streaming and completion, and the text of the composer,
// of the last prompt and of the last answer as far as they are asked for. Nothing is touched.
({ parts, exact, done, chips, needle, answerAt, textLimit, withAnswer }) => {
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

  const ROLED = "[role], button, textarea, input, [contenteditable=true], article, section, fieldset"
  const roleOf = (it) => {
    const role = it.getAttribute("role")
    if (role) return role.trim().split(/\s+/)[0]
    switch (it.localName) {
      case "button": return "button"
      case "article": return "article"
      case "section": return "region"
      case "fieldset": return "group"
      case "input": return /^(text|search|url|)$/.test(it.getAttribute("type") ?? "") ? "textbox" : ""
      case "textarea": return "textbox"
      default: return it.isContentEditable ? "textbox" : ""
    }
  }
  const nameOf = (it) => {
    const labels = (it.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean)
    const name = it.getAttribute("aria-label") ??
      labels.map((id) => document.getElementById(id)?.textContent ?? "").join(" ")
    const own = name.trim() || (roleOf(it) === "button" ? it.textContent : "") ||
      it.getAttribute("placeholder") || it.getAttribute("title") || ""
    return own.replace(/\s+/g, " ").trim().slice(0, 120)
  }
  let roled
  const allRoled = () => roled ??= [...document.querySelectorAll(ROLED)].map((it) => ({ it, role: roleOf(it), name: nameOf(it) }))

  // The elements of a part: by selectors, else by the exact roles and names that the caller has chosen.
  const find = (key) => {
    const all = first(parts[key])
    if (all.length > 0 || !exact[key]) return all
    const chosen = new Set(exact[key].map(({ role, name }) => `${role}\n${name}`))
    return allRoled().filter(({ role, name }) => chosen.has(`${role}\n${name}`)).map(({ it }) => it)
  }
  // Turns, without those that are part of another one.
  const turns = (key) => {
    const all = find(key)
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

  const users = turns("userTurn")
  const answers = turns("responseFeed")
  const last = answerAt !== null && answerAt < answers.length ? answers[answerAt] : answers.at(-1)
  const whole = last ? textOf(last, textLimit) : ""
  const field = find("composer").find(isVisible)
  const draft = field ? field.value ?? textOf(field, textLimit) : null
  const unmatched = Object.keys(parts).filter((key) => first(parts[key]).length === 0)
  const flat = (text) => text.replace(/\s+/g, " ")
  const times = (text, part) => flat(text).split(part).length - 1
  // A draft is not part of the conversation. The text of a textarea is no text of the page.
  const countOf = (part) =>
    times(document.body?.innerText ?? "", part) - (field && !("value" in field) ? times(draft, part) : 0)
  // The last turn with what is around it, unless that has other turns too.
  const around = last?.parentElement
  const scope = around && !answers.some((it) => it !== last && around.contains(it)) ? around : last
  const copies = () =>
    find("copyButton").some((it) => scope.contains(it) && isVisible(it) && !it.closest("pre, code, figure") && !it.parentElement.querySelector("pre, code"))
  const isDone = last !== undefined && (some(done, scope) || (exact.copyButton !== undefined && copies()))
  const named = new Map()
  if (unmatched.length > 0 || (last && !isDone)) {
    for (const { role, name } of allRoled()) {
      if (role && name && named.size < 300) named.set(`${role}\n${name}`, { role, name })
    }
  }
  return {
    host: location.host,
    path: location.pathname,
    users: users.length,
    answers: answers.length,
    streaming: last === answers.at(-1) && find("streamingIndicator").some(isVisible),
    done: isDone,
    answerChars: whole.length,
    answerTail: whole.slice(-120),
    answer: withAnswer ? whole : null,
    lastPrompt: users.length > 0 ? textOf(users.at(-1), textLimit) : null,
    draft,
    needleCount: needle ? countOf(needle) : 0,
    unmatched,
    named: [...named.values()],
    busy: chips ? [...document.querySelectorAll("[aria-busy=true]")].some(isVisible) : false,
    fileCounts: Object.fromEntries((chips ?? []).map((name) => [name, times(document.body.innerText, name)])),
    title: document.title.slice(0, 200),
    bodyChars: document.body?.innerText.trim().length ?? 0,
    bodyHead: (document.body?.innerText ?? "").slice(0, 2000),
  }
}
