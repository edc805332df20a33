// Writes entries to the local storage of an origin, if this document has it. Returns the reason for a failure, or "".
(origin, entries) => {
  if (location.origin !== origin) return "another origin answered";
  try {
    for (const [name, value] of entries) localStorage.setItem(name, value);
  } catch (error) {
    // Its message contains the value.
    return error.name;
  }
  return "";
}
