// What a page does beyond its forms: boxes ticked all at once, sliders, and a message that is said once.
"use strict";
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-tick]");
  if (!button) return;
  const boxes = document.querySelectorAll("#candidates input[type=checkbox]");
  for (const box of boxes) box.checked = button.dataset.tick === "all";
  if (boxes.length) boxes[0].dispatchEvent(new Event("input", { bubbles: true }));
});
// The target is no candidate: its box is not shown.
const target = document.querySelector("select#target");
if (target) {
  const spare = () => {
    for (const box of document.querySelectorAll("#candidates input[type=checkbox]")) {
      box.closest("li").hidden = box.value === target.value;
    }
  };
  target.addEventListener("change", spare);
  window.addEventListener("pageshow", spare);
  spare();
}
for (const part of document.querySelectorAll(".only-script")) part.hidden = false;
// A slider writes into the field above it, on a logarithmic scale where it says so, and follows that field.
for (const slider of document.querySelectorAll("input[data-slides]")) {
  const field = document.getElementById(slider.dataset.slides);
  const isLog = slider.dataset.scale === "log";
  const whole = field.inputMode === "numeric";
  const follow = () => {
    const value = Number(field.value || field.placeholder);
    if (value > 0) slider.value = isLog ? Math.log10(value) : value;
  };
  slider.addEventListener("input", () => {
    const value = isLog ? 10 ** slider.value : Number(slider.value);
    field.value = whole && !isLog ? value : Number(value.toPrecision(2));
  });
  field.addEventListener("input", follow);
  follow();
}
// What somebody has opened in the box of the cost stays open when the box follows the form.
const opened = new Set();
document.addEventListener("toggle", (event) => {
  const part = event.target.dataset.part;
  if (part) event.target.open ? opened.add(part) : opened.delete(part);
}, true);
document.addEventListener("htmx:afterSwap", () => {
  for (const part of document.querySelectorAll("details[data-part]")) part.open = opened.has(part.dataset.part);
});
const address = new URL(location.href);
if (address.searchParams.has("said")) {
  address.searchParams.delete("said");
  history.replaceState(null, "", address);
}
