// The panel for a reader's own run: it is read here, in the browser, compared with stored trials, and sent nowhere.

import { batchSizesIn, guessed, plain } from "./own_run/columns.js";
import { compared, curveOf, unlike } from "./own_run/curve.js";
import { showOwnRun } from "./own_run/layer.js";
import { storedTrials, uncounted } from "./own_run/stored.js";
import { readTable } from "./own_run/table.js";

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
// What was begun last: what was begun earlier, and ends later, is outdated.
let lastFile;
let lastShown;

panel.hidden = false;
controls.file.addEventListener("change", () => controls.file.files.length && take(controls.file.files));
controls.text.addEventListener("input", () => (controls.text.value.trim() ? replace("pasted columns", controls.text.value) : remove()));
controls.remove.addEventListener("click", remove);
for (const name of ["step", "value"]) controls[name].addEventListener("input", show);
controls.batch_size.addEventListener("input", () => {
  table.source.batchSize = controls.batch_size.value;
  show();
});
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  take(event.dataTransfer.files);
});
panel.addEventListener("toggle", () => panel.open && trialsOf(about).catch(() => {}));
// A slider changes the target.
new MutationObserver(() => {
  about = JSON.parse(place.textContent);
  show();
}).observe(place, { childList: true });
restore();

/** Reads a file in place of the run before, which is gone even if this one can't be read. */
async function take(files) {
  panel.open = true;
  forget();
  const [file] = files;
  const begun = (lastFile = {});
  if (files.length > 1) tell(`Drop one file: ${files.length} were dropped.`);
  else if (file.size > MOST_BYTES) tell(`${file.name} has ${Math.round(file.size / 1e6)} MB: keep the columns of steps and of ${about.metric}.`);
  else {
    try {
      const text = await file.text();
      if (begun === lastFile) read(file.name, text);
    } catch (error) {
      if (begun === lastFile) tell(`${file.name} couldn't be read: ${error.message}`);
    }
  }
}

function replace(name, text) {
  forget();
  read(name, text);
}

/** Reads a text, fills the choices of columns, and shows the run. */
function read(name, text, kept = {}) {
  panel.open = true;
  try {
    table = readTable(text);
  } catch (error) {
    tell(`${name}: ${error.message}`);
    return;
  }
  const { values = {}, batchSize } = kept;
  const columns = guessed(table, about.metric, Object.entries(values).filter(([metric]) => metric !== about.metric).map(([, column]) => column));
  offer(controls.step, "Choose the steps", kept.step ?? columns.step);
  offer(controls.value, `Choose ${about.metric}`, values[about.metric] ?? columns.value);
  if (about.batchSize === null) controls.batch_size.value = batchSize || (statedBatchSize(batchSizesIn(table)) ?? kept.pageBatchSize ?? "");
  for (const each of panel.querySelectorAll(".of-run")) each.hidden = false;
  table.source = { name, text, values, batchSize, pageBatchSize: about.batchSize ?? kept.pageBatchSize };
  show();
}

function offer(select, hint, chosen) {
  select.replaceChildren(new Option(hint, ""), ...table.names.map((name) => new Option(name, name)));
  select.value = table.names.includes(chosen) ? chosen : "";
}

function statedBatchSize(sizes) {
  return sizes.length === 1 ? sizes[0] : undefined;
}

/** Draws the run, and says how it compares; nothing of it if another one, or another target, comes meanwhile. */
async function show() {
  if (!table) return;
  const begun = (lastShown = {});
  const [step, value] = [controls.step.value, controls.value.value];
  try {
    const text = await described({ table, about, step, value, batchSize: about.batchSize ?? (Number(controls.batch_size.value) || undefined) });
    if (begun === lastShown) tell(text);
  } catch (error) {
    if (begun === lastShown) tell(`The stored trials couldn't be loaded. ${error.message}`);
  }
}

