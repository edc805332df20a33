// On every page: adding to the cart without leaving the page.
// A form marked `data-add` still works as a plain form when this module does not run.

const status = document.querySelector('#cart-status');
const count = document.querySelector('#cart-count');
let hiding;

document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (!form.matches('[data-add]')) return;
  event.preventDefault();
  const reply = await fetch(form.action, {
    method: 'POST',
    headers: { accept: 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(new FormData(form)),
  });
  if (!reply.ok) return announce('That could not be added');
  const { added, items } = Object.fromEntries(new URLSearchParams(await reply.text()));
  count.textContent = items;
  announce(`${added} added, ${items} in cart`);
});

// The text stays after the toast fades, so a reader arriving late still finds it.
function announce(text) {
  status.textContent = text;
  status.classList.add('is-shown');
  clearTimeout(hiding);
  hiding = setTimeout(() => status.classList.remove('is-shown'), 4000);
}
