// What the page's origin keeps in its local storage: [origin, [[name, value] …], how many entries are no valid text].
(() => {
  const names = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index));
  const entries = names.map((name) => [name, localStorage.getItem(name)]);
  const whole = entries.filter(([name, value]) => name.isWellFormed() && value.isWellFormed());
  return [location.origin, whole, entries.length - whole.length];
})()
