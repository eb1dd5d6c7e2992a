// The curve viewer: fetches the curves that the page names, draws them, and keeps the view in the address.

import { colouring } from "./viewer/colours.js";
import { loadCurves } from "./viewer/curves.js";
import { showLegend } from "./viewer/legend.js";
import { offerMoves } from "./viewer/moves.js";
import { Plot } from "./viewer/plot.js";
import * as address from "./viewer/state.js";
import { whole } from "./numbers.js";

const figure = document.getElementById("viewer");
const request = JSON.parse(figure.dataset.request);
const form = figure.querySelector("form.how");
const controls = form.elements;
const said = figure.querySelector(".said");
const dark = matchMedia("(prefers-color-scheme: dark)");
const state = address.read();
const plot = new Plot(figure.querySelector(".plot"), `${request.metric} by step`, remember);
let loaded;
let saving;
let own;

document.addEventListener("own-run", ({ detail }) => {
  own = detail;
  if (loaded) show();
});
begin();

async function begin() {
  said.textContent = "Loading the curves …";
  try {
    await reload();
  } catch (error) {
    figure.dataset.trouble = error.message;
    said.textContent = `The curves couldn't be loaded. ${error.message}`;
    return;
  }
  said.textContent = "";
  prepareForm();
  form.hidden = false;
  figure.querySelector(".keys").hidden = false;
  for (const input of form.querySelectorAll("input, select")) input.addEventListener("input", choose);
  controls.in.onclick = () => plot.zoom(0.7, 0.7);
  controls.out.onclick = () => plot.zoom(1 / 0.7, 1 / 0.7);
  controls.all.onclick = () => plot.showAll();
  controls.link.onclick = copyLink;
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("subject").addEventListener("formdata", (event) => {
    for (const name of ["log", "smooth", "colour", "panels"]) if (state[name]) event.formData.set(name, state[name]);
  });
  dark.addEventListener("change", show);
  offerMoves(plot, point);
  show();
  plot.look(state.x, state.y);
}

/** Fetches the curves, thinned for the scale of steps. */
async function reload() {
  loaded = await loadCurves(request, state.log.includes("x"));
}

function prepareForm() {
  const names = [...loaded.facts.keys()];
  controls.colour.replaceChildren(...names.map((name) => new Option(name, name)));
  if (!names.includes(state.colour)) state.colour = names[0];
  controls.colour.value = state.colour;
  controls.logx.checked = state.log.includes("x");
  controls.logy.checked = state.log.includes("y");
  controls.panels.checked = state.panels === "size";
  controls.panels.disabled = new Set(request.studies.map((study) => study.batchSize)).size < 2;
  controls.smooth.value = state.smooth;
}

async function choose(event) {
  const before = state.log;
  state.log = (controls.logx.checked ? "x" : "") + (controls.logy.checked ? "y" : "");
  state.colour = controls.colour.value;
  state.panels = controls.panels.checked ? "size" : "";
  state.smooth = Number(controls.smooth.value);
  if (before.includes("x") !== state.log.includes("x") && loaded.isThinned) await reload();
  show(event?.target.name);
}

/** Draws everything in the current state. */
function show() {
  const colours = colouring(loaded.curves, loaded.facts.get(state.colour), dark.matches);
  plot.draw({
    curves: loaded.curves,
    colours: loaded.curves.map(colours.of),
    bests: request.studies.filter((study) => study.best !== null),
    own: own && { ...own, trial: "", studies: request.studies },
    goal: request.goal,
    log: state.log,
    smooth: state.smooth,
    isDivided: state.panels === "size",
  });
  showLegend(figure.querySelector(".legend"), state.colour, colours.legend, own !== undefined);
  controls.smooth.nextElementSibling.textContent = state.smooth ? state.smooth.toFixed(2) : "none";
  figure.querySelector(".notes").textContent = notes().join(" ");
  remember();
}

function notes() {
  const texts = [`${whole(loaded.curves.length)} curves; the thick one is the best trial.`];
  if (loaded.isThinned) texts.push(`Thinned to about ${request.points} evaluations a curve; every record is kept.`);
  if (state.smooth) {
    const which = loaded.isThinned ? "the evaluations drawn, not of all" : "all evaluations";
    texts.push(`Smoothed: exponential moving average of ${which}, weight ${state.smooth}, debiased; the measured curves stay faint behind.`);
  }
  if (request.goal) texts.push(`The dashed line is the target, ${request.goal.text}.`);
  return [...texts, ...plot.notes()];
}

/** Says which curve is pointed at, with a link to its trial. */
function point(curve) {
  said.replaceChildren();
  if (!curve) return;
  const link = document.createElement("a");
  link.href = `/trials/${curve.trial.split("/").map(encodeURIComponent).join("/")}?${address.goalQuery(request)}`;
  link.textContent = `Trial ${curve.trialId}`;
  const facts = [...loaded.facts].filter(([, fact]) => fact.get(curve.trial) !== undefined).slice(0, 7);
  said.append(link, `: ${facts.map(([name, fact]) => `${name} ${fact.get(curve.trial)}`).join(", ")}`);
}

/** Writes the view into the address when it rests: browsers limit how often. */
function remember() {
  clearTimeout(saving);
  saving = setTimeout(() => {
    address.write({ ...state, ...plot.ranges() });
  }, 150);
}

async function copyLink() {
  const link = address.linkOf({ ...state, ...plot.ranges() }, request.release);
  try {
    await navigator.clipboard.writeText(link);
    said.textContent = `Copied: the link to this view, in release ${request.release}.`;
  } catch {
    said.textContent = link;
  }
}
