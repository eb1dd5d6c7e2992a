// The panel for a reader's own run, once it is used: the run is compared here with stored trials, and sent nowhere.

import { batchOfDevice, batchSizesIn, guessed, plain, secondsPerStep } from "./columns.js";
import { beside, compared, curveOf, inUnits } from "./curve.js";
import { forgetRun, keepRun, keptRun } from "./kept.js";
import { showOwnRun } from "./layer.js";
import { hideMore, showMore } from "./more.js";
import { readRun } from "./run_file.js";
import { storedBeside } from "./stored.js";
import { readTable } from "./table.js";

const panel = document.getElementById("own");
const place = document.getElementById("own-about");
const form = panel.querySelector("form");
const controls = form.elements;
const status = panel.querySelector("[role=status]");
let about = JSON.parse(place.textContent);
// The run: its table, and what is kept of it for the other pages of this tab.
let table;
let kept;
// What is being read: an earlier file that is there later is outdated.
let reading;
// The stored trials of the page at an address, once they are there, or why they can't be.
let stored;

controls.file.addEventListener("change", () => controls.file.files.length && readFiles([...controls.file.files]));
controls.text.addEventListener("input", () => {
  const text = controls.text.value;
  if (!text.trim()) remove();
  else {
    forget();
    read({ name: "pasted columns", text });
  }
});
controls.remove.addEventListener("click", remove);
for (const name of ["step", "value"]) controls[name].addEventListener("input", show);
for (const [name, fact] of [["batch_size", "batchSize"], ["seconds", "seconds"]]) {
  controls[name]?.addEventListener("input", () => {
    kept[fact] = controls[name].value;
    show();
  });
}
form.addEventListener("submit", (event) => event.preventDefault());
// A slider changes the target.
new MutationObserver(() => {
  about = JSON.parse(place.textContent);
  show();
}).observe(place, { childList: true });
const earlier = keptRun();
// What was chosen or pasted before this script was there comes before an earlier run.
if (controls.file.files.length) readFiles([...controls.file.files]);
else if (controls.text.value.trim()) read({ name: "pasted columns", text: controls.text.value });
else if (earlier) read(earlier);

/** Reads files in place of the run before, which is gone even if these can't be read. */
export async function readFiles(files) {
  panel.open = true;
  forget();
  const begun = (reading = {});
  try {
    const run = await readRun(await files);
    if (begun === reading) read(run);
  } catch (error) {
    if (begun === reading) tell(error.message);
  }
}

/** Reads a text, fills the choices of columns, and shows the run. */
function read({ name, text, facts = {}, table: given, step, values = {}, batchSize, seconds, pageBatchSize }) {
  panel.open = true;
  try {
    table = given ?? readTable(text);
  } catch (error) {
    tell(`${name}: ${error.message}`);
    return;
  }
  table.facts = { ...table.facts, ...facts };
  const ofOthers = Object.entries(values).filter(([metric]) => metric !== about.metric).map(([, column]) => column);
  const columns = guessed(table, about.metric, ofOthers);
  offer(controls.step, "Choose the steps", step ?? columns.step);
  offer(controls.value, `Choose ${about.metric}`, values[about.metric] ?? columns.value);
  const stated = batchSizesIn(table);
  if (about.batchSize === null) controls.batch_size.value = batchSize || ((stated.length === 1 ? stated[0] : pageBatchSize) ?? "");
  const measured = secondsPerStep(table, step ?? columns.step);
  if (controls.seconds) controls.seconds.value = seconds ?? (measured ? String(Number(measured.toPrecision(3))) : "");
  for (const each of panel.querySelectorAll(".of-run")) each.hidden = false;
  kept = { name, text, facts, values, batchSize, seconds, pageBatchSize: about.batchSize ?? pageBatchSize };
  show();
}

