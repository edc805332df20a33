// Puts entries into the local storage of an origin, if this is it. Returns why not, or nothing.
(origin, entries) => {
  if (location.origin !== origin) return "another origin answered";
  try {
    for (const [name, value] of entries) localStorage.setItem(name, value);
  } catch (error) {
    // Its message names what was to be written.
    return error.name;
  }
  return "";
}
