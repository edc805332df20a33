// Links to other programs (`mailto:` and the like), which would open a prompt of the browser.

/** URL schemes that a browser handles itself. All others open other programs. */
const BROWSER_SCHEMES = new Set(["about", "blob", "brave", "chrome", "chrome-error", "chrome-extension", "chrome-search", "chrome-untrusted", "cid", "data", "devtools", "edge", "file", "filesystem", "ftp", "http", "https", "isolated-app", "javascript", "view-source"]);
/** Blocked links that have not been reported yet. */
let blockedLinks = [];
const MAX_BLOCKED_LINKS = 5;

const isExternalScheme = (url) => {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url);
  return scheme !== null && !BROWSER_SCHEMES.has(scheme[1].toLowerCase());
};

/**
 * Blocks a navigation to another program. The browser would show a prompt and block pointer input to the page until it
 * is answered; in a headless browser nobody can. A person's own clicks go through.
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
  // Download request. The browser reports it when a server has answered.
  if (action !== null && event.downloadRequest !== null && !event.defaultPrevented) action.downloads++;
});
// A link to a new tab does not navigate this one.
addEventListener("click", (event) => {
  if (event.defaultPrevented) return;
  const link = composedPathOf.call(event).find((at) => at instanceof Element && matches.call(at, "a[href][target]"));
  if (link !== undefined) blockExternalLink(event, String(link.href));
});

/** Returns blocked links, each once. */
function takeBlockedLinks() {
  const links = blockedLinks;
  blockedLinks = [];
  return links;
}
