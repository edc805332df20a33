// The door: what can be asked of this world from outside. Everything else stays inside.

Object.defineProperty(globalThis, "agbrowse", {
  value: Object.freeze({
    observe,
    dirtied,
    isSpoiled,
    element: elementOf,
    elements: (wanted) => wanted.map(elementOf),
    numbers: (...nodes) => remember(nodes).join(),
    hears: (...nodes) => hears(nodes),
    hosts: nextHosts,
    /** Takes in a closed shadow root. */
    reveal(...roots) {
      for (const root of roots) {
        closedRoots.set(root.host, root);
        closedCount++;
        noteDeepChange(root.host);
      }
      spoil();
    },
    /** What a walk went through: the document and the shadow trees in it. */
    trees: () => [document, ...shadows],
    learnSheet,
    shape,
    find: findTargets,
    read: readElement,
    secrets,
    corner: cornerOf,
    ready,
    behind,
    kept,
    settle,
    sign,
    stir,
    changed,
    hasChanged,
    path,
    over,
    release,
    /** Whether events are kept from anything now. */
    isGuarding: () => deed !== null && deed.lease > 0 && deed.guard !== "",
    beginBeside,
    beginAnywhere,
    through,
    at: elementAt,
    notePicture,
    seenParts,
    prepare,
    selectAll,
    paste,
    compare: compareValue,
    choose,
    scroll: scrollWith,
    focus: focusElement,
    hide: hideValue,
    heedFiles,
    countFiles,
    emptyFiles,
    cancelFiles,
    fileInputs,
    /** Whoever acts is still there. */
    renew: () => { renewLease(); return deed !== null; },
    focused: focusedField,
    sameControl,
    frames,
    rest,
    fact: (number) => { const el = elementOf(number); return el === null ? null : factOf(el); },
    isConnected: (number) => { const el = elementOf(number); return el !== null && isConnectedOf.call(el); },
  }),
});

if (document.readyState === "loading") addEventListener("DOMContentLoaded", watchEffects, { once: true });
else watchEffects();

// Not in every frame: most of them are never looked at.
if (globalThis === top && document.readyState === "loading") {
  addEventListener("DOMContentLoaded", () => {
    rehearse(40);
    rehearseLater();
    // After those of ours that note what moved.
    addEventListener("load", () => {
      rehearse(35);
      hushedUntil = performance.now() + HUSH;
    }, { once: true, capture: true });
  }, { once: true });
}
