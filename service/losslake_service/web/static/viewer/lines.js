// Curves in the coordinates of the axes, their panels, and the one that is nearest to a point.

import { smoothed } from "./smoothing.js";

/** The room around the box of a panel, in px. */
export const MARGIN = { left: 58, right: 12, top: 24, bottom: 38 };
const PANEL = { width: 300, height: 220 };
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
export function lineOf(curve, log, smooth, colour) {
  const [isLogX, isLogY] = [log.includes("x"), log.includes("y")];
  const place = (value) => (Number.isFinite(value) ? to(value, isLogY) : NaN);
  const x = curve.steps.map((step) => to(step, isLogX));
  const raw = curve.values.map(place);
  const y = smooth ? smoothed(curve.values, smooth).map(place) : raw;
  const nOdd = curve.values.filter((value) => !Number.isFinite(value)).length;
  const nUnplaced = x.filter((each, index) => Number.isNaN(each) || (Number.isNaN(raw[index]) && Number.isFinite(curve.values[index]))).length;
  return { curve, x, y, raw, colour, nOdd, nUnplaced };
}

/** Returns a function of the height that gives the panels, and the height that they need in px; 0 for any. */
export function panelsOf({ curves, isDivided }, width) {
  const groups = new Map(isDivided ? [] : [["", []]]);
  curves.forEach((curve, index) => {
    const label = isDivided ? `Batch size ${curve.batchSize.toLocaleString("en")}` : "";
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push(index);
  });
  const nColumns = isDivided ? Math.max(1, Math.min(groups.size, Math.floor(width / PANEL.width))) : 1;
  const nRows = Math.ceil(groups.size / nColumns);
  const panels = (height) => [...groups].map(([label, indexes], place) => {
    const [cellWidth, cellHeight] = [width / nColumns, height / nRows];
    const [left, top] = [(place % nColumns) * cellWidth + MARGIN.left, Math.floor(place / nColumns) * cellHeight + MARGIN.top];
    const box = { left, top, width: Math.max(40, cellWidth - MARGIN.left - MARGIN.right), height: cellHeight - MARGIN.top - MARGIN.bottom };
    return { label, indexes, box, studies: [...new Set(indexes.map((index) => curves[index].study))] };
  });
  return { panels, height: isDivided ? nRows * PANEL.height : 0 };
}

/**
 * Returns the line of a panel that passes nearest above or below a point in px, or has an evaluation nearest to it.
 * @returns {{line: object, at: number} | undefined} at: the index of the evaluation; undefined if no line is near
 */
export function nearestLine({ box, indexes }, lines, view, [px, py]) {
  const [unitX, unitY] = [box.width / (view.x[1] - view.x[0]), box.height / (view.y[1] - view.y[0])];
  const x = view.x[0] + (px - box.left) / unitX;
  const y = view.y[1] - (py - box.top) / unitY;
  let [nearest, least] = [undefined, NEAR];
  for (const index of indexes) {
    const line = lines[index];
    const after = firstAfter(line.x, x);
    const height = Math.abs(heightAt(line, after, x) - y) * unitY;
    if (height < least) [nearest, least] = [{ line, at: x - line.x[after - 1] < line.x[after] - x ? after - 1 : after }, height];
    for (const at of [after - 1, after]) {
      const distance = Math.hypot((line.x[at] - x) * unitX, (line.y[at] - y) * unitY);
      if (distance < least) [nearest, least] = [{ line, at }, distance];
    }
  }
  return nearest;
}

/** Returns the value of a line at a coordinate of steps between two evaluations; NaN without one of them. */
function heightAt({ x, y }, after, at) {
  const share = (at - x[after - 1]) / (x[after] - x[after - 1]);
  return y[after - 1] + share * (y[after] - y[after - 1]);
}

/** Returns the index of the number nearest to another. numbers: ascending */
export function nearestOf(numbers, wanted) {
  const after = firstAfter(numbers, wanted);
  if (after === 0 || after === numbers.length) return Math.max(0, after - 1);
  return wanted - numbers[after - 1] < numbers[after] - wanted ? after - 1 : after;
}

/** Returns the index of the first coordinate above a number. NaN, the place of step 0 on a log axis, comes first. */
export function firstAfter(x, at) {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns a function that runs an action once before the next frame, however often it is called. */
export function batched(act) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      act();
    });
  };
}
