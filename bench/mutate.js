// Changes the text of one element and returns its tag: a visible heading, or the closest substitute for one.
// Called with a number, so that a snapshot can be checked for this very change.
(number) => {
    const firstText = (element) => {
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        for (let text = walker.nextNode(); text; text = walker.nextNode()) {
            if (text.data.trim() !== '') return text;
        }
        return null;
    };
    const range = document.createRange();
    const isSeen = (text) => {
        const parent = text.parentElement;
        if (!parent.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
        if (parent.closest('[aria-hidden="true"], [inert], [aria-label], [aria-labelledby]')) return false;
        range.selectNodeContents(text);
        const box = range.getBoundingClientRect();
        return box.width > 4 && box.height > 4 && box.right > 0 && box.bottom > 0;
    };
    const isPlain = (text) => !text.parentElement.closest('a, button, label, summary');
    const candidates = (selector) =>
        [...document.querySelectorAll(selector)]
            .map((element) => ({ element, text: firstText(element) }))
            .filter(({ text }) => text && isSeen(text));
    for (const selector of ['h1, h2, h3, h4, h5, h6', 'li, p, td, dd', 'body *']) {
        const found = candidates(selector);
        const one = found.find(({ text }) => isPlain(text)) ?? found[0];
        if (one) {
            one.text.data = `Heading no. ${number} changed`;
            return one.element.localName;
        }
    }
    throw new Error('nothing on this page can be changed');
}
