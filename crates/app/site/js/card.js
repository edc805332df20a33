// The card frame: checks the form, asks the shop to place the order, shows the answer.

const form = document.querySelector('#card-form');
const pay = document.querySelector('#pay');
const error = document.querySelector('#card-error');
const shopOrigin = document.body.dataset.shopOrigin;

const checks = [
  ['number', /^\d{12,19}$/, 'Check the card number'],
  ['expiry', /^(0[1-9]|1[0-2])\/?\d\d$/, 'Check the expiry date'],
  ['cvc', /^\d{3,4}$/, 'Check the CVC'],
];

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const wrong = checks.filter(([name, shape]) => !shape.test(digits(name)));
  for (const [name] of checks) {
    form.elements[name].setAttribute('aria-invalid', wrong.some(([other]) => other === name));
  }
  error.textContent = wrong[0]?.[2] ?? '';
  if (wrong.length) return form.elements[wrong[0][0]].focus();
  pay.disabled = true;
  parent.postMessage({ kind: 'pay', lastDigits: digits('number').slice(-4) }, shopOrigin);
});

addEventListener('message', (event) => {
  if (event.origin !== shopOrigin || event.data?.kind !== 'paid') return;
  pay.disabled = false;
  if (event.data.ok) form.reset();
});

function digits(name) {
  return form.elements[name].value.replace(/\s/g, '');
}
