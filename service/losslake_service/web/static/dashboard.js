// The dashboard: draws the runs of a folder, and asks every second what changed. The address keeps the view.

import { jsonOf } from "./answers.js";
import { drawTable, markSelected } from "./dashboard/table.js";
import { drawParallel } from "./dashboard/parallel.js";
import { element } from "./elements.js";
import { counted } from "./numbers.js";
import { numberOf } from "./values.js";
import { UNKNOWN, colouring, showLegend } from "./viewer/colours.js";
import { curvesOf } from "./viewer/curves.js";
import { offerMoves } from "./viewer/moves.js";
import { Plot } from "./viewer/plot.js";
import * as address from "./viewer/state.js";

const PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
const REST_MS = 150;
const CHOICES = ["metric", "axis", "group", "q", "stored"];
const choice = document.getElementById("choice");
const said = document.getElementById("said");
const figure = document.getElementById("viewer");
const controls = figure.querySelector("form.how").elements;
const message = figure.querySelector(".said");
const dark = matchMedia("(prefers-color-scheme: dark)");
const state = address.read();
const curves = new Map();
const rows = new Map();
const plot = new Plot(figure.querySelector(".plot"), "Curves of the runs", remember, describe);
let latest;
let stored = { address: undefined, curves: [] };
let version = 0;
let asking;
let timer;
let saving;
let pause = PAUSE_MS;
let isPlaced = false;

offerMoves(plot, controls, () => {});
choice.addEventListener("submit", (event) => {
  event.preventDefault();
  choose(event);
});
choice.addEventListener("change", choose);
choice.elements.q.addEventListener("input", choose);
figure.querySelector("form.how").addEventListener("submit", (event) => event.preventDefault());
for (const name of ["logx", "logy", "smooth", "colour"]) controls[name].addEventListener("input", view);
controls.logx.checked = state.log.includes("x");
controls.logy.checked = state.log.includes("y");
controls.smooth.value = state.smooth;
dark.addEventListener("change", draw);
document.addEventListener("visibilitychange", () => document.hidden || ask());
document.getElementById("runs").addEventListener("click", ({ target }) => {
  const path = target.closest("tbody tr")?.dataset.path;
  if (curves.has(path)) plot.select(plot.markOf(path));
});
ask();

/** Shows what the form says, from the start. target: the control that changed, or the form that was sent */
function choose({ target }) {
  const query = new URLSearchParams(location.search);
  const before = query.get("axis");
  for (const name of CHOICES.includes(target.name) ? [target.name] : CHOICES) {
    const value = choice.elements[name]?.value;
    if (value && !(name === "axis" && value === "step")) query.set(name, value);
    else query.delete(name);
  }
  query.delete("page");
  if (before !== query.get("axis")) isPlaced = false;
  history.replaceState(null, "", `${location.pathname}?${query}`);
  version = 0;
  ask();
}

/** Asks what changed, and again after a while; a page that nobody sees doesn't. */
async function ask() {
  clearTimeout(timer);
  asking?.abort();
  const own = new AbortController();
  asking = own;
  const query = new URLSearchParams(location.search);
  query.set("since", version);
  try {
    const changes = await jsonOf(await fetch(`/live/changes.json?${query}`, { signal: own.signal }));
    pause = PAUSE_MS;
    if (changes.curves) take(changes);
    else if (latest) say(latest.sentences);
  } catch (error) {
    if (own.signal.aborted) return;
    pause = Math.min(LONGEST_PAUSE_MS, 2 * pause);
    say([`The runs can't be read now: trying again in ${Math.round(pause / 1000)} seconds. ${error.message}`]);
  }
  if (!document.hidden) timer = setTimeout(ask, pause);
}

function take(changes) {
  const { drawn } = changes;
  if (changes.is_whole) {
    curves.clear();
    rows.clear();
  }
  for (const curve of changes.curves) curves.set(curve.path, curveOf(curve));
  for (const row of changes.rows) if (!isSame(row, rows.get(row.path))) rows.set(row.path, row);
  for (const path of [...curves.keys()]) if (!drawn.includes(path)) curves.delete(path);
  // A run that came to what is shown without having changed.
  const isMissing = drawn.some((path) => !curves.has(path));
  latest = changes;
  version = isMissing ? 0 : changes.version;
  say(changes.sentences);
  offer(choice.elements.metric, changes.metrics.map((name) => [name, name]), changes.metric);
  offer(choice.elements.group, changes.groups, choice.elements.group.value);
  document.getElementById("n-runs").textContent = counted(changes.n_runs, "run");
  draw();
  if (latest.stored?.address !== stored.address) fetchStored(latest.stored?.address);
}

/** Fetches the stored curves behind those of the runs. address: undefined for none */
async function fetchStored(address) {
  stored = { address, curves: [] };
  const own = stored;
  if (!address) return draw();
  try {
    const { rows } = await jsonOf(await fetch(address));
    own.curves = curvesOf(rows).map((curve) => ({ ...curve, name: `Stored trial ${curve.trial}` }));
  } catch {
    // The runs are shown without; the next change asks again.
    own.address = "";
  }
  if (own === stored) draw();
}

/** Returns the stored curves on the axis that is chosen. */
function storedCurves() {
  if (choice.elements.axis.value === "step") return stored.curves;
  return stored.curves.map((curve) => ({ ...curve, steps: curve.steps.map((step) => step * curve.batchSize) }));
}

function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

function curveOf({ path, name, places, values }) {
  return {
    trial: path, study: "", name, batchSize: null,
    steps: Float64Array.from(places), values: Float64Array.from(values, (value) => numberOf(value) ?? NaN),
  };
}

