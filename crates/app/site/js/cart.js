// Two ways of asking first: a native modal dialog, and the browser's own confirm().

const dialog = document.querySelector('#clear-dialog');
document.querySelector('#clear-cart')?.addEventListener('click', () => dialog.showModal());

document.querySelector('#empty-saved-form')?.addEventListener('submit', (event) => {
  if (!confirm('Empty your saved items? This cannot be undone.')) event.preventDefault();
});
