// The axes of a panel: numbers and lines of a grid, placed by the scales of D3.

import { scaleLinear, scaleLog } from "../vendor/d3.js";
import { MARGIN, from } from "./lines.js";

const FONT = '12px "Liberation Sans"';
const NUMBERS = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const APART = { x: 75, y: 45 };

/** Draws the axes, the grid and the label of a panel. */
export function drawAxes(context, { box, label }, view, isLog, { text, quiet, line }) {
  context.font = FONT;
  context.lineWidth = 1;
  context.strokeStyle = line;
  context.fillStyle = quiet;
  const across = (at) => box.left + ((at - view.x[0]) / (view.x[1] - view.x[0])) * box.width;
  const down = (at) => box.top + ((view.y[1] - at) / (view.y[1] - view.y[0])) * box.height;
  context.beginPath();
  context.textAlign = "center";
  for (const [at, words] of ticks(view.x, isLog.x, box.width / APART.x)) {
    const x = Math.round(across(at)) + 0.5;
    context.moveTo(x, box.top);
    context.lineTo(x, box.top + box.height);
    // The last one may not be cut off: 100,000 would read as 100,00.
    const rightmost = box.left + box.width + MARGIN.right - context.measureText(words).width / 2;
    if (words) context.fillText(words, Math.min(x, rightmost), box.top + box.height + 15);
  }
  context.textAlign = "right";
  for (const [at, words] of ticks(view.y, isLog.y, box.height / APART.y)) {
    const y = Math.round(down(at)) + 0.5;
    context.moveTo(box.left, y);
    context.lineTo(box.left + box.width, y);
    if (words) context.fillText(words, box.left - 6, y + 4);
  }
  context.rect(box.left + 0.5, box.top + 0.5, box.width, box.height);
  context.stroke();
  context.fillText("step", box.left + box.width, box.top + box.height + 31);
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

/** Returns the ticks of a range of coordinates: the coordinate, and the text, empty for lines without one. */
function ticks(range, isLog, most) {
  const count = Math.max(2, Math.floor(most));
  const scale = (isLog ? scaleLog : scaleLinear)();
  const ends = range.map((end) => from(end, isLog));
  if (!ends.every((end) => Number.isFinite(end) && (end > 0 || !isLog))) return [];
  scale.domain(ends);
  const isNamed = scale.tickFormat(count);
  return scale.ticks(count).map((value) => [isLog ? Math.log10(value) : value, isNamed(value) && tickText(value)]);
}
