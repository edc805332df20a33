// File inputs: accepted count, received files, clearing, and cancelling the chooser.

const isMultipleOf = getter(HTMLInputElement.prototype, "multiple");
const filesOf = getter(HTMLInputElement.prototype, "files");

/** Number of files in an input when its event was dispatched. A page may clear it at once. */
const receivedFiles = new WeakMap();

/** Starts to record the files that an input receives. Returns whether it takes several; null for other elements. */
function watchFileInput(el) {
  if (localNameOf.call(el) !== "input" || inputTypeOf.call(el) !== "file") return null;
  receivedFiles.delete(el);
  const onFiles = (event) => {
    if (!receivedFiles.has(el)) receivedFiles.set(el, filesOf.call(el).length);
    // Events of an input outside the document reach no other listener.
    if (action !== null) action.eventTypes.add(event.type);
    recordInput(event);
  };
  for (const name of ["input", "change"]) addListener.call(el, name, onFiles, { capture: true, once: true });
  return { isMultiple: isMultipleOf.call(el) };
}

/** Number of files that an input received, and that it holds now. */
function fileCounts(el) {
  const held = filesOf.call(el).length;
  return { given: receivedFiles.get(el) ?? held, held };
}

/** Clears a file input. */
function clearFiles(el) {
  if (filesOf.call(el).length === 0) return;
  setInputValue.call(el, "");
  dispatchEvents(el, "input", "change");
}

/** Dispatches the event of a dismissed file chooser. */
const cancelFileChooser = (el) => dispatchEvents(el, "cancel");

/** File inputs that a selector matches, also in shadow trees; none for an invalid selector. */
function fileInputs(selector) {
  const ids = findBySelector(selector);
  const found = ids ? ids.split(",").map((id) => elementOf(Number(id))) : [];
  return found.filter((el) => localNameOf.call(el) === "input" && inputTypeOf.call(el) === "file").map((el) => {
    const label = [...(el.labels || [])].map((label) => textContentOf.call(label)).join(" ");
    const name = attributeOf.call(el, "aria-label") || label || attributeOf.call(el, "title") || attributeOf.call(el, "name") || "";
    return { id: idOf(el), name: collapseSpace(name.slice(0, 200)), isDisabled: matches.call(el, ":disabled"),
      isShown: reportedIds.includes(idOf(el)) };
  });
}
