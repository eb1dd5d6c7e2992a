// The live figure of the regimes: another workload or another target, without leaving the page.

import { pageAt } from "./answers.js";
import { liven } from "./chart.js";
import { offerCopies } from "./copies.js";
import { renewChart } from "./renewal.js";
import { offerSlider } from "./target_slider.js";

const OF_GOAL = ["metric", "target", "direction"];
let loading;

/** Activates the picker of workloads, and the slider of a figure once its stops are loaded. */
export function offerLiveFigure(section) {
  const input = section.querySelector(".picker input");
  const names = [...section.querySelectorAll(".picker option")].map((option) => option.value);
  let before = input.value;
  // A browser lists only what contains the text of the field, so that it is empty while one chooses.
  input.addEventListener("focus", () => {
    before = input.value || before;
    input.placeholder = before;
    input.value = "";
  });
  input.addEventListener("blur", () => {
    input.value = before;
    input.setCustomValidity("");
  });
  const choose = () => {
    const chosen = matchOf(input.value, names);
    input.setCustomValidity(chosen || !input.value ? "" : "No workload has these words.");
    if (!chosen) input.reportValidity();
    else if (chosen !== before) showWorkload(section, chosen);
  };
  input.addEventListener("input", () => {
    input.setCustomValidity("");
    if (names.includes(input.value)) choose();
  });
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose();
  });
  return offerSlider(section.querySelector(".slide"), (target, signal) => rest(section, target, signal));
}

/** Puts the figure at an address in the place of an element; isReady: a promise of its slider. */
export async function placeLiveFigure(place, address, signal) {
  const section = await sectionAt(address, signal);
  const form = place.querySelector("form");
  if (form) section.querySelector("form").action = form.action;
  place.replaceWith(section);
  for (const figure of section.querySelectorAll("figure.chart")) liven(figure);
  offerCopies(section);
  return { section, isReady: offerLiveFigure(section) };
}

/** Returns the name that is or has all words of a text; undefined for none. */
function matchOf(text, names) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (names.includes(text)) return text;
  return words.length ? names.find((name) => words.every((word) => name.toLowerCase().includes(word))) : undefined;
}

async function showWorkload(section, workload) {
  const address = new URL(section.dataset.address, location.href);
  for (const name of OF_GOAL) address.searchParams.delete(name);
  address.searchParams.set("workload", workload);
  section.classList.add("stale");
  loading?.abort();
  loading = new AbortController();
  const input = section.querySelector(".picker input");
  try {
    const { section: shown, isReady } = await placeLiveFigure(section, address, loading.signal);
    remember(shown);
    await isReady;
    // The focus was in the field that was replaced.
    if (document.activeElement === document.body) shown.querySelector(".slide input")?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name === "AbortError") return;
    section.classList.remove("stale");
    input.setCustomValidity(`The workload couldn't be loaded. ${error.message}`);
    input.reportValidity();
  }
}

/** Updates the links and the lines to copy to the target. */
async function rest(section, target, signal) {
  const address = new URL(section.dataset.address, location.href);
  address.searchParams.set("target", target);
  const about = section.querySelector(".about");
  let fresh;
  try {
    fresh = await sectionAt(address, signal);
  } catch (error) {
    if (error.name !== "AbortError") about.textContent = `The links to this target couldn't be loaded. ${error.message}`;
    return;
  }
  renewChart(section.querySelector("figure.chart"), fresh.querySelector("figure.chart"));
  about.replaceChildren(...fresh.querySelector(".about").childNodes);
  section.dataset.address = fresh.dataset.address;
  remember(section);
}

/** Writes the workload and the target into the address of a page that is about them. */
function remember(section) {
  const page = new URL(section.querySelector("form").action);
  if (page.pathname !== location.pathname) return;
  const state = new URL(section.dataset.address, location.href).searchParams;
  const permanent = document.getElementById("as-it-is");
  history.replaceState(null, "", changed(location.href, state));
  if (permanent) permanent.href = changed(permanent.href, state);
}

/** Returns an address with the parameters of the figure instead of others about a workload. */
function changed(href, state) {
  const address = new URL(href);
  for (const name of ["workload", ...OF_GOAL]) address.searchParams.delete(name);
  for (const [name, value] of state) if (name !== "release") address.searchParams.set(name, value);
  // As the service writes addresses.
  return address.href.replaceAll("%2F", "/");
}

async function sectionAt(address, signal) {
  return (await pageAt(address, signal)).getElementById("live-figure");
}

const section = document.getElementById("live-figure");
if (section) offerLiveFigure(section);
