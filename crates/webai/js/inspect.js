// Reads what a chat app shows, without touching it: counts and visibility of selectors, by key. Only counts, tags and
// addresses leave the page, never its texts.
({ features, skeletons, skeletonLimit }) => {
  const HAS_TEXT = /^(.*):has-text\("([^]*)"\)$/

  // The document and its open shadow trees, at any depth.
  const roots = [document]
  for (const root of roots) {
    for (const it of root.querySelectorAll("*")) if (it.shadowRoot) roots.push(it.shadowRoot)
  }

  const select = (selector) => {
    const [, css, text] = HAS_TEXT.exec(selector) ?? [null, selector, null]
    const all = roots.flatMap((root) => [...root.querySelectorAll(css)])
    const holds = (it) => it.textContent.toLowerCase().includes(text.toLowerCase())
    return text === null ? all : all.filter(holds)
  }

  const isHidden = (it) => it.closest("[aria-hidden=true], [inert]") !== null

  // The element at a point, through open shadow trees.
  const hitAt = (x, y) => {
    let hit = document.elementFromPoint(x, y)
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y)
      if (!inner || inner === hit) break
      hit = inner
    }
    return hit
  }

  const contains = (outer, inner) => {
    for (let it = inner; it; it = it.parentNode ?? it.host) if (it === outer) return true
    return false
  }

  // Something else is in front of every point that was tried. What is out of view is not covered.
  const isCovered = (it, { left, top, width, height }) => {
    const shares = [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.2], [0.5, 0.8]]
    const points = shares
      .map(([x, y]) => [left + width * x, top + height * y])
      .filter(([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight)
    return points.length > 0 && points.every(([x, y]) => {
      const hit = hitAt(x, y)
      return hit !== null && !contains(it, hit) && !contains(hit, it)
    })
  }

  const isVisible = (it) => {
    if (!it.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false
    const box = it.getBoundingClientRect()
    return box.width > 0 && box.height > 0 && !isHidden(it) && !isCovered(it, box)
  }

  const count = (selector) => {
    try {
      const all = select(selector)
      return { selector, matched: all.length, visible: all.slice(0, 10).some(isVisible) }
    } catch {
      return { selector, matched: 0, visible: false, invalid: true }
    }
  }

  const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])

  // The tags of the first element that matches, without attributes and texts.
  const skeleton = (selectors) => {
    for (const selector of selectors) {
      let found
      try {
        found = select(selector)[0]
      } catch {
        continue
      }
      if (!found) continue
      let text = ""
      const write = (it) => {
        if (text.length > skeletonLimit) return
        text += `<${it.localName}>`
        for (const child of it.children) write(child)
        if (!VOID.has(it.localName)) text += `</${it.localName}>`
      }
      write(found)
      return text
    }
    return null
  }

  const mapped = (all, made) => Object.fromEntries(Object.entries(all).map(([key, value]) => [key, made(value)]))
  return {
    features: mapped(features, (selectors) => selectors.map(count)),
    skeletons: mapped(skeletons, skeleton),
  }
}
