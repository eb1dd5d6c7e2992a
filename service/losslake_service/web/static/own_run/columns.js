// Which columns of a reader's table hold the steps, a metric and the batch size, by their names.

import { numberIn } from "./table.js";

const STEPS = ["step", "steps", "global_step", "iteration", "iterations", "iter", "update", "updates", "num_updates", "trainer_global_step"];
const BATCH_SIZES = ["global_batch_size", "batch_size"];
// Other names of a split.
const SPLITS = new Map([["val", ["eval", "valid", "validation"]]]);
// What a column holds after these words is a statistic of a metric, not its value at a step.
const STATISTICS = new Set(["best", "min", "max", "ema", "mean", "median", "std", "avg", "lowest", "highest", "smoothed"]);
// Names that say nothing of what was measured, such as TensorBoard's.
const GENERIC = new Set(["value", "values"]);

/** Returns a name in lower case, with anything but letters and digits as _. */
export function plain(name) {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "");
}

/**
 * Guesses which columns hold the steps and a metric; undefined where that isn't clear.
 * @param {{names: string[], rows: object[]}} table
 * @param {string} metric
 * @param {string[]} taken columns that hold other metrics
 * @returns {{step: string | undefined, value: string | undefined}}
 */
export function guessed(table, metric, taken = []) {
  const isUnnamed = table.names.length === 2 && table.names.every((name, index) => name === `column ${index + 1}`);
  const step = isUnnamed ? table.names[0] : stepIn(table);
  const others = table.names.filter((name) => name !== step && !STEPS.includes(plain(name)));
  const free = others.filter((name) => !taken.includes(name) && (isUnnamed || GENERIC.has(plain(name))));
  return { step, value: named(others, metric) ?? unsplit(others, metric, taken) ?? only(free) };
}

/** Returns the first column with a name of steps; undefined if another one differs from it in any row. */
function stepIn({ names, rows }) {
  const matching = STEPS.flatMap((each) => names.flatMap((name, place) => (plain(name) === each ? [place] : [])));
  const [first, ...others] = matching.filter((place) => rows.some(({ cells }) => cells[place]));
  const areSame = rows.every(({ cells }) => others.every((place) => isSame(cells[place], cells[first])));
  return areSame ? names[first] : undefined;
}

function isSame(one, other) {
  return one === other || (numberIn(one) !== undefined && numberIn(one) === numberIn(other));
}

/** Returns the column whose name has the split and the quantity of a metric. */
function named(names, metric) {
  const [split, quantity] = metric.split("/");
  const aliases = (SPLITS.get(split) ?? []).map((each) => plain(`${each}/${quantity}`));
  const ways = [
    (name) => name === metric,
    (name) => plain(name) === plain(metric),
    (name) => aliases.includes(plain(name)),
    (name) => isPrefixed(name, [plain(metric), ...aliases]),
  ];
  return only(ways.map((way) => names.filter(way)).find((matching) => matching.length) ?? []);
}

/** Returns true for names such as "my run - val/loss" and "metrics.val/loss", and false for "best/val/loss". */
function isPrefixed(name, wanted) {
  return [...name.matchAll(/ - |[./:]/g)].some(({ index, 0: separator }) => {
    const lastWord = plain(name.slice(0, index)).split("_").at(-1);
    return wanted.includes(plain(name.slice(index + separator.length))) && !STATISTICS.has(lastWord);
  });
}

/** Returns the column named by a metric's quantity alone, if no other one may be of this quantity. */
function unsplit(names, metric, taken) {
  const quantity = plain(metric.split("/")[1]);
  const one = only(names.filter((name) => `_${plain(name)}`.endsWith(`_${quantity}`)));
  return one !== undefined && plain(one) === quantity && !taken.includes(one) ? one : undefined;
}

function only(list) {
  return list.length === 1 ? list[0] : undefined;
}

/** Returns the batch sizes that the rows of a table state, ascending. */
export function batchSizesIn({ names, rows }) {
  const place = BATCH_SIZES.map((each) => names.findIndex((name) => plain(name) === each)).find((index) => index >= 0);
  const sizes = new Set(rows.map(({ cells }) => numberIn(cells[place] ?? "")));
  return [...sizes].filter(Number.isFinite).sort((one, other) => one - other);
}
