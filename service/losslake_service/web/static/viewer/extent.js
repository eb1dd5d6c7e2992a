// The first view of curves: all of it, but for losses that would compress the rest.

import { to } from "./lines.js";

const ROOM = 1;
const LEAST_GAIN = 2;

/**
 * Returns the view of all lines.
 * @param {object[]} lines in coordinates
 * @param {object} goal with target and direction; null where the direction isn't known
 * @param {string} log the logarithmic axes
 * @returns {{x: number[], y: number[], all: number[]}} all: the least and the greatest coordinate of values
 */
export function extent(lines, goal, log) {
  const spans = lines.map(spanOf).filter((span) => span.values.length);
  if (!spans.length) return { x: [0, 1], y: [0, 1], all: [0, 1] };
  const values = spans.flatMap((span) => span.values);
  const all = ends(values);
  const [first, last] = ends(spans.flatMap((span) => span.steps));
  let [low, high] = all;
  if (goal?.direction !== "maximize") high = largestUsual(values, spans, 1);
  if (goal?.direction !== "minimize") low = -largestUsual(values, spans, -1);
  const target = to(goal?.target ?? NaN, log.includes("y"));
  if (Number.isFinite(target)) [low, high] = [Math.min(low, target), Math.max(high, target)];
  const pad = (high - low) * 0.03 || Math.abs(high) * 0.1 || 1;
  return { x: first < last ? [first, last] : [first - 1, last + 1], y: [low - pad, high + pad], all };
}

/** Returns the steps and values that have a place, and the values after step 0. */
function spanOf({ curve, x, raw }) {
  const placed = [...x.keys()].filter((at) => !Number.isNaN(x[at]) && !Number.isNaN(raw[at]));
  const trained = placed.filter((at) => curve.steps[at] > 0);
  return { steps: placed.map((at) => x[at]), values: placed.map((at) => raw[at]), trained: trained.map((at) => raw[at]) };
}

/** Returns the largest loss that the axis has to reach, by the rule of the charts: see losslake/figures/outliers.py. */
function largestUsual(values, spans, sign) {
  const losses = values.map((value) => sign * value);
  const [best, worst] = ends(losses);
  const highest = spans.filter((span) => span.trained.length).map((span) => ends(span.trained.map((value) => sign * value))[1]);
  if (!highest.length) return worst;
  const usual = median(highest);
  const within = losses.reduce((most, loss) => (loss <= usual + ROOM * (usual - best) ? Math.max(most, loss) : most), best);
  return worst - best > LEAST_GAIN * (within - best) && within > best ? within : worst;
}

function ends(numbers) {
  let [least, most] = [Infinity, -Infinity];
  for (const each of numbers) [least, most] = [Math.min(least, each), Math.max(most, each)];
  return [least, most];
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}
