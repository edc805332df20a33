// Two custom elements: `<fern-stepper>` with an open shadow root, `<fern-dial>` with a closed one.
// Custom properties reach through a shadow root, so both wear the shop's colours.

const look = `
  :host { display: inline-flex; }
  div { display: inline-flex; align-items: center; gap: 6px; padding: 5px; border: 1px solid var(--edge); border-radius: 999px; }
  button { min-width: 40px; height: 40px; padding: 0 16px; border: 0; border-radius: 999px; background: var(--leaf-soft); color: var(--ink); font: 600 1rem/1 var(--text); cursor: pointer; }
  button:hover { background: var(--fern); color: var(--on-fern); }
  button:disabled { opacity: .45; cursor: not-allowed; }
  button:focus-visible { outline: 3px solid var(--gold); outline-offset: 2px; }
  output { min-width: 2.2em; padding: 0 8px; text-align: center; font-weight: 600; font-variant-numeric: tabular-nums; }
`;

class FernStepper extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const root = this.attachShadow({ mode: 'open' });
    root.innerHTML = `<style>${look}</style><div role="group"><button type="button" aria-label="Fewer">−</button><output></output><button type="button" aria-label="More">+</button></div>`;
    root.querySelector('div').setAttribute('aria-label', this.getAttribute('label') ?? 'Amount');
    const [fewer, more] = root.querySelectorAll('button');
    fewer.addEventListener('click', () => this.step(-1));
    more.addEventListener('click', () => this.step(1));
    this.value = this.number('value', 1);
    this.show();
  }

  step(by) {
    this.value += by;
    this.show();
    this.dispatchEvent(new CustomEvent('change', { detail: this.value, bubbles: true }));
  }

  show() {
    const [fewer, more] = this.shadowRoot.querySelectorAll('button');
    this.shadowRoot.querySelector('output').textContent = this.value;
    fewer.disabled = this.value <= this.number('min', 0);
    more.disabled = this.value >= this.number('max', 99);
  }

  number(name, otherwise) {
    return this.hasAttribute(name) ? Number(this.getAttribute(name)) : otherwise;
  }
}

class FernDial extends HTMLElement {
  #points = ['north', 'east', 'south', 'west'];
  #root;

  connectedCallback() {
    if (this.#root) return;
    this.#root = this.attachShadow({ mode: 'closed' });
    this.#root.innerHTML = `<style>${look}</style><div><button type="button">Turn the dial</button><output>north</output></div>`;
    this.#root.querySelector('button').addEventListener('click', () => this.#turn());
  }

  #turn() {
    this.#points.push(this.#points.shift());
    this.#root.querySelector('output').textContent = this.#points[0];
    this.dispatchEvent(new CustomEvent('change', { detail: this.#points[0], bubbles: true }));
  }
}

customElements.define('fern-stepper', FernStepper);
customElements.define('fern-dial', FernDial);
