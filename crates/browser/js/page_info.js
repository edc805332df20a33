// What a caller wants to know of a page on arrival: [address, title, HTTP status or 0].
[location.href, document.title, performance.getEntriesByType("navigation")[0]?.responseStatus ?? 0]
