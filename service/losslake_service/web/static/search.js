// Suggests pages, documents, results and workloads while words are typed into a search field: a combobox whose options
// open them.

import { element } from "./elements.js";

const DELAY_MS = 120;

/** Offers suggestions at a search field, of the release that the page shows. */
export function offerSuggestions(input) {
  const id = `${input.id}-suggestions`;
  const list = element("ul", { id, className: "suggestions", hidden: true, role: "listbox", "aria-label": "Suggestions" });
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  const field = { input, list, at: -1, request: undefined, waiting: undefined };
  input.addEventListener("input", () => follow(field));
  input.addEventListener("keydown", (event) => press(field, event));
  input.addEventListener("blur", () => setTimeout(() => show(field, []), 200));
  list.addEventListener("click", (event) => open(event.target.closest("[role=option]")));
  // Words that were typed before this script was there.
  if (document.activeElement === input) follow(field);
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
  const query = new URLSearchParams({ q: words, ...(release && { release }) });
  try {
    const response = await fetch(`/suggestions?${query}`, { signal, headers: { accept: "text/html" } });
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    show(field, [...page.querySelectorAll("[role=option]")]);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

function show(field, options) {
  field.at = -1;
  options.forEach((option, place) => (option.id = `${field.list.id}-${place}`));
  field.list.replaceChildren(...options);
  field.list.hidden = !options.length;
  field.input.setAttribute("aria-expanded", String(options.length > 0));
  field.input.removeAttribute("aria-activedescendant");
}

function open(option) {
  if (option) location.assign(option.dataset.url);
}

function press(field, event) {
  const options = [...field.list.children];
  if (event.key === "Escape" && options.length) {
    event.preventDefault();
    return show(field, []);
  }
  if (event.key === "Enter" && field.at >= 0) {
    event.preventDefault();
    return open(options[field.at]);
  }
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!move || !options.length) return;
  event.preventDefault();
  options[field.at]?.setAttribute("aria-selected", "false");
  field.at = field.at < 0 && move < 0 ? options.length - 1 : (field.at + move + options.length) % options.length;
  options[field.at].setAttribute("aria-selected", "true");
  field.input.setAttribute("aria-activedescendant", options[field.at].id);
}
