// A reader's own run: its curve from a table, its steps to a target, and how it compares to stored trials.

import { general, significant, whole } from "../numbers.js";
import { cellOf, numberIn } from "./table.js";

const STEPS = ["step", "steps", "global_step", "iteration", "iterations", "iter", "update", "updates", "num_updates", "trainer_global_step"];
const RATES = ["learning_rate", "effective_learning_rate", "lr", "init_lr", "base_learning_rate"];
const OTHERS = /epoch|time|learning_rate|^lr$|batch|seed|version|grad_norm/;

/** Returns a name in lower case, with anything but letters and digits as _. */
function plain(name) {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "");
}

/**
 * Guesses which columns hold the steps and a metric; undefined where that isn't clear.
 * @returns {{step: string | undefined, value: string | undefined}}
 */
export function guessed({ names, rows }, metric) {
  const numeric = names.filter((_, index) => rows.some((row) => numberIn(cellOf(row, index)) !== undefined));
  const byName = STEPS.map((each) => numeric.find((name) => plain(name) === each)).find(Boolean);
  const isUnnamed = names.every((name, index) => name === `column ${index + 1}`);
  const step = byName ?? (isUnnamed && names.length === 2 ? names[0] : undefined);
  const others = numeric.filter((name) => name !== step && !OTHERS.test(plain(name)));
  const wanted = plain(metric);
  const value = others.find((name) => name === metric) ?? only(others.filter((name) => plain(name) === wanted)) ?? only(others.filter((name) => plain(name).endsWith(wanted)));
  return { step, value: value ?? only(others) };
}

function only(list) {
  return list.length === 1 ? list[0] : undefined;
}

/** Returns the batch size that all rows of a table state; undefined if they don't. */
export function statedBatchSize({ names, rows }) {
  const place = names.findIndex((each) => ["batch_size", "global_batch_size"].includes(plain(each)));
  const sizes = new Set(rows.map((row) => numberIn(cellOf(row, place))));
  sizes.delete(undefined);
  return sizes.size === 1 ? [...sizes][0] : undefined;
}

/**
 * Returns the curve of two columns, by step; rows without one of both are left out.
 * Throws an error of one line where a cell is no number, a step no whole one, or a step has two values.
 * @returns {{steps: Float64Array, values: Float64Array}}
 */
export function curveOf({ names, rows }, step, value) {
  const [stepPlace, valuePlace] = [names.indexOf(step), names.indexOf(value)];
  const found = new Map();
  const lines = new Map();
  for (const row of rows) {
    const { line } = row;
    const cells = [cellOf(row, stepPlace), cellOf(row, valuePlace)];
    if (!cells[0] || !cells[1]) continue;
    const at = number(cells[0], line, step);
    const measured = number(cells[1], line, value);
    if (!Number.isInteger(at) || at < 0) throw new Error(`Line ${line}: ${step} is ${cells[0]}, but steps are whole numbers from 0.`);
    if (found.has(at) && !Object.is(found.get(at), measured)) {
      throw new Error(`Step ${whole(at)} has two values of ${value}, in lines ${lines.get(at)} and ${line}: give one run.`);
    }
    found.set(at, measured);
    lines.set(at, line);
  }
  if (!found.size) throw new Error(`No row has both ${step} and ${value}.`);
  const steps = Float64Array.from(found.keys()).sort();
  return { steps, values: steps.map((at) => found.get(at)) };
}

function number(cell, line, name) {
  const value = numberIn(cell);
  if (value === undefined) throw new Error(`Line ${line}: ${name} is “${cell.slice(0, 40)}”, which isn't a number.`);
  return value;
}

/** Returns the first step at which a curve reaches the target, else null. NaN never does. */
export function stepsTo({ steps, values }, { target, direction, comparator }) {
  const isAt = (value) => comparator === "inclusive" && value === target;
  const isBeyond = direction === "minimize" ? (value) => value < target : (value) => value > target;
  const index = values.findIndex((value) => isBeyond(value) || isAt(value));
  return index < 0 ? null : steps[index];
}

/** Returns the best value of a curve; undefined if none is finite. */
export function bestOf({ values }, direction) {
  const finite = values.filter(Number.isFinite);
  if (!finite.length) return undefined;
  return finite.reduce((one, other) => (direction === "maximize" ? Math.max(one, other) : Math.min(one, other)));
}

/** Returns the median of steps, null for never; null if fewer than half are known, or an even number's half. */
export function medianOf(rows) {
  const ordered = rows.map((row) => row.steps ?? Infinity).sort((one, other) => one - other);
  const middle = ordered.length / 2;
  const median = (ordered[Math.ceil(middle) - 1] + ordered[Math.floor(middle)]) / 2;
  return Number.isFinite(median) ? median : null;
}

/** Returns the row whose steps are nearest; of two as near, that of the lower trial. */
export function nearestTo(steps, rows) {
  const reached = rows.filter((row) => row.steps !== null);
  return reached.reduce((best, row) => {
    const gap = Math.abs(row.steps - steps) - Math.abs((best?.steps ?? Infinity) - steps);
    return gap < 0 || (gap === 0 && row.trial_id < best.trial_id) ? row : best;
  }, undefined);
}

/**
 * Returns sentences about a run beside the trials of a study.
 * @param {{steps: Float64Array, values: Float64Array}} curve
 * @param {{target: number, direction: string, comparator: string, text: string}} goal
 * @param {{trial_id: number, steps: number | null, parameters: Record<string, unknown>}[]} rows
 */
export function compared(curve, goal, rows) {
  const own = stepsTo(curve, goal);
  const n = rows.length;
  const trials = `${whole(n)} trial${n === 1 ? "" : "s"}`;
  const reached = rows.filter((row) => row.steps !== null).length;
  const median = n ? medianOf(rows) : null;
  if (own === null) {
    const best = bestOf(curve, goal.direction);
    const reach = best === undefined ? "no value is finite" : `its best value is ${general(best)}`;
    const others = !n ? "" : ` ${whole(reached)} of ${trials} reach${n === 1 && reached ? "es" : ""} it${median === null ? "" : `, the median after ${whole(median)}`}.`;
    return `Your run doesn't reach ${goal.text} within its ${whole(curve.steps.at(-1))} steps: ${reach}.${others}`;
  }
  if (!n) return `Your run needs ${whole(own)} steps to ${goal.text}.`;
  const nearest = nearestTo(own, rows);
  const beside = nearest ? `; the nearest is trial ${nearest.trial_id} (${whole(nearest.steps)} steps${rateOf(nearest)})` : "";
  if (median === null || median === 0) {
    const why = median === 0 ? "needs none" : `doesn't reach it (${whole(reached)} ${reached === 1 ? "does" : "do"})`;
    return `Your run needs ${whole(own)} steps to ${goal.text}; the median of ${trials} ${why}${beside}.`;
  }
  const ratio = significant(own / median, 2);
  const so = ratio === "1" ? "about as many steps as" : `${ratio} times the steps of`;
  return `Your run needs ${so} the median of ${trials} to ${goal.text} (${whole(own)} rather than ${whole(median)})${beside}.`;
}

function rateOf({ parameters }) {
  const name = RATES.find((each) => Number.isFinite(parameters?.[each]));
  return name ? `, ${name.replaceAll("_", " ")} ${significant(parameters[name], 3)}` : "";
}
