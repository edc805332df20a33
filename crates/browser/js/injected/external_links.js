// Links to other programs (`mailto:` and the like), which would open a prompt of the browser.

/** Addresses that a browser shows itself. All others are for other programs. */
const BROWSER_SCHEMES = new Set(["about", "blob", "brave", "chrome", "chrome-error", "chrome-extension", "chrome-search", "chrome-untrusted", "cid", "data", "devtools", "edge", "file", "filesystem", "ftp", "http", "https", "isolated-app", "javascript", "view-source"]);
/** Addresses that were to be opened in other programs, and that nobody has been told of yet. */
let blockedLinks = [];
const MAX_BLOCKED_LINKS = 5;

const isExternalScheme = (url) => {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url);
  return scheme !== null && !BROWSER_SCHEMES.has(scheme[1].toLowerCase());
};

/**
 * A browser asks a person before it hands an address to another program, and lets no mouse through to the page until it
 * is answered. Where nobody can answer it must not be asked. A person's own clicks are the person's.
 */
function blockExternalLink(event, url) {
  if (!isExternalScheme(url)) return;
  if (!globalThis.isHeadlessBrowser && action === null && performance.now() - lastActionEnd > AFTERMATH_MS) return;
  preventDefault.call(event);
  if (blockedLinks.length < MAX_BLOCKED_LINKS) blockedLinks.push(url.slice(0, 200));
  if (action !== null) action.changeCount++;
}
globalThis.navigation?.addEventListener("navigate", (event) => {
  blockExternalLink(event, event.destination.url);
  // A file is on its way. The browser tells of it when a server has answered.
  if (action !== null && event.downloadRequest !== null && !event.defaultPrevented) action.downloads++;
});
// What would come in a tab of its own leaves this one where it is.
addEventListener("click", (event) => {
  if (event.defaultPrevented) return;
  const link = composedPathOf.call(event).find((at) => at instanceof Element && matches.call(at, "a[href][target]"));
  if (link !== undefined) blockExternalLink(event, String(link.href));
});

/** Tells of each once. */
function takeBlockedLinks() {
  const links = blockedLinks;
  blockedLinks = [];
  return links;
}
