// The axes of a panel: numbers and lines of a grid, placed by the scales of D3.

import { scaleLinear, scaleLog } from "../vendor/d3.js";
import { from } from "./lines.js";
import { MARGIN } from "./panels.js";

const FONT = '12px "Liberation Sans"';
const NUMBERS = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
// px between two ticks.
const APART = { x: 75, y: 45 };

/** Draws the axes, the grid and the label of a panel. */
export function drawAxes(context, { box, label }, view, { log, axis = "step" }, { text, quiet, line }) {
  const [right, bottom] = [box.left + box.width, box.top + box.height];
  context.font = FONT;
  context.lineWidth = 1;
  context.strokeStyle = line;
  context.fillStyle = quiet;
  context.beginPath();
  context.textAlign = "center";
  for (const [x, words] of ticks(view.x, log.includes("x"), [box.left, right], APART.x)) {
    context.moveTo(x, box.top);
    context.lineTo(x, bottom);
    // The last one may not be cut off: 100,000 would read as 100,00.
    const rightmost = right + MARGIN.right - context.measureText(words).width / 2;
    context.fillText(words, Math.min(x, rightmost), bottom + 15);
  }
  context.textAlign = "right";
  for (const [y, words] of ticks(view.y, log.includes("y"), [bottom, box.top], APART.y)) {
    context.moveTo(box.left, y);
    context.lineTo(right, y);
    context.fillText(words, box.left - 6, y + 4);
  }
  context.rect(box.left + 0.5, box.top + 0.5, box.width, box.height);
  context.stroke();
  context.fillText(axis, right, bottom + 31);
  context.textAlign = "left";
  context.fillStyle = text;
  context.fillText(label, box.left, box.top - 7);
}

/** Returns a number as the label of a tick. */
export function tickText(number) {
  const size = Math.abs(number);
  if (size && (size < 1e-4 || size >= 1e7)) return Number(number.toPrecision(4)).toExponential();
  return NUMBERS.format(number);
}

/** Returns the ticks of a range of coordinates: the px of each between two places, and its text, empty for none. */
function ticks(range, isLog, places, apart) {
  const count = Math.max(2, Math.floor(Math.abs(places[1] - places[0]) / apart));
  const ends = range.map((end) => from(end, isLog));
  if (!ends.every((end) => Number.isFinite(end) && (end > 0 || !isLog))) return [];
  const scale = (isLog ? scaleLog : scaleLinear)(ends, places);
  const isNamed = scale.tickFormat(count);
  return scale.ticks(count).map((value) => [Math.round(scale(value)) + 0.5, isNamed(value) ? tickText(value) : ""]);
}
