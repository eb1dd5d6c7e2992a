// A reader's own run: its curve from a table, its steps to a target, and how it compares to stored trials.

import { counted, general, half, significant, whole } from "../numbers.js";
import { cellOf, numberIn } from "./table.js";

const RATES = ["learning_rate", "effective_learning_rate", "lr", "init_lr", "base_learning_rate"];

/**
 * Returns the curve of two columns, by step; rows without one of both are left out.
 * Throws an error of one line where a cell is no number, a step no whole one, a step has two values, or steps turn back.
 * @returns {{steps: Float64Array, values: Float64Array}}
 */
export function curveOf({ names, rows }, step, value) {
  const [stepPlace, valuePlace] = [names.indexOf(step), names.indexOf(value)];
  const found = new Map();
  const places = new Map();
  let last;
  let direction = 0;
  for (const row of rows) {
    const { place } = row;
    const cells = [cellOf(row, stepPlace), cellOf(row, valuePlace)];
    if (!cells[0] || !cells[1]) continue;
    const at = number(cells[0], place, step);
    const measured = number(cells[1], place, value);
    if (!Number.isInteger(at) || at < 0) throw new Error(`${place}: ${step} is ${cells[0]}, but steps are whole numbers from 0.`);
    if (at && /^\d{1,3}\.000$/.test(cells[0])) throw new Error(`${place}: ${step} is ${cells[0]}, which may be ${at} or ${whole(1000 * at)}: write steps as whole numbers.`);
    if (found.has(at) && !Object.is(found.get(at), measured)) {
      throw new Error(`Step ${whole(at)} has two values of ${value} (${places.get(at)}, ${place}): give one run.`);
    }
    const turn = last === undefined ? 0 : Math.sign(at - last);
    if (turn * direction < 0) {
      throw new Error(`${place}: ${step} goes ${turn < 0 ? "back" : "up"} from ${whole(last)} to ${whole(at)}: give one run.`);
    }
    direction ||= turn;
    last = at;
    found.set(at, measured);
    places.set(at, place);
  }
  if (!found.size) throw new Error(`No row has both ${step} and ${value}.`);
  const steps = Float64Array.from(found.keys()).sort();
  return { steps, values: steps.map((at) => found.get(at)) };
}

function number(cell, place, name) {
  const value = numberIn(cell);
  if (value === undefined) throw new Error(`${place}: ${name} is “${cell.slice(0, 40)}”, which isn't a number.`);
  return value;
}

/** Returns the first step at which a curve reaches the target, else null. A value that isn't finite never does. */
export function stepsTo({ steps, values }, { target, direction, comparator }) {
  const isAt = (value) => comparator === "inclusive" && value === target;
  const isBeyond = direction === "minimize" ? (value) => value < target : (value) => value > target;
  const index = values.findIndex((value) => Number.isFinite(value) && (isBeyond(value) || isAt(value)));
  return index < 0 ? null : steps[index];
}

/** Returns the best value of a curve; undefined if none is finite. */
export function bestOf({ values }, direction) {
  const finite = values.filter(Number.isFinite);
  if (!finite.length) return undefined;
  return finite.reduce((one, other) => (direction === "maximize" ? Math.max(one, other) : Math.min(one, other)));
}

/**
 * Returns why values can't be those of a metric, as a sentence; undefined if they can.
 * @param {{values: Float64Array}} curve
 * @param {{smallest: number | null, largest: number, isOfBest: boolean, text: string} | null} range of the metric; isOfBest:
 *   some values of a curve may be larger
 */
export function unlike({ values }, range) {
  const finite = values.filter(Number.isFinite).sort();
  if (!range || !finite.length) return undefined;
  const [low, high] = [finite[0], finite.at(-1)];
  // Where single values may be larger, a curve of fractions is in the range for most of its evaluations.
  const typical = range.isOfBest ? finite[Math.floor(finite.length / 2)] : high;
  const upTo = `Its values up to ${general(high)}`;
  if (Math.round(range.largest) === 1 && typical > range.largest && typical <= 100) return `${upTo} look like percent: ${range.text}. Divide them by 100.`;
  if (Math.round(range.largest) === 100 && high > 0 && high <= 1) return `${upTo} look like fractions: ${range.text}. Multiply them by 100.`;
  if (typical > range.largest) return `${upTo} are too large: ${range.text}. Choose another column.`;
  if (range.smallest !== null && low < range.smallest) return `Its values down to ${general(low)} are too small: ${range.text}. Choose another column.`;
  return undefined;
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
 * @param {string} where what the trials have in common, such as " at batch size 64"
 */
export function compared(curve, goal, rows, where = "") {
  const own = stepsTo(curve, goal);
  const n = rows.length;
  const trials = `${counted(n, "trial")}${where}`;
  const reached = rows.filter((row) => row.steps !== null).length;
  const median = n ? medianOf(rows) : null;
  if (own === null) {
    const best = bestOf(curve, goal.direction);
    const reach = best === undefined ? "no value is finite" : `its best value is ${general(best)}`;
    const others = !n ? "" : ` ${whole(reached)} of ${trials} reach${n === 1 && reached ? "es" : ""} it${median === null ? "" : `, the median after ${half(median)}`}.`;
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
  return `Your run needs ${so} the median of ${trials} to ${goal.text} (${whole(own)} rather than ${half(median)})${beside}.`;
}

function rateOf({ parameters }) {
  const name = RATES.find((each) => Number.isFinite(parameters?.[each]));
  return name ? `, ${name.replaceAll("_", " ")} ${significant(parameters[name], 3)}` : "";
}
