// A reader's own run: its curve from a table, its steps to a target, and how it compares to stored trials.

import { counted, general, significant, whole } from "../numbers.js";
import { numberIn } from "./table.js";

// The signs of goals.
const REACHES = {
  "<": (value, target) => value < target,
  "<=": (value, target) => value <= target,
  ">": (value, target) => value > target,
  ">=": (value, target) => value >= target,
};

/**
 * Returns the curve of two columns, by step; rows without one of both are left out.
 * Throws an error of one line where a cell is no number, a step no whole one, a step has two values, or steps turn back.
 * @returns {{steps: Float64Array, values: Float64Array}}
 */
export function curveOf({ names, rows }, step, value) {
  const [stepPlace, valuePlace] = [names.indexOf(step), names.indexOf(value)];
  const byStep = new Map();
  let last;
  let direction = 0;
  for (const { place, cells } of rows) {
    const [stepCell, valueCell] = [cells[stepPlace], cells[valuePlace]];
    if (!stepCell || !valueCell) continue;
    const at = number(stepCell, place, step);
    const measured = number(valueCell, place, value);
    if (!Number.isInteger(at) || at < 0) throw new Error(`${place}: ${step} is ${stepCell}, but steps are whole numbers from 0.`);
    if (at && /^\d{1,3}\.000$/.test(stepCell)) throw new Error(`${place}: ${step} is ${stepCell}, which may be ${at} or ${whole(1000 * at)}: write steps as whole numbers.`);
    const earlier = byStep.get(at);
    if (earlier && !Object.is(earlier.measured, measured)) throw new Error(`Step ${whole(at)} has two values of ${value} (${earlier.place}, ${place}): give one run.`);
    const turn = last === undefined ? 0 : Math.sign(at - last);
    if (turn * direction < 0) throw new Error(`${place}: ${step} goes ${turn < 0 ? "back" : "up"} from ${whole(last)} to ${whole(at)}: give one run.`);
    direction ||= turn;
    last = at;
    byStep.set(at, { measured, place });
  }
  if (!byStep.size) throw new Error(`No row has both ${step} and ${value}.`);
  const steps = Float64Array.from(byStep.keys()).sort();
  return { steps, values: steps.map((at) => byStep.get(at).measured) };
}

function number(cell, place, name) {
  const value = numberIn(cell);
  if (value === undefined) throw new Error(`${place}: ${name} is “${cell.slice(0, 40)}”, which isn't a number.`);
  return value;
}

/** Returns the first step at which a curve reaches the target, else null. A value that isn't finite never does. */
export function stepsTo({ steps, values }, { target, sign }) {
  const index = values.findIndex((value) => Number.isFinite(value) && REACHES[sign](value, target));
  return index < 0 ? null : steps[index];
}

// From values in another unit to those of the metric.
const CONVERTED = { percent: (value) => value / 100, fractions: (value) => value * 100 };

/**
 * Returns a curve in the unit of its metric, and the sentence that says how it was converted, if it was.
 * Throws an error of one line where values can't be those of the metric.
 * @param {object[]} limits what values of the metric can't be
 */
export function inUnits(curve, limits) {
  const broken = brokenLimit(curve, limits);
  if (!broken) return [curve, undefined];
  if (!broken.limit.unit) throw new Error(broken.text);
  const converted = { ...curve, values: curve.values.map(CONVERTED[broken.limit.unit]) };
  const still = brokenLimit(converted, limits);
  if (still) throw new Error(`${broken.text} But then: ${still.text}`);
  return [converted, broken.text];
}

/** Returns which of its metric's limits a curve breaks, and that as a sentence; undefined if none. */
function brokenLimit({ values }, limits) {
  const finite = values.filter(Number.isFinite).sort();
  const ends = { least: finite[0], middle: finite[finite.length >> 1], largest: finite.at(-1) };
  const limit = limits.find(({ of, above, upTo }) => ends[of] > (above ?? -Infinity) && ends[of] <= (upTo ?? Infinity));
  return limit && { limit, text: `Its values ${limit.of === "least" ? `down to ${general(ends.least)}` : `up to ${general(ends.largest)}`} ${limit.text}` };
}

/**
 * Returns a sentence about a run beside stored trials.
 * @param {{steps: Float64Array, values: Float64Array}} curve
 * @param {{target: number, sign: string, text: string}} goal
 * @param {object} [stored] what the server says of the trials at a batch size; without any, the run is alone
 */
export function compared(curve, goal, stored) {
  const steps = stepsTo(curve, goal);
  if (steps === null) return `Your run doesn't reach ${goal.text} within its ${whole(curve.steps.at(-1))} steps: ${bestOf(curve, goal)}.${stored ? ` ${stored.reached}` : ""}`;
  if (!stored) return `Your run needs ${whole(steps)} steps to ${goal.text}.`;
  const [, trial, itsSteps, name, rate] = stored.nearest.findLast(([from]) => from <= steps) ?? [];
  const beside = trial === undefined ? "" : `; the nearest is trial ${trial} (${whole(itsSteps)} steps${name ? `, ${name} ${significant(rate, 3)}` : ""})`;
  if (!stored.median) return `Your run needs ${whole(steps)} steps to ${goal.text}; the median of ${stored.trials} ${stored.withoutRatio}${beside}.`;
  const ratio = significant(steps / stored.median, 2);
  const times = ratio === "1" ? "about as many steps as" : `${ratio} times the steps of`;
  return `Your run needs ${times} the median of ${stored.trials} to ${goal.text} (${whole(steps)} rather than ${stored.medianText})${beside}.`;
}

/**
 * Returns how many steps a run saves or loses against the best stored trial, in a list: none if either lacks.
 * @param {number} seconds per step; 0 if it isn't known
 */
export function beside(curve, goal, stored, seconds) {
  const [steps, best] = [stepsTo(curve, goal), stored?.nearest[0]];
  if (steps === null || !best) return [];
  const [, trial, fewest] = best;
  const difference = Math.abs(steps - fewest);
  const time = seconds > 0 && difference ? `, or ${significant(difference * seconds, 3)} s at ${significant(seconds, 3)} s per step,` : "";
  const how = difference ? `${counted(difference, "step")} ${steps < fewest ? "fewer" : "more"}${time} than` : "as many steps as";
  return [`It takes ${how} the best stored trial, trial ${trial} (${whole(fewest)}).`];
}

function bestOf({ values }, { sign }) {
  const finite = values.filter(Number.isFinite).sort();
  return finite.length ? `its best value is ${general(finite.at(sign.startsWith("<") ? 0 : -1))}` : "no value is finite";
}
