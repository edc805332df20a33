// Local storage of the page's origin: [origin, [[name, value] …], number of entries with lone surrogates].
(() => {
  const names = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index));
  const entries = names.map((name) => [name, localStorage.getItem(name)]);
  const whole = entries.filter(([name, value]) => name.isWellFormed() && value.isWellFormed());
  return [location.origin, whole, entries.length - whole.length];
})()
