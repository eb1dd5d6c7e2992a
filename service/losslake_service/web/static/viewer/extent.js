// The first view of curves: all of it, but for losses that would compress the rest.

import { extent as ends, max, median } from "../vendor/d3.js";
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
  const spans = lines.map(spanOf);
  const values = spans.flatMap((span) => span.values);
  if (!values.length) return { x: [0, 1], y: [0, 1], all: [0, 1] };
  const all = ends(values);
  const [first, last] = ends(spans.flatMap((span) => span.steps));
  let [low, high] = all;
  if (goal?.direction !== "maximize") high = largestUsual(values, spans, 1);
  if (goal?.direction !== "minimize") low = -largestUsual(values, spans, -1);
  [low, high] = ends([low, high, to(goal?.target ?? NaN, log.includes("y"))]);
  const pad = (high - low) * 0.03 || Math.abs(high) * 0.1 || 1;
  return { x: first < last ? [first, last] : [first - 1, last + 1], y: [low - pad, high + pad], all };
}

/** Returns the steps and values that have a place, and the values after step 0. */
function spanOf({ curve, x, raw }) {
  const placed = [...x.keys()].filter((at) => !Number.isNaN(x[at]) && !Number.isNaN(raw[at]));
  const trained = placed.filter((at) => curve.steps[at] > 0);
  const [steps, values] = [x, raw].map((coordinates) => placed.map((at) => coordinates[at]));
  return { steps, values, trained: trained.map((at) => raw[at]) };
}

/** Returns the largest loss that the axis has to reach, by the rule of the charts: see losslake/figures/outliers.py. */
function largestUsual(values, spans, sign) {
  const losses = values.map((value) => sign * value);
  const [best, worst] = ends(losses);
  const usual = median(spans, ({ trained }) => max(trained, (value) => sign * value));
  if (usual === undefined) return worst;
  const within = max(losses, (loss) => (loss <= usual + ROOM * (usual - best) ? loss : NaN));
  return worst - best > LEAST_GAIN * (within - best) && within > best ? within : worst;
}
