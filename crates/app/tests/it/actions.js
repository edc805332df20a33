// Injected into the shop by the test of random actions: assigns a key to every element, records the elements that
// events reach, and re-renders parts of the page at random moments.
(() => {
  if (window.truth) return;
  let last = 0;
  const SEEN = "a, button, input, select, textarea, summary, label, [role], [tabindex], [onclick]";
  const stamp = () => {
    for (const el of document.querySelectorAll(SEEN)) if (!el.dataset.key) el.dataset.key = `k${++last}-${performance.timeOrigin}`;
  };
  const byKey = (key) => document.querySelector(`[data-key="${key}"]`);
  const plain = (text) => text.replace(/\d+/g, "0").replace(/\s+/g, " ").trim();
  // Name and link target of the element, and the name of its row.
  const wordsOf = (el) => {
    const around = el.closest("tr, li, article, [role=row], [role=listitem]");
    const row = around && around.textContent.length < 400 ? around : null;
    const named = row && [...row.querySelectorAll("h1, h2, h3, h4, a, th, td, strong")].find((it) => it.textContent.trim());
    const label = el.labels && el.labels[0] ? el.labels[0].textContent : "";
    const own = [el.localName === "select" ? "" : el.textContent, el.getAttribute("aria-label"), el.getAttribute("href"), label, named ? named.textContent : ""];
    return plain(own.join("|").slice(0, 300));
  };
  const isThere = (el) => el !== null && el.checkVisibility() && el.getBoundingClientRect().width > 0;
  window.stampAll = () => (stamp(), 1);
  window.truth = (key) => (isThere(byKey(key)) ? wordsOf(byKey(key)) : null);
  const log = (event) => {
    if (!event.isTrusted) return;
    // A press on a label counts as a press on its control.
    const whole = event.composedPath().flatMap((it) => (it instanceof HTMLLabelElement && it.control ? [it, it.control] : [it]));
    const path = whole.filter((it) => it instanceof Element && it.dataset && it.dataset.key);
    const all = JSON.parse(sessionStorage.reached || "[]");
    all.push({ type: event.type, path: path.map((el) => [el.dataset.key, wordsOf(el)]) });
    sessionStorage.reached = JSON.stringify(all.slice(-20));
  };
  for (const type of ["mousedown", "click", "input"]) addEventListener(type, log, true);
  window.reached = () => { const all = sessionStorage.reached || "[]"; sessionStorage.reached = "[]"; return JSON.parse(all); };

  const changes = {
    nothing() {},
    shift() { document.body.insertAdjacentHTML("afterbegin", `<p>Notice ${Math.floor(Math.random() * 90)}</p>`); },
    twin(el) { const copy = el.cloneNode(true); delete copy.dataset.key; el.replaceWith(copy); stamp(); },
    relabel(el) { if (el.firstChild && el.firstChild.nodeType === 3) el.firstChild.data = "Delete account"; else el.setAttribute("aria-label", "Delete account"); },
    reorder(el) { const box = el.closest("ul, ol, tbody, section, div"); if (box && box.children.length > 1) box.prepend(box.lastElementChild); },
    recycle(el) {
      const row = el.closest("li, tr, article");
      const other = row && (row.nextElementSibling || row.previousElementSibling);
      if (!row || !other) return;
      // Like lists that recycle row elements for other records.
      const texts = (it) => [...it.querySelectorAll("*")].filter((inner) => inner.children.length === 0 && inner.textContent.trim() !== "");
      const [one, two] = [texts(row), texts(other)];
      one.forEach((it, at) => { if (two[at]) [it.textContent, two[at].textContent] = [two[at].textContent, it.textContent]; });
    },
    remove(el) { el.remove(); },
    cover() {
      const veil = document.createElement("div");
      veil.style = "position:fixed;inset:0;z-index:99999";
      document.body.append(veil);
      setTimeout(() => veil.remove(), 120);
    },
    rerender(el) { const box = el.parentElement; if (box && box !== document.body) { const copy = box.cloneNode(true); for (const it of copy.querySelectorAll("[data-key]")) delete it.dataset.key; box.replaceWith(copy); stamp(); } },
  };
  window.kinds = () => Object.keys(changes);
  /** Does one of these to an element, now or in a moment. */
  window.upset = (kind, key, ms) => {
    const go = () => { const el = byKey(key); if (el) changes[kind](el); };
    if (ms < 0) go();
    else setTimeout(go, ms);
    return 1;
  };
})();
