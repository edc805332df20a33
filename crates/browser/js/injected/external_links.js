// Links to other programs (`mailto:` and the like), which would open a prompt of the browser.

/** Addresses that a browser shows itself. All others are for other programs. */
const SHOWN_SCHEMES = new Set(["about", "blob", "brave", "chrome", "chrome-error", "chrome-extension", "chrome-search", "chrome-untrusted", "cid", "data", "devtools", "edge", "file", "filesystem", "ftp", "http", "https", "isolated-app", "javascript", "view-source"]);
/** Addresses that were to be opened in other programs, and that nobody has been told of yet. */
let turnedAway = [];
const MOST_TURNED_AWAY = 5;

const isForeign = (url) => {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url);
  return scheme !== null && !SHOWN_SCHEMES.has(scheme[1].toLowerCase());
};

/**
 * A browser asks a person before it hands an address to another program, and lets no mouse through to the page until it
 * is answered. Where nobody can answer it must not be asked. A person's own clicks are the person's.
 */
function turnAway(event, url) {
  if (!isForeign(url)) return;
  if (!globalThis.isUnseenBrowser && deed === null && performance.now() - lastDeed > LATE_MS) return;
  preventDefault.call(event);
  if (turnedAway.length < MOST_TURNED_AWAY) turnedAway.push(url.slice(0, 200));
  if (deed !== null) deed.stirs++;
}
globalThis.navigation?.addEventListener("navigate", (event) => {
  turnAway(event, event.destination.url);
  // A file is on its way. The browser tells of it when a server has answered.
  if (deed !== null && event.downloadRequest !== null && !event.defaultPrevented) deed.downloads++;
});
// What would come in a tab of its own leaves this one where it is.
addEventListener("click", (event) => {
  if (event.defaultPrevented) return;
  const link = composedPathOf.call(event).find((at) => at instanceof Element && matches.call(at, "a[href][target]"));
  if (link !== undefined) turnAway(event, String(link.href));
});

/** Tells of each once. */
function tellTurnedAway() {
  const told = turnedAway;
  turnedAway = [];
  return told;
}
