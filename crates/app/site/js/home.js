// The product list: filtered and sorted in the page, and drawn in one of two ways.
//
// `?render=keyed` (default) moves each product's own row to its new place.
// `?render=recycled` keeps the rows where they are and rewrites what they show, as virtual lists do:
// the element that said "Camp Kettle" a moment ago now sells a lantern.

const filters = document.querySelector('#filters');
const list = document.querySelector('#products');
const resultCount = document.querySelector('#result-count');
const noResults = document.querySelector('#no-results');

const rows = [...list.children];
const products = rows.map((row) => ({
  row,
  original: row.cloneNode(true),
  text: row.textContent.toLowerCase(),
  name: row.querySelector('.card-name').textContent,
  category: row.dataset.category,
  price: Number(row.dataset.price),
  rating: Number(row.dataset.rating),
}));

const orders = {
  featured: () => 0,
  'price-up': (a, b) => a.price - b.price,
  'price-down': (a, b) => b.price - a.price,
  rating: (a, b) => b.rating - a.rating,
  name: (a, b) => a.name.localeCompare(b.name, 'en'),
};

const renderers = {
  keyed: (shown) => list.replaceChildren(...shown.map((product) => product.row)),
  recycled: (shown) => {
    shown.forEach((product, place) => patch(rows[place], product.original));
    rows.forEach((row, place) => (place < shown.length ? list.append(row) : row.remove()));
  },
};

const asked = new URLSearchParams(location.search).get('render');
const render = renderers[asked === 'recycled' ? 'recycled' : 'keyed'];

filters.addEventListener('input', update);
filters.addEventListener('submit', (event) => event.preventDefault());
setInterval(countOrder, 1500);

function update() {
  const { category, search, sort } = Object.fromEntries(new FormData(filters));
  const words = search.trim().toLowerCase();
  const shown = products
    .filter((product) => category === 'all' || product.category === category)
    .filter((product) => product.text.includes(words))
    .sort(orders[sort]);
  render(shown);
  resultCount.textContent = shown.length === 1 ? '1 good' : `${shown.length} goods`;
  noResults.hidden = shown.length > 0;
}

// Rows come from one template, so both trees have the same shape everywhere but in the drawing.
function patch(node, source) {
  for (const { name, value } of source.attributes) node.setAttribute(name, value);
  if (source.hasAttribute('data-art')) {
    node.innerHTML = source.innerHTML;
    return;
  }
  source.childNodes.forEach((child, place) => {
    const twin = node.childNodes[place];
    if (child.nodeType === Node.TEXT_NODE) twin.data = child.data;
    else patch(twin, child);
  });
}

function countOrder() {
  const counter = document.querySelector('#orders-today');
  counter.textContent = Number(counter.textContent) + 1;
}
