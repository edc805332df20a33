// Page info after a navigation: [URL, title, HTTP status or 0].
[location.href, document.title, performance.getEntriesByType("navigation")[0]?.responseStatus ?? 0]