/** Draws a run as far as its columns are known, and returns what there is to say of it. */
function described(run) {
  const { step, value } = run;
  const refused = (text) => {
    showOwnRun(undefined);
    return text;
  };
  if (!step || !value) return refused(`Choose the column of ${step ? run.about.metric : "steps"}: the names don't make it clear.`);
  const isKept = keep(step, value);
  let curve;
  try {
    curve = curveOf(run.table, step, value);
  } catch (error) {
    return refused(error.message);
  }
  const why = unlike(curve, run.about.range);
  if (why) return refused(why);
  showOwnRun({ ...curve, metric: run.about.metric, goal: run.about.goal, batchSize: run.batchSize });
  return sentences(run, curve, isKept);
}

async function sentences(run, curve, isKept) {
  const notes = [];
  const odd = curve.values.filter((value) => !Number.isFinite(value)).length;
  if (odd) notes.push(`${odd} of its ${curve.values.length} evaluations ${odd === 1 ? "isn't" : "aren't"} finite.`);
  if (plain(run.value) !== plain(run.about.metric)) notes.push(`Its values are those of the column ${run.value}.`);
  if (!isKept) notes.push("It is too large to be kept for other pages.");
  return [await comparison(run, curve), ...notes].join(" ");
}

async function comparison({ about, table, batchSize }, curve) {
  if (!about.workload) return "Several workloads are shown here: open one of them for a comparison.";
  if (!about.goal) return "There is no target to reach, so the curve alone is drawn.";
  if (!batchSize) return `${compared(curve, about.goal, [])} Give its batch size to compare it with stored trials.`;
  const trials = await trialsOf(about);
  const where = about.batchSize === null ? ` at batch size ${batchSize}` : "";
  const text = compared(curve, about.goal, trials.counted.filter((row) => row.batch_size === batchSize), where);
  return [text, ...uncounted(trials, batchSize), ...aboutBatchSize(batchSize, trials.counted, batchSizesIn(table))].join(" ");
}

/** Returns what is odd about the batch size that a run is compared at, as sentences; stated: the ones in its file. */
function aboutBatchSize(batchSize, rows, stated) {
  const notes = [];
  const sizes = [...new Set(rows.map((row) => row.batch_size))].sort((one, other) => one - other);
  if (!sizes.includes(batchSize)) notes.push(`No trial that counts has batch size ${batchSize}${sizes.length ? `: there are ${sizes.join(", ")}` : ""}.`);
  if (stated.length > 1) notes.push(`Its batch size changes in its file (${stated.join(", ")}), and it is compared with trials at ${batchSize}.`);
  else if (stated.length && stated[0] !== batchSize) notes.push(`Its file says batch size ${stated[0]}, and it is compared with trials at ${batchSize}.`);
  return notes;
}

/** Returns the stored trials for a target, fetched once. */
function trialsOf(page) {
  if (!page.goal || !page.workload) return Promise.resolve();
  if (stored?.page !== page) {
    const fetching = { page, trials: storedTrials(page) };
    fetching.trials.catch(() => stored === fetching && (stored = undefined));
    stored = fetching;
  }
  return stored.trials;
}

/** Keeps the run for the other pages of this tab; returns false if it is too large. */
function keep(step, value) {
  const { name, text, values, batchSize, pageBatchSize } = table.source;
  values[about.metric] = value;
  if (text.length > MOST_KEPT) return false;
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ name, text, step, values, batchSize, pageBatchSize }));
    return true;
  } catch {
    return false; // The browser has no room for it.
  }
}

function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  if (kept) read(kept.name, kept.text, kept);
}

function remove() {
  forget();
  form.reset();
}

/** Forgets the run, and what is under way for it. */
function forget() {
  lastFile = lastShown = undefined;
  table = undefined;
  sessionStorage.removeItem(KEPT);
  for (const each of panel.querySelectorAll(".of-run")) each.hidden = true;
  showOwnRun(undefined);
  tell("");
}

function tell(text) {
  said.textContent = text;
}
