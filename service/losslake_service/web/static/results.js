// Applies the filters of results at once, without a reload; selected submissions stay selected.

import { offerCopies } from "./copies.js";
import { renew } from "./renewal.js";

const DELAY_MS = 180;
const form = document.getElementById("results");
let waiting;
let request;

/** Returns the address of the page for the values of the form, without those that are empty or a default. */
function address() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value && !(name === "sort" && value === "round")) query.append(name, value);
  const text = query.toString();
  return new URL(text ? `/results?${text}` : "/results", location.href);
}

async function follow() {
  request?.abort();
  request = new AbortController();
  const url = address();
  try {
    await renew(url, request.signal);
    offerCopies(document.getElementById("downloads"));
    for (const chip of form.querySelectorAll(".chip")) chip.classList.toggle("none", chip.querySelector(".n")?.textContent === "0");
    offerComparisons();
    history.replaceState(null, "", url);
  } catch (error) {
    if (error.name === "AbortError") return;
    document.getElementById("count").textContent = `The results couldn't be loaded. ${error.message}`;
  }
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

form?.addEventListener("input", ({ target }) => {
  if (target.name === "submission") {
    offerComparisons();
    return;
  }
  clearTimeout(waiting);
  waiting = setTimeout(follow, target.type === "search" ? DELAY_MS : 0);
});

if (form) offerComparisons();

// Keep addresses short: the viewer needs only what is selected.
form?.addEventListener("submit", ({ submitter }) => {
  const isOpened = submitter?.hasAttribute("formaction");
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) {
      const isOmitted = isOpened ? !["submission", "release"].includes(name) : !value || (name === "sort" && value === "round");
      if (isOmitted) formData.delete(name);
    }
  }, { once: true });
});
