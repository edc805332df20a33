// The innermost lab frame: one button, one count.

const result = document.querySelector('#sow-result');
let sown = 0;
document.querySelector('#sow').addEventListener('click', () => {
  result.textContent = `Seeds sown: ${++sown}`;
});
