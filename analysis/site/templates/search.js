"use strict";
const form = document.getElementById("search");
const entries = [...document.querySelectorAll(".entries li")];
function search() {
  const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const one of entries) {
    const text = one.textContent.toLowerCase();
    one.hidden = !words.every((word) => text.includes(word));
    shown += !one.hidden;
  }
  for (const section of document.querySelectorAll("main section"))
    section.hidden = !section.querySelector("li:not([hidden])");
  form.querySelector("output").textContent = `${shown} of ${entries.length}`;
  history.replaceState(null, "", words.length ? `?text=${encodeURIComponent(form.elements.text.value)}` : location.pathname);
}
form.elements.text.value = new URLSearchParams(location.search).get("text") || "";
form.addEventListener("input", search);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
search();
