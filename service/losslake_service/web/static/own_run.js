// The panel for a reader's own run: it is read here, in the browser, compared with stored trials, and sent nowhere.

import { showOwnRun } from "./own_run/layer.js";
import { bestOf, compared, curveOf, guessed, statedBatchSize } from "./own_run/curve.js";
import { readTable } from "./own_run/table.js";
import { numberOf } from "./values.js";

const KEPT = "losslake-own-run";
const MOST_KEPT = 2e6;
const MOST_BYTES = 40e6;
const panel = document.getElementById("own");
const place = document.getElementById("own-about");
const form = panel.querySelector("form");
const controls = form.elements;
const said = panel.querySelector("[role=status]");
let about = JSON.parse(place.textContent);
let table;
let stored;

panel.hidden = false;
controls.file.addEventListener("change", () => controls.file.files.length && take(controls.file.files[0]));
controls.text.addEventListener("input", () => (controls.text.value.trim() ? read("pasted columns", controls.text.value) : remove()));
controls.remove.addEventListener("click", remove);
for (const name of ["step", "value", "batch_size"]) controls[name].addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  take(event.dataTransfer.files[0]);
});
panel.addEventListener("toggle", () => panel.open && storedTrials());
// A slider changes the target.
new MutationObserver(() => {
  about = JSON.parse(place.textContent);
  stored = undefined;
  show();
}).observe(place, { childList: true });
restore();

async function take(file) {
  panel.open = true;
  if (file.size > MOST_BYTES) {
    tell(`${file.name} has ${Math.round(file.size / 1e6)} MB: keep the columns of steps and of ${about.metric}.`);
    return;
  }
  read(file.name, await file.text());
}

/** Reads a text, fills the choices of columns, and shows the run. */
function read(name, text, kept = {}) {
  panel.open = true;
  table = undefined;
  try {
    table = readTable(text);
  } catch (error) {
    showOwnRun(undefined);
    tell(`${name}: ${error.message}`);
    return;
  }
  const columns = guessed(table, about.metric);
  offer(controls.step, "Choose the steps", kept.step ?? columns.step);
  offer(controls.value, `Choose ${about.metric}`, kept.values?.[about.metric] ?? columns.value);
  if (about.batchSize === null) controls.batch_size.value = kept.batchSize ?? statedBatchSize(table) ?? "";
  for (const each of panel.querySelectorAll(".of-run")) each.hidden = false;
  table.source = { name, text, values: kept.values ?? {} };
  show();
}

function offer(select, hint, chosen) {
  select.replaceChildren(new Option(hint, ""), ...table.names.map((name) => new Option(name, name)));
  select.value = table.names.includes(chosen) ? chosen : "";
}

/** Draws the run, and says how it compares. */
async function show() {
  if (!table) return;
  const { step, value } = { step: controls.step.value, value: controls.value.value };
  if (!step || !value) {
    showOwnRun(undefined);
    tell(`Choose the column of ${step ? about.metric : "steps"}: the names don't make it clear.`);
    return;
  }
  keep(step, value);
  let curve;
  try {
    curve = curveOf(table, step, value);
  } catch (error) {
    showOwnRun(undefined);
    tell(error.message);
    return;
  }
  const batchSize = about.batchSize ?? (Number(controls.batch_size.value) || undefined);
  showOwnRun({ ...curve, metric: about.metric, goal: about.goal, batchSize });
  try {
    tell(await sentence(curve, batchSize));
  } catch (error) {
    tell(`The stored trials couldn't be loaded. ${error.message}`);
  }
}

async function sentence(curve, batchSize) {
  if (!about.workload) return "Several workloads are shown here: open one of them for a comparison.";
  if (!about.goal) return "There is no target to reach, so the curve alone is drawn.";
  if (!batchSize) return `${compared(curve, about.goal, [])} Give its batch size to compare it with stored trials.`;
  const rows = await storedTrials();
  const sizes = [...new Set(rows.map((row) => row.batch_size))];
  const text = compared(curve, about.goal, rows.filter((row) => row.batch_size === batchSize));
  const stated = statedBatchSize(table);
  const notes = [];
  if (!sizes.includes(batchSize)) notes.push(`No trial has batch size ${batchSize}: there are ${sizes.sort((one, other) => one - other).join(", ")}.`);
  if (stated !== undefined && stated !== batchSize) notes.push(`Its file says batch size ${stated}, and it is compared with trials at ${batchSize}.`);
  const odd = curve.values.filter((value) => !Number.isFinite(value)).length;
  if (odd) notes.push(`${odd} of its ${curve.values.length} evaluations ${odd === 1 ? "isn't" : "aren't"} finite.`);
  const best = bestOf(curve, about.goal.direction);
  if (best > 1.5 && about.unit === "fraction") notes.push("Its values are above 1: they look like percent, and the stored ones are fractions.");
  return [text, ...notes].join(" ");
}

/** Returns the trials of this page with their steps to the target and their metaparameters, fetched once. */
function storedTrials() {
  if (!about.goal || !about.workload) return Promise.resolve([]);
  stored ??= Promise.all([rowsOf("steps-to-target", stepsQuery()), parametersByTrial()]).then(([rows, parameters]) =>
    rows.map((row) => ({ ...row, parameters: parameters.get(`${row.batch_size}/${row.trial_id}`) })));
  stored.catch(() => (stored = undefined));
  return stored;
}

function stepsQuery() {
  const { target, comparator, direction } = about.goal;
  const size = about.batchSize === null ? {} : { batch_size: about.batchSize };
  const where = about.where ? { where: about.where } : {};
  return { workload: about.workload, ...size, ...where, metric: about.metric, target, comparator, direction, release: about.release };
}

async function parametersByTrial() {
  const place = about.batchSize === null ? { workload: about.workload } : { study: `${about.workload}/${about.batchSize}` };
  const found = new Map();
  let cursor;
  do {
    const answer = await answerOf("trials", { ...place, fields: "trial,batch_size,parameters", limit: 10000, release: about.release, ...(cursor && { cursor }) });
    for (const { trial, batch_size, parameters } of answer.rows) {
      const numbers = Object.entries(parameters).map(([name, value]) => [name, typeof value === "number" ? value : numberOf(value)]);
      found.set(`${batch_size}/${trial.slice(trial.lastIndexOf("/") + 1)}`, Object.fromEntries(numbers));
    }
    cursor = answer.next_cursor;
  } while (cursor);
  return found;
}

async function rowsOf(question, parameters) {
  return (await answerOf(question, parameters)).rows;
}

async function answerOf(question, parameters) {
  const response = await fetch(`/v1/${question}.json?${new URLSearchParams(parameters)}`);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail ?? `The service answered ${response.status}.`);
  return answer;
}

/** Keeps the run for the other pages of this tab. */
function keep(step, value) {
  const { name, text, values } = table.source;
  values[about.metric] = value;
  if (text.length > MOST_KEPT) return;
  sessionStorage.setItem(KEPT, JSON.stringify({ name, text, step, values, batchSize: controls.batch_size.value || about.batchSize }));
}

function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  if (kept) read(kept.name, kept.text, kept);
}

function remove() {
  sessionStorage.removeItem(KEPT);
  table = undefined;
  form.reset();
  for (const each of panel.querySelectorAll(".of-run")) each.hidden = true;
  showOwnRun(undefined);
  tell("");
}

function tell(text) {
  said.textContent = text;
}
