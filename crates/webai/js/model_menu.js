// Reads the open menu of models and the button that opens it. Labels are for the caller only; nothing is touched.
({ items, pickers }) => {
  const isVisible = (it) => {
    const box = it.getBoundingClientRect()
    return box.width > 0 && box.height > 0 && it.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  }
  const select = (selectors) => {
    const found = new Set()
    for (const selector of selectors) {
      try {
        for (const it of document.querySelectorAll(selector)) found.add(it)
      } catch {
        continue
      }
    }
    return [...found].filter(isVisible)
  }
  const text = (it) => (it.innerText ?? it.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 200)
  const isOn = (it) => ["aria-checked", "aria-selected", "aria-current"].some((name) => it.getAttribute(name) === "true") ||
    it.dataset.state === "checked" || it.querySelector('[aria-checked="true"]') !== null
  return {
    items: select(items).map((it) => ({
      text: text(it),
      role: it.getAttribute("role") ?? "button",
      testId: it.dataset.testid ?? it.dataset.testId ?? "",
      active: isOn(it),
      disabled: it.getAttribute("aria-disabled") === "true" || it.hasAttribute("disabled"),
    })),
    pickers: select(pickers).map((it) => ({ text: text(it), label: it.getAttribute("aria-label") ?? "" })),
  }
}
