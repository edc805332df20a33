// Files for a field: how many it takes, how many it was given, and how to say that nobody chose any.

const isMultipleOf = getter(HTMLInputElement.prototype, "multiple");
const filesOf = getter(HTMLInputElement.prototype, "files");

/** How many files fields held when their page was told. A page may take them out at once. */
const receivedFiles = new WeakMap();

/** Whether a field takes several files, or null for what takes none. From here on it is heeded what it is given. */
function watchFileInput(el) {
  if (localNameOf.call(el) !== "input" || inputTypeOf.call(el) !== "file") return null;
  receivedFiles.delete(el);
  const note = (event) => {
    if (!receivedFiles.has(el)) receivedFiles.set(el, filesOf.call(el).length);
    // Of a field that is in no document nobody else hears.
    if (action !== null) action.eventTypes.add(event.type);
    recordInput(event);
  };
  for (const name of ["input", "change"]) addListener.call(el, name, note, { capture: true, once: true });
  return { isMultiple: isMultipleOf.call(el) };
}

/** How many files a field was given, and how many it holds now. */
function fileCounts(el) {
  const held = filesOf.call(el).length;
  return { given: receivedFiles.get(el) ?? held, held };
}

/** Takes the files out of a field. */
function clearFiles(el) {
  if (filesOf.call(el).length === 0) return;
  setInputValue.call(el, "");
  dispatchEvents(el, "input", "change");
}

/** What a page hears when a person closes the chooser of a field. */
const cancelFileChooser = (el) => dispatchEvents(el, "cancel");

/** The file inputs that a selector matches, also in shadow trees; for what is no selector, none. */
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
