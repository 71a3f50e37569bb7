// What a page does beyond its forms: boxes ticked all at once, and a message that is said once.
"use strict";
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-tick]");
  if (!button) return;
  const boxes = document.querySelectorAll("#candidates input[type=checkbox]");
  for (const box of boxes) box.checked = button.dataset.tick === "all";
  if (boxes.length) boxes[0].dispatchEvent(new Event("input", { bubbles: true }));
});
for (const part of document.querySelectorAll(".only-script")) part.hidden = false;
const address = new URL(location.href);
if (address.searchParams.has("said")) {
  address.searchParams.delete("said");
  history.replaceState(null, "", address);
}
