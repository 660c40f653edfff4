"use strict";
const form = document.getElementById("filters");
const claims = [...document.querySelectorAll(".claim")];
const fields = ["paper", "verdict", "lacks", "text"];
function apply() {
  const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const claim of claims) {
    const text = claim.querySelector("summary").textContent.toLowerCase();
    const fits = ["paper", "verdict", "lacks"].every(
      (name) => !form.elements[name].value || claim.dataset[name] === form.elements[name].value
    ) && words.every((word) => text.includes(word));
    claim.hidden = !fits;
    shown += fits;
  }
  for (const section of document.querySelectorAll("main section"))
    section.hidden = !section.querySelector(".claim:not([hidden])");
  form.querySelector("output").textContent = `${shown} of ${claims.length}`;
  const query = new URLSearchParams(fields.map((name) => [name, form.elements[name].value]).filter((pair) => pair[1]));
  history.replaceState(null, "", (query.size ? `?${query}` : location.pathname) + location.hash);
}
const asked = new URLSearchParams(location.search);
for (const name of fields) if (asked.has(name)) form.elements[name].value = asked.get(name);
const linked = location.hash && document.getElementById(location.hash.slice(1));
if (linked instanceof HTMLDetailsElement) linked.open = true;
form.addEventListener("input", apply);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
apply();
