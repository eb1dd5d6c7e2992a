// Suggests workloads while words are typed into a search field: a combobox whose options open their pages.

import { element } from "./elements.js";

const DELAY_MS = 120;
const MOST = 8;

/** Offers suggestions at a search field, from the list of workloads of the release that the page shows. */
export function offerSuggestions(input) {
  const id = `${input.id}-suggestions`;
  const list = element("ul", { id, className: "suggestions", hidden: true, role: "listbox", "aria-label": "Workloads" });
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  const field = { input, list, at: -1, request: undefined, waiting: undefined };
  input.addEventListener("input", () => follow(field));
  input.addEventListener("keydown", (event) => press(field, event));
  input.addEventListener("blur", () => setTimeout(() => show(field, []), 200));
}

function follow(field) {
  clearTimeout(field.waiting);
  field.request?.abort();
  field.request = new AbortController();
  const words = field.input.value.trim();
  const { signal } = field.request;
  if (words) field.waiting = setTimeout(() => suggest(field, words, signal), DELAY_MS);
  else show(field, []);
}

async function suggest(field, words, signal) {
  const release = field.input.form.elements.release?.value;
  const query = new URLSearchParams({ q: words, limit: MOST, ...(release && { release }) });
  try {
    const response = await fetch(`/v1/workloads.json?${query}`, { signal });
    if (response.ok) show(field, (await response.json()).rows.map(({ workload }) => ({ workload, release })));
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

function show(field, matches) {
  field.at = -1;
  field.list.replaceChildren(...matches.map(({ workload, release }, place) => {
    const path = workload.split("/").map(encodeURIComponent).join("/");
    const onclick = () => location.assign(`/workloads/${path}${release ? `?release=${release}` : ""}`);
    return element("li", { id: `${field.list.id}-${place}`, role: "option", "aria-selected": "false", onclick }, workload);
  }));
  field.list.hidden = !matches.length;
  field.input.setAttribute("aria-expanded", String(matches.length > 0));
  field.input.removeAttribute("aria-activedescendant");
}

function press(field, event) {
  const options = [...field.list.children];
  if (event.key === "Escape" && options.length) {
    event.preventDefault();
    return show(field, []);
  }
  if (event.key === "Enter" && field.at >= 0) {
    event.preventDefault();
    options[field.at].click();
    return;
  }
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!move || !options.length) return;
  event.preventDefault();
  options[field.at]?.setAttribute("aria-selected", "false");
  field.at = (field.at + move + options.length) % options.length;
  options[field.at].setAttribute("aria-selected", "true");
  field.input.setAttribute("aria-activedescendant", options[field.at].id);
}