function offer(select, hint, chosen) {
  select.replaceChildren(new Option(hint, ""), ...table.names.map((name) => new Option(name, name)));
  select.value = table.names.includes(chosen) ? chosen : "";
}

/** Draws the run as far as its columns are known, and says how it compares. */
function show() {
  if (!table) return;
  const [step, value] = [controls.step.value, controls.value.value];
  const isChosen = step && value;
  if (isChosen) kept.values[about.metric] = value;
  const isKept = isChosen && keepRun({ ...kept, step });
  let curve;
  let units;
  try {
    if (!isChosen) throw new Error(`Choose the column of ${step ? about.metric : "steps"}: the names don't make it clear.`);
    [curve, units] = inUnits(curveOf(table, step, value), about.limits);
  } catch (error) {
    showOwnRun(undefined);
    hideMore();
    tell(error.message);
    return;
  }
  const batchSize = about.batchSize ?? (Number(controls.batch_size.value) || undefined);
  showOwnRun({ ...curve, metric: about.metric, goal: about.goal, batchSize });
  const odd = curve.values.filter((each) => !Number.isFinite(each)).length;
  if (about.stored && batchSize) {
    if (stored?.address !== about.stored) load(about.stored);
    if (stored.trouble) tell(`The stored trials couldn't be loaded. ${stored.trouble}`);
    if (!stored.sizes) return;
  }
  const sentences = about.instead ? [about.instead] : comparison(curve, batchSize);
  if (units) sentences.push(units);
  if (odd) sentences.push(`${odd} of its ${curve.values.length} evaluations ${odd === 1 ? "isn't" : "aren't"} finite.`);
  if (plain(value) !== plain(about.metric)) sentences.push(`Its values are those of the column ${value}.`);
  if (!isKept) sentences.push("It is too large to be kept for other pages.");
  tell(sentences.join(" "));
  if (about.stored && batchSize && stored.sizes[batchSize]?.stored) showMore(curve, about, batchSize, stored.sizes, Number(controls.seconds?.value));
  else hideMore();
}

/** Fetches the stored trials of the page, and then shows how the run compares to them. */
async function load(address) {
  const loading = (stored = { address });
  try {
    Object.assign(loading, await storedBeside(address));
  } catch (error) {
    loading.trouble = error.message;
  }
  if (loading === stored) show();
  // The next run tries again.
  if (loading === stored && loading.trouble) stored = undefined;
}

/** Returns how a run compares to the trials of a batch size, and what is odd about that, as sentences. */
function comparison(curve, batchSize) {
  const device = batchOfDevice(table);
  if (!batchSize) return [compared(curve, about.goal), `Give its batch size to compare it with stored trials${device ? `: its file says only ${device}, without the number of devices and accumulated steps` : ""}.`];
  const { stored: trials, notes } = stored.sizes[batchSize] ?? { notes: stored.notes };
  const sentences = [compared(curve, about.goal, trials), ...beside(curve, about.goal, trials, Number(controls.seconds?.value)), ...notes];
  const counted = Object.keys(stored.sizes).filter((size) => stored.sizes[size].stored);
  if (!trials) sentences.push(`No trial that counts has batch size ${batchSize}${counted.length ? `: there are ${counted.join(", ")}` : ""}.`);
  const stated = batchSizesIn(table);
  if (stated.length > 1) sentences.push(`Its batch size changes in its file (${stated.join(", ")}), and it is compared with trials at ${batchSize}.`);
  else if (stated.length && stated[0] !== batchSize) sentences.push(`Its file says batch size ${stated[0]}, and it is compared with trials at ${batchSize}.`);
  return sentences;
}

function remove() {
  forget();
  form.reset();
}

/** Forgets the run, and what is under way for it. */
function forget() {
  reading = table = undefined;
  forgetRun();
  for (const each of panel.querySelectorAll(".of-run")) each.hidden = true;
  showOwnRun(undefined);
  hideMore();
  tell("");
}

function tell(text) {
  status.textContent = text;
}
