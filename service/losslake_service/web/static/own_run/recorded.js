// Runs that losslake.record wrote: run.json, and JSON lines of each attempt. The layout is that of docs/recording.md.

import { Series } from "./series.js";
import { numberIn, parsed } from "./table.js";

const SEGMENT = /(?:^|\/)(\d{4,9})(?:-from-(\d{1,16}))?\/(\d{6,9})\.jsonl$/;
const WORKLOAD = ["collection", "dataset", "model", "optimizer", "batch_size"];

/** Returns true if a file, by its path in a folder, is one of a recorded run. */
export function isOfRecordedRun(path) {
  return SEGMENT.test(path) || /(?:^|\/)run\.json$/.test(path);
}

/**
 * Returns the measurements that count as a table. Throws an error of one line.
 * @param {{name: string, text: string}[]} files name: the path in the folder
 */
export function readRecordedRun(files) {
  const runs = files.filter(({ name }) => /(?:^|\/)run\.json$/.test(name));
  if (runs.length !== 1) throw new Error(runs.length ? `The folder has ${runs.length} recorded runs: drop the folder of one.` : "There is no run.json in the folder: drop the whole folder of the run.");
  const document = parsed(runs[0].text);
  if (!String(document?.format).startsWith("losslake-record/")) throw new Error(`${runs[0].name} isn't that of a recorded run: drop the folder that losslake.record wrote.`);
  const segments = files.flatMap(({ name, text }) => {
    const [, attempt, from, number] = SEGMENT.exec(name) ?? [];
    return attempt ? [{ name, text, attempt: Number(attempt), from: from && Number(from), number: Number(number) }] : [];
  });
  segments.sort((one, other) => one.attempt - other.attempt || one.number - other.number);
  const series = new Series();
  let attempt;
  for (const segment of segments) {
    // A later attempt replaces what came from its first step on.
    if (!segment.text.includes("\n")) continue;
    if (segment.attempt !== attempt && segment.from !== undefined) series.replaceFrom(segment.from);
    attempt = segment.attempt;
    addSegment(series, segment);
  }
  const facts = WORKLOAD.filter((name) => ["string", "number"].includes(typeof document[name])).map((name) => [name, String(document[name])]);
  return series.table("elapsed_s", Object.fromEntries(facts));
}

function addSegment(series, { name, text }) {
  const lines = text.split("\n");
  lines.pop(); // What follows the last line break is a line that was being written.
  for (const [index, line] of lines.entries()) {
    const { step, elapsed_s: time, ...metrics } = parsed(line) ?? {};
    if (!Number.isInteger(step)) throw new Error(`${name}, line ${index + 1}: it has no step, as losslake.record writes it.`);
    if ("_step" in metrics) throw new Error(`${name}, line ${index + 1}: its step counts calls of log(), not updates: record the run with step=, the number of updates so far.`);
    for (const [metric, value] of Object.entries(metrics)) if (numberIn(String(value)) !== undefined) series.set(metric, step, value, time);
  }
}
