// The API of this world: functions that Rust calls. Everything else is private.

Object.defineProperty(globalThis, "agbrowse", {
  value: Object.freeze({
    // Observation.
    observe,
    whenDirty,
    isDirty,
    elements: (ids) => ids.map(elementOf),
    ids: (...nodes) => assignIds(nodes).join(),
    addListenerTargets: (...nodes) => addListenerTargets(nodes),
    nextShadowHosts,
    attachClosedRoots(...roots) {
      for (const root of roots) {
        closedRoots.set(root.host, root);
        closedCount++;
        markSubtreeChanged(root.host);
      }
      markDirty();
    },
    /** The document and the shadow roots that the last walk went through. */
    trees: () => [document, ...shadows],
    supplyStylesheet,
    tagSkeleton,
    findBySelector,
    readElement,
    secretValues,
    frameContentOrigin,
    // Actions.
    checkAndArm,
    modalInFrontOf,
    ariaHiddenPoint,
    settle,
    firstEffect,
    nextChange,
    whenChanged,
    hasChanged,
    eventPath,
    endAction,
    releaseGuard,
    isGuarding: () => action !== null && action.lease > 0 && action.guard !== "",
    beginInAncestor,
    beginUntargeted,
    renewLease: () => { renewLease(); return action !== null; },
    mapPointThroughFrame,
    elementAt,
    recordScreenshotTargets,
    visibleRects,
    controlState: (id) => { const el = elementOf(id); return el === null ? null : controlState(el); },
    commonControl,
    nextTwoFrames,
    waitForQuietDom,
    // Fields.
    prepareFill,
    selectAll,
    paste,
    compareValue,
    selectOptions,
    scrollElement,
    focusElement,
    focusedElement,
    markSecret,
    watchFileInput,
    fileCounts,
    clearFiles,
    cancelFileChooser,
    fileInputs,
  }),
});

if (document.readyState === "loading") addEventListener("DOMContentLoaded", observeEffects, { once: true });
else observeEffects();

// Not in frames: most of them are never observed.
if (globalThis === top && document.readyState === "loading") {
  addEventListener("DOMContentLoaded", () => {
    prewalk(40);
    schedulePrewalk();
    // After our own listeners for layout shifts.
    addEventListener("load", () => {
      prewalk(35);
      prewalkPausedUntil = performance.now() + LOAD_PAUSE_MS;
    }, { once: true, capture: true });
  }, { once: true });
}
