// Which stored workloads a run may be of, by the names in its file and its metrics.

import { curveOf } from "./curve.js";
import { guessed } from "./columns.js";

const SHORTEST = 3;
const NEAR = 3;

/**
 * Returns workloads by how well they match, the best first, each with the metric to compare and its column, and whether the run names it.
 * @param {object[]} workloads the rows of /v1/workloads
 * @param {object} table
 * @param {string} words of the run, in lower case
 */
export function ranked(workloads, table, words) {
  const columns = new Map();
  const columnOf = (metric) => {
    if (!columns.has(metric)) columns.set(metric, found(table, metric));
    return columns.get(metric);
  };
  const rows = workloads.map((row) => {
    const metrics = row.metrics.map((metric) => ({ ...columnOf(metric), metric, goal: row.goals.find((goal) => goal.metric === metric) })).filter(({ column }) => column);
    const scored = metrics.map((each) => ({ ...each, score: (each.isNamed ? 2 : 1) + (each.goal ? 2 : 0) + nearness(each) })).sort((one, other) => other.score - one.score);
    const byName = scoreOf(row, words);
    return { row, match: scored[0], isNamed: byName > 0, score: (scored[0]?.score ?? 0) + byName };
  });
  return rows.sort((one, other) => other.score - one.score || other.row.n_trials - one.row.n_trials);
}

/** Returns the column of a metric, and the best of its values of either direction. */
function found(table, metric) {
  const { step, value, isNamed } = guessed(table, metric);
  if (value === undefined) return {};
  try {
    const finite = curveOf(table, step ?? value, value).values.filter(Number.isFinite).sort();
    return { column: value, isNamed, ends: [finite[0], finite.at(-1)] };
  } catch {
    return { column: value, isNamed };
  }
}

/** Returns how near the run comes to the goal, in fractions or percent: 1 if it ends there, 0 from a factor of NEAR. */
function nearness({ goal, ends }) {
  if (!goal || !ends) return 0;
  const distances = ends.flatMap((end) => [end, end / 100]).map((end) => Math.abs(Math.log(end / goal.target)));
  return Math.max(0, 1 - Math.min(...distances.filter(Number.isFinite)) / Math.log(NEAR));
}

/** Returns how much of a workload's names is in the words. */
function scoreOf({ dataset, model, optimizer }, words) {
  const joined = words.replace(/[^a-z0-9]+/g, "");
  const parts = new Set(words.split(/[^a-z0-9]+/));
  const share = (name) => {
    const all = name.toLowerCase().split(/[^a-z0-9]+/);
    if (all.join("").length >= SHORTEST && joined.includes(all.join(""))) return 1;
    return all.filter((token) => token.length >= SHORTEST && parts.has(token)).length / all.length;
  };
  return 6 * share(dataset) + 5 * share(model) + 2 * share(optimizer);
}
