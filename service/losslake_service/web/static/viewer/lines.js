// Curves in the coordinates of the axes, and the one that is nearest to a point.

import { bisector, scaleLinear } from "../vendor/d3.js";

// px from a line to a point that is on it.
const NEAR = 14;

/** Converts a number to the coordinate of an axis; NaN for none. */
export function to(value, isLog) {
  return isLog ? (value > 0 ? Math.log10(value) : NaN) : value;
}

/** Converts a coordinate back. */
export function from(coordinate, isLog) {
  return isLog ? 10 ** coordinate : coordinate;
}

/** Returns a curve in coordinates: raw as measured, y as shown, both NaN where there is no place. */
export function lineOf(curve, { log, smooth }, colour) {
  const [isLogX, isLogY] = [log.includes("x"), log.includes("y")];
  const place = (value) => (Number.isFinite(value) ? to(value, isLogY) : NaN);
  const x = curve.steps.map((step) => to(step, isLogX));
  const raw = curve.values.map(place);
  const y = smooth ? smoothed(curve.values, smooth).map(place) : raw;
  return { curve, x, y, raw, colour };
}

/**
 * Returns the exponential moving average at each evaluation, debiased as in Adam: the first is the first evaluation.
 * NaN and infinite values stay, and count in no average.
 * @param {Float64Array} values
 * @param {number} weight of earlier evaluations, 0 to below 1
 */
export function smoothed(values, weight) {
  let sum = 0;
  let share = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    sum = weight * sum + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return sum / share;
  });
}

/** Returns the px of a unit of each coordinate in a box. */
export function unitsOf({ width, height }, { x, y }) {
  return [width / (x[1] - x[0]), height / (y[1] - y[0])];
}

/** Returns the scales from coordinates to px in a box. */
export function scalesOf({ left, top, width, height }, view) {
  return { across: scaleLinear(view.x, [left, left + width]), down: scaleLinear(view.y, [top + height, top]) };
}

/**
 * Returns the line of a panel that passes nearest above or below a point in px, or has an evaluation nearest to it.
 * @returns {{line: object, at: number} | undefined} at: the index of the evaluation; undefined if no line is near
 */
export function nearestLine({ box, indexes }, lines, view, [px, py]) {
  // Of thousands of lines: multiplication is quicker than scales.
  const [unitX, unitY] = unitsOf(box, view);
  const { across, down } = scalesOf(box, view);
  const [x, y] = [across.invert(px), down.invert(py)];
  let [nearest, least] = [undefined, NEAR];
  for (const index of indexes) {
    const line = lines[index];
    const after = firstAfter(line.x, x);
    const height = Math.abs(valueAt(line, after, x) - y) * unitY;
    if (height < least) {
      const at = x - line.x[after - 1] < line.x[after] - x ? after - 1 : after;
      [nearest, least] = [{ line, at }, height];
    }
    for (const at of [after - 1, after]) {
      const distance = Math.hypot((line.x[at] - x) * unitX, (line.y[at] - y) * unitY);
      if (distance < least) [nearest, least] = [{ line, at }, distance];
    }
  }
  return nearest;
}

/** Returns the value of a line at a coordinate of steps between two evaluations; NaN without one of them. */
function valueAt({ x, y }, after, at) {
  const share = (at - x[after - 1]) / (x[after] - x[after - 1]);
  return y[after - 1] + share * (y[after] - y[after - 1]);
}

/** Returns the index of the first coordinate above a number. NaN, the place of step 0 on a log axis, comes first. */
export const firstAfter = bisector((coordinate, number) => (coordinate > number ? 1 : -1)).right;
