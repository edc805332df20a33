// The minimum work of any snapshot: visit every node of the flat tree, read one style of each element,
// return the visible text. The cost of a snapshot is reported as a multiple of it.
(() => {
    const text = [];
    const children = (node) => {
        if (node.shadowRoot) return node.shadowRoot.childNodes;
        if (node.localName === 'slot') {
            const assigned = node.assignedNodes();
            if (assigned.length > 0) return assigned;
        }
        return null;
    };
    const visit = (node, isShown) => {
        if (node.nodeType === Node.TEXT_NODE) {
            if (isShown) text.push(node.data);
            return;
        }
        if (node.nodeType !== Node.ELEMENT_NODE) return;
        const shows = getComputedStyle(node).display !== 'none' && isShown;
        const special = children(node);
        if (special) {
            for (const child of special) visit(child, shows);
        } else {
            for (let child = node.firstChild; child; child = child.nextSibling) visit(child, shows);
        }
    };
    visit(document.documentElement, true);
    return text.join('');
})()
