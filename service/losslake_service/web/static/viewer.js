// The curve viewer: fetches the curves that the page names, draws them, and keeps the view in the address.

import { element } from "./elements.js";
import { colouring, showLegend } from "./viewer/colours.js";
import { loadCurves } from "./viewer/curves.js";
import { offerMoves } from "./viewer/moves.js";
import { notesOf } from "./viewer/notes.js";
import { Plot } from "./viewer/plot.js";
import * as address from "./viewer/state.js";

const REST_MS = 150;
const MOST_FACTS = 7;
const figure = document.getElementById("viewer");
const request = JSON.parse(figure.dataset.request);
const form = figure.querySelector("form.how");
const controls = form.elements;
const message = figure.querySelector(".said");
const dark = matchMedia("(prefers-color-scheme: dark)");
const state = address.read();
const plot = new Plot(figure.querySelector(".plot"), `${request.metric} by step`, remember, describe);
let loaded;
let saving;
let ownRun;

document.addEventListener("own-run", ({ detail }) => {
  ownRun = detail;
  if (loaded) show();
});
document.getElementById("subject").addEventListener("formdata", (event) => {
  for (const name of ["log", "smooth", "colour", "panels"]) if (state[name]) event.formData.set(name, state[name]);
});
begin();

async function begin() {
  message.textContent = "Loading the curves …";
  if (!(await reload())) return;
  message.textContent = "";
  const missing = prepareForm();
  form.hidden = false;
  figure.querySelector(".keys").hidden = false;
  for (const input of form.querySelectorAll("input, select")) input.addEventListener("input", choose);
  controls.link.onclick = copyLink;
  form.addEventListener("submit", (event) => event.preventDefault());
  dark.addEventListener("change", show);
  offerMoves(plot, controls, () => message.querySelector("a")?.click());
  show();
  plot.look(state);
  const mark = plot.markOf(state.selected);
  if (mark) plot.select(mark);
  else if (state.selected) missing.push(`Trial ${state.selected} isn't among these curves.`);
  message.prepend(...missing.map((text) => `${text} `));
}

/** Fetches the curves, thinned for the scale of steps; if that fails, says so and returns false. */
async function reload() {
  const isLog = state.log.includes("x");
  try {
    const curves = await loadCurves(request, isLog);
    // The reader may have changed the scale since.
    if (!loaded || isLog === state.log.includes("x")) loaded = curves;
  } catch (error) {
    figure.dataset.trouble = error.message;
    message.textContent = `The curves couldn't be loaded. ${error.message}`;
    return false;
  }
  delete figure.dataset.trouble;
  return true;
}

/** Fills the form; returns sentences about what of the address isn't there. */
function prepareForm() {
  const names = [...loaded.facts.keys()];
  const missing = [];
  state.colour ||= request.colour;
  controls.colour.replaceChildren(...names.map((name) => new Option(name, name)));
  if (!names.includes(state.colour)) {
    if (state.colour) missing.push(`These trials don't differ in "${state.colour}": colours show ${names[0]}.`);
    state.colour = names[0];
  }
  controls.colour.value = state.colour;
  controls.logx.checked = state.log.includes("x");
  controls.logy.checked = state.log.includes("y");
  controls.panels.checked = state.panels === "size";
  controls.panels.disabled = new Set(request.studies.map((study) => study.batchSize)).size < 2;
  controls.smooth.value = state.smooth;
  return missing;
}

async function choose({ target }) {
  const before = state.log;
  state.log = (controls.logx.checked ? "x" : "") + (controls.logy.checked ? "y" : "");
  state.colour = controls.colour.value;
  state.panels = controls.panels.checked ? "size" : "";
  // The slider has steps, and a weight of the address may lie between them.
  if (target === controls.smooth) state.smooth = Number(controls.smooth.value);
  if (before.includes("x") !== state.log.includes("x") && loaded.isThinned && !(await reload())) {
    state.log = before;
    controls.logx.checked = before.includes("x");
    controls.logy.checked = before.includes("y");
  }
  show();
}

/** Draws everything in the current state. */
function show() {
  const colours = colouring(loaded.curves, loaded.facts.get(state.colour), dark.matches, request.looks);
  plot.draw({
    curves: loaded.curves,
    colours: loaded.curves.map(colours.of),
    bests: request.studies.filter((study) => study.best !== null),
    ownRun,
    goal: request.goal,
    log: state.log,
    smooth: state.smooth,
    isDivided: state.panels === "size",
  });
  showLegend(figure.querySelector(".legend"), state.colour, colours.legend, ownRun !== undefined);
  controls.smooth.nextElementSibling.textContent = state.smooth || "none";
  figure.querySelector(".notes").textContent = notesOf(loaded, request, state, plot).join(" ");
  remember();
}

/** Says which curve a mark is on, with a link to its trial, and what was measured there. mark: undefined for none */
function describe(mark) {
  message.replaceChildren();
  if (!mark) return;
  const { line: { curve }, at } = mark;
  const path = curve.trial.split("/").map(encodeURIComponent).join("/");
  const link = element("a", { href: `/trials/${path}?${address.goalQuery(request)}` }, `Trial ${curve.trialId}`);
  const facts = [...loaded.facts].filter(([, fact]) => fact.get(curve.trial) !== undefined).slice(0, MOST_FACTS);
  const texts = facts.map(([name, fact]) => `${name} ${fact.get(curve.trial)}`);
  const value = `${state.smooth ? "measured " : ""}at step ${curve.steps[at]}: ${curve.values[at]}`;
  message.append(link, `: ${texts.join(", ")}; ${value}`);
}

/** Writes the view into the address when it rests: browsers limit how often. */
function remember() {
  clearTimeout(saving);
  saving = setTimeout(() => address.write(view()), REST_MS);
}

function view() {
  return { ...state, ...plot.ranges(), selected: plot.selected?.line.curve.trial };
}

async function copyLink() {
  const link = address.linkOf(view(), request.release);
  try {
    await navigator.clipboard.writeText(link);
    message.textContent = `Copied: the link to this view, in release ${request.release}.`;
  } catch {
    message.textContent = link;
  }
}
