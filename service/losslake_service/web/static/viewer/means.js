// Means of groups of curves, each with its band, in front of the curves themselves.

import { trace } from "./layer.js";
import { lineOf, scalesOf, to } from "./lines.js";

/** Returns a mean in coordinates. mean: steps, values, low and high, and its colour. */
export function meanOf(mean, { log }) {
  const line = lineOf(mean, { log, smooth: 0 }, mean.colour);
  const ends = (values) => values.map((value) => to(value, log.includes("y")));
  return { ...line, low: ends(mean.low), high: ends(mean.high) };
}

/** Draws means in a box. */
export function paintMeans(context, means, box, view, ground) {
  for (const mean of means) paintBand(context, mean, box, view);
  for (const mean of means) {
    trace(context, mean, mean.y, box, view, { colour: ground, width: 5, alpha: 0.7 });
    trace(context, mean, mean.y, box, view, { colour: mean.colour, width: 2.5 });
  }
}

function paintBand(context, { x, low, high, colour }, box, view) {
  const { across, down } = scalesOf(box, view);
  // On a logarithmic axis, a band that reaches 0 reaches the edge.
  const heightOf = (end) => down(Number.isNaN(end) ? view.y[0] : end);
  const placed = [...x.keys()].filter((at) => !Number.isNaN(x[at]) && !Number.isNaN(high[at]));
  context.globalAlpha = 0.18;
  context.fillStyle = colour;
  context.beginPath();
  for (const at of placed) context.lineTo(across(x[at]), heightOf(high[at]));
  for (const at of placed.reverse()) context.lineTo(across(x[at]), heightOf(low[at]));
  context.fill();
  context.globalAlpha = 1;
}
