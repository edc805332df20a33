// Keeps the price next to the button in step with the chosen size and quantity.

const form = document.querySelector('#buy-form');
const price = document.querySelector('#price');

form.addEventListener('input', showPrice);
showPrice();

function showPrice() {
  const size = form.querySelector('input[name=size]:checked');
  const quantity = Math.max(1, form.elements.quantity.valueAsNumber || 1);
  price.value = `$${((Number(size.dataset.cents) * quantity) / 100).toFixed(2)}`;
}
