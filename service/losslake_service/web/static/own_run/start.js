// The box on the start page, once a run is given: proposes its workload, and opens that page with the run.

import { everyRow } from "../answers.js";
import { counted } from "../numbers.js";
import { batchOfDevice, batchSizesIn, guessed, wordsIn } from "./columns.js";
import { forgetRun, keepRun } from "./kept.js";
import { ranked } from "./proposal.js";
import { readRun } from "./run_file.js";
import { csvOf } from "./table.js";

const MOST_PROPOSED = 8;
const MOST_OTHERS = 200;
let form;
let status;
let workloads;
// The run, and its workloads by how well they match.
let run;
let matches = [];
let reading;

/** Reads a run in place of the one before, and proposes workloads. */
export async function readGiven(section, files) {
  if (!form) prepare(section);
  const begun = (reading = {});
  forgetRun();
  run = undefined;
  for (const each of section.querySelectorAll(".of-run")) each.hidden = true;
  status.textContent = "Reading …";
  try {
    const release = form.elements.release?.value;
    // The whole list: a search would send the words of the run.
    workloads ??= everyRow("workloads", release ? { release } : {});
    const given = await readRun(await files);
    const rows = await workloads;
    if (begun !== reading) return;
    run = given;
    run.table.facts = { ...run.table.facts, ...run.facts };
    matches = ranked(rows, run.table, wordsIn(run.name, run.table));
  } catch (error) {
    workloads = (await workloads?.catch(() => undefined)) && workloads;
    if (begun === reading) status.textContent = error.message;
    return;
  }
  const sizes = batchSizesIn(run.table);
  form.elements.batch_size.value = sizes.length === 1 ? sizes[0] : "";
  form.elements.words.value = "";
  offer();
  for (const each of section.querySelectorAll(".of-run")) each.hidden = false;
  say();
  form.elements.workload.focus();
}

function prepare(section) {
  form = section.querySelector("form");
  status = section.querySelector("[role=status]");
  form.elements.words.addEventListener("input", offer);
  form.elements.workload.addEventListener("input", say);
  form.addEventListener("submit", open);
}

/** Offers workloads: the best matches, then all others, of those that have the words that were typed. */
function offer() {
  const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = matches.filter(({ row }) => words.every((word) => row.workload.toLowerCase().includes(word)));
  const best = fitting.filter(({ match }) => match).slice(0, MOST_PROPOSED);
  const others = fitting.filter((each) => !best.includes(each)).sort((one, other) => (one.row.workload < other.row.workload ? -1 : 1));
  form.elements.workload.replaceChildren(...[["Proposed", best], ["Others", others.slice(0, MOST_OTHERS)]].filter(([, list]) => list.length).map(([label, list]) => {
    const group = document.createElement("optgroup");
    group.label = label;
    group.append(...list.map(({ row }) => new Option(row.workload, row.workload)));
    return group;
  }));
  if (run) say();
}

/** Says what was found in the run for the chosen workload, and what is left to give. */
function say() {
  const { row, match, isNamed } = chosen() ?? {};
  if (!row) {
    status.textContent = "No workload has these words: type others.";
    return;
  }
  const { step } = guessed(run.table, match?.metric ?? row.metrics[0] ?? "val/loss");
  const sentences = [`${run.name}: ${counted(run.table.rows.length, "row")}${step ? `, steps in ${step}` : ""}${match ? `, ${match.metric} in ${match.column}` : ""}.`];
  if (!isNamed) sentences.push("Its names don't say its workload: check the one that is proposed by the metric.");
  if (!step) sentences.push("No column is named like steps: the next page asks for it.");
  if (!match) sentences.push(`No column is named like a metric of this workload (${row.metrics.slice(0, 3).join(", ")}): the next page asks for it, or choose another workload. Columns: ${run.table.names.slice(0, 8).join(", ")}.`);
  if (!form.elements.batch_size.value) {
    const device = batchOfDevice(run.table);
    sentences.push(`${device ? `It says only ${device}, without the number of devices and accumulated steps` : "It states no batch size"}: give that of all devices together. Stored: ${row.batch_sizes.slice(0, 12).join(", ")}${row.batch_sizes.length > 12 ? " …" : ""}.`);
  }
  status.textContent = sentences.join(" ");
}

function chosen() {
  return matches.find(({ row }) => row.workload === form.elements.workload.value);
}

/** Keeps the run for the page of the workload, and opens it. */
function open() {
  const { row, match } = chosen() ?? {};
  if (!row) return;
  const { name, table, facts } = run;
  const batchSize = form.elements.batch_size.value;
  const values = match ? { [match.metric]: match.column } : {};
  const whole = { name, text: run.text, facts, values, batchSize };
  const { step } = guessed(table, match?.metric ?? "val/loss");
  // Of a long run, only the columns that count.
  const isKept = keepRun(whole) || (match && step && keepRun({ ...whole, text: csvOf(table, [step, match.column]) }));
  if (!isKept) {
    status.textContent = `${name} is too large to be kept for the next page: open the workload's page, and give it there.`;
    return;
  }
  const query = new URLSearchParams({ ...(match && { metric: match.metric }), ...(form.elements.release && { release: form.elements.release.value }) });
  location.assign(`/workloads/${row.workload.split("/").map(encodeURIComponent).join("/")}${query.size ? `?${query}` : ""}#own`);
}