/** Replaces the sentences if they differ, so that they are read aloud only then. */
function say(sentences) {
  if (sentences.join() === [...said.children].map((each) => each.textContent).join()) return;
  said.replaceChildren(...sentences.map((text) => element("p", {}, text)));
}

/** Replaces the options of a select if they differ. options: pairs of a value and a text */
function offer(select, options, value) {
  const texts = options.map(([name, text]) => `${name}\n${text}`).join("\n\n");
  if (select.dataset.options !== texts) {
    select.dataset.options = texts;
    select.replaceChildren(...options.map(([name, text]) => new Option(text, name)));
  }
  select.value = value ?? "";
}

function view({ target }) {
  state.log = (controls.logx.checked ? "x" : "") + (controls.logy.checked ? "y" : "");
  if (!controls.colour.disabled) state.colour = controls.colour.value;
  state.smooth = Number(controls.smooth.value);
  draw();
  remember();
  if (target !== controls.logx) return;
  // On a logarithmic axis, other values are seen.
  address.write({ ...state, ...plot.ranges(), selected: plot.selected?.line.curve.trial });
  version = 0;
  ask();
}

/** Draws everything in the current state. */
function draw() {
  if (!latest) return;
  const shown = latest.drawn.map((path) => curves.get(path)).filter(Boolean);
  const means = latest.means;
  const facts = means.length ? groupFacts(means) : factsOf(latest.facts);
  const names = [...facts.keys()];
  const named = names.includes(state.colour) ? state.colour : names[0];
  offer(controls.colour, names.map((name) => [name, name]), named);
  controls.colour.disabled = means.length > 0;
  const colours = colouring(shown, facts.get(named) ?? new Map(), dark.matches);
  figure.hidden = !shown.length;
  const colourOf = new Map(shown.map((curve) => [curve.trial, colours.of(curve)]));
  if (shown.length) {
    const behind = storedCurves();
    // Fainter than curves whose colour isn't known.
    const grey = `${UNKNOWN[dark.matches ? "dark" : "light"]}66`;
    if (behind.length) colours.legend.entries.push({ text: "stored trials", count: behind.length, colour: grey });
    plot.draw({
      curves: [...behind, ...shown],
      colours: [...behind.map(() => grey), ...colourOf.values()],
      bests: [],
      means: means.map((mean) => meanCurve(mean, colourOf.get(mean.runs[0]))),
      goal: latest.direction && { direction: latest.direction },
      log: state.log,
      axis: choice.elements.axis.value,
      smooth: state.smooth,
      isDivided: false,
    });
    if (!isPlaced) place();
    showLegend(figure.querySelector(".legend"), named, colours.legend, false);
  }
  controls.smooth.nextElementSibling.textContent = state.smooth || "none";
  figure.querySelector(".notes").textContent = notes();
  const select = (path) => plot.select(plot.markOf(path));
  drawParallel(document.getElementById("parallel"), latest, colourOf, select);
  drawTable(document.getElementById("runs"), latest, rows, colourOf);
  markSelected(plot.selected?.line.curve.trial);
}

/** Shows the view of the address. */
function place() {
  isPlaced = true;
  plot.look(state);
  const mark = plot.markOf(state.selected);
  if (mark) plot.select(mark);
}

function groupFacts(means) {
  return new Map([["mean of", new Map(means.flatMap(({ name, runs }) => runs.map((path) => [path, name])))]]);
}

/** Returns the facts by name and run; first what tells runs apart best. */
function factsOf(byRun) {
  const facts = new Map([["run", new Map()]]);
  for (const [path, values] of Object.entries(byRun)) {
    for (const [name, value] of Object.entries(values)) {
      if (!facts.has(name)) facts.set(name, new Map());
      facts.get(name).set(path, typeof value === "boolean" ? String(value) : value);
    }
  }
  const count = Object.keys(byRun).length;
  const differs = (values) => new Set(values.values()).size > 1 || values.size < count;
  const differing = [...facts].filter(([name, values]) => name !== "run" && differs(values)).sort(([, one], [, other]) => other.size - one.size);
  const [run] = facts;
  return new Map(count > 8 && differing.length ? [...differing, run] : [run, ...differing]);
}

function meanCurve({ name, places, values, low, high }, colour) {
  const numbers = (list) => Float64Array.from(list, (value) => numberOf(value) ?? NaN);
  return { name, colour, steps: Float64Array.from(places), values: numbers(values), low: numbers(low), high: numbers(high) };
}

function notes() {
  const about = latest.stored ? `${latest.stored.about} ` : "";
  const texts = latest.means.map(({ name, runs }) => `${name}: ${counted(runs.length, "run")}`);
  if (!texts.length) return about;
  return `${about}Thick lines: the mean as far as all runs of a group have values, with one standard deviation. ${texts.join("; ")}.`;
}

/** Says which curve a mark is on, and what was measured there. mark: undefined for none */
function describe(mark) {
  markSelected(plot.selected?.line.curve.trial);
  if (!mark) {
    message.textContent = "";
    return;
  }
  const { line: { curve }, at } = mark;
  const facts = Object.entries(latest.facts[curve.trial] ?? {}).filter(([name]) => name !== "run").slice(0, 7);
  const axis = choice.elements.axis.value;
  message.textContent = `${curve.name}: ${facts.map(([name, value]) => `${name} ${value}`).join(", ")}; at ${axis} ${curve.steps[at]}: ${curve.values[at]}`;
}

/** Writes the view into the address when it rests: browsers limit how often. */
function remember() {
  clearTimeout(saving);
  if (!isPlaced) return;
  saving = setTimeout(() => address.write({ ...state, ...plot.ranges(), selected: plot.selected?.line.curve.trial }), REST_MS);
}
