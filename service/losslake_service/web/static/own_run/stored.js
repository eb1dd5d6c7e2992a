// The stored trials that a reader's own run is compared with.

import { answerOf, everyRow } from "../answers.js";
import { counted } from "../numbers.js";
import { numberOf } from "../values.js";

// The statuses of trials that ran to their end.
const COUNTED = ["COMPLETE", "MISSED"];
// The statuses of trials that don't count, in words.
const STATUSES = new Map([["INCOMPLETE", "stopped"], ["INFEASIBLE", "diverged"]]);

/**
 * Fetches the trials of a page, of all its batch sizes and statuses, with their steps to the target.
 * @param {object} about what the page is about
 * @returns {Promise<{counted: object[], others: object[], notes: string[]}>} others: trials whose status doesn't count
 */
export async function storedTrials(about) {
  const [{ rows, left_out }, parameters] = await Promise.all([answerOf("steps-to-target", stepsQuery(about)), parametersByTrial(about)]);
  const trials = rows.map((row) => ({ ...row, parameters: parameters.get(`${row.batch_size}/${row.trial_id}`) }));
  return {
    counted: trials.filter((row) => COUNTED.includes(row.status)),
    others: trials.filter((row) => !COUNTED.includes(row.status)),
    notes: left_out.map((text) => flaggedIn(text, about)).filter(Boolean),
  };
}

/** Returns how many trials of a batch size don't count, and how many may yet reach the target, as sentences. */
export function uncounted({ counted, others, notes }, batchSize) {
  const ofSize = (rows) => rows.filter((row) => row.batch_size === batchSize);
  const texts = [...STATUSES].map(([status, word]) => [ofSize(others).filter((row) => row.status === status).length, word]).filter(([count]) => count);
  const earlier = ofSize(counted).filter((row) => row.stopped_earlier).length;
  return [
    ...texts.map(([count, word]) => sentence(count, word)),
    ...(earlier ? [`${counted(earlier, "trial")} stopped at an easier goal: the median takes them as not reaching this one.`] : []),
    ...notes,
  ];
}

function flaggedIn(text, { batchSize }) {
  const count = Number(/: (\d+) trials? flagged/.exec(text)?.[1] ?? 0);
  return count && sentence(count, "flagged", batchSize === null ? " of this workload" : "");
}

function sentence(count, word, where = "") {
  return `${counted(count, `${word} trial`)}${where} ${count === 1 ? "doesn't" : "don't"} count.`;
}

function stepsQuery({ workload, batchSize, metric, where, goal: { target, comparator, direction }, release }) {
  const selected = { workload, metric, target, comparator, direction, release, status: [...COUNTED, ...STATUSES.keys()] };
  return { ...selected, ...(batchSize !== null && { batch_size: batchSize }), ...(where && { where }) };
}

async function parametersByTrial({ workload, batchSize, release }) {
  const place = batchSize === null ? { workload } : { study: `${workload}/${batchSize}` };
  const rows = await everyRow("trials", { ...place, fields: "trial,batch_size,parameters", release });
  return new Map(rows.map(({ trial, batch_size, parameters }) => {
    const numbers = Object.entries(parameters).map(([name, value]) => [name, typeof value === "number" ? value : numberOf(value)]);
    return [`${batch_size}/${trial.slice(trial.lastIndexOf("/") + 1)}`, Object.fromEntries(numbers)];
  }));
}
