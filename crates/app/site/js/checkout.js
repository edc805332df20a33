// The card form lives in a frame from another origin and only ever says "pay".
// This side checks the address, places the order and tells the frame how it went.

const checkout = document.querySelector('#checkout');
const address = document.querySelector('#address-form');
const error = document.querySelector('#checkout-error');
const placed = document.querySelector('#order-placed');
const payOrigin = checkout.dataset.payOrigin;

address.addEventListener('submit', (event) => event.preventDefault());

addEventListener('message', async (event) => {
  if (event.origin !== payOrigin || event.data?.kind !== 'pay') return;
  const problem = await placeOrder(event.data.lastDigits);
  error.textContent = problem ?? '';
  error.hidden = !problem;
  event.source.postMessage({ kind: 'paid', ok: !problem }, payOrigin);
});

// Returns what went wrong, or nothing when the order stands.
async function placeOrder(lastDigits) {
  if (!address.reportValidity()) return 'Complete the delivery details first, then press Pay again.';
  const reply = await fetch('/orders', { method: 'POST', body: new URLSearchParams(new FormData(address)) });
  if (!reply.ok) return 'The order could not be placed. Your card was not charged.';
  show(Object.fromEntries(new URLSearchParams(await reply.text())), lastDigits);
}

function show({ order, total, name }, lastDigits) {
  document.querySelector('#order-number').textContent = order;
  document.querySelector('#order-summary').textContent = `Thank you, ${name}. ${total} on the card ending in ${lastDigits}.`;
  document.querySelector('#cart-count').textContent = '0';
  checkout.hidden = true;
  placed.hidden = false;
  document.querySelector('#placed-title').focus();
}
