// Updates the results while filters change, and lets the links to curves add to the selected submissions.

import { offerCopies } from "./copies.js";
import { filterAtOnce } from "./filtered_list.js";

const form = document.getElementById("results");

function showRenewed() {
  offerCopies(document.getElementById("downloads"));
  for (const chip of form.querySelectorAll(".chip")) chip.classList.toggle("none", chip.querySelector(".n")?.textContent === "0");
  offerComparisons();
}

/** Lets the links to the curves of a row add it to those that are selected. */
function offerComparisons() {
  const selected = [...form.querySelectorAll("[name=submission]:checked")].map(({ value }) => value);
  for (const link of form.querySelectorAll("a.curves")) {
    const url = new URL(link.href);
    const name = link.closest("tr").querySelector("[name=submission]").value;
    const isAdded = selected.length > 0 && !selected.includes(name);
    url.searchParams.delete("submission");
    for (const each of isAdded ? [...selected, name] : [name]) url.searchParams.append("submission", each);
    link.href = url;
    link.firstElementChild.textContent = isAdded ? "Compare" : "Curves";
  }
}

if (form) {
  filterAtOnce(form, { ticked: "submission", defaults: { sort: "round" }, onTicked: offerComparisons, onRenewed: showRenewed });
  offerComparisons();
}
