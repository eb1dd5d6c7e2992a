// Draws a reader's own run over the figure of stored curves, or of steps by batch size.

import { whole } from "../numbers.js";
import { stepsTo } from "./curve.js";

// Those of --own in viewer.css.
const OWN = { light: "#c2185b", dark: "#ff80ab" };
let shown;

/**
 * Sets the run that figures show, and has them drawn anew. A thinned one has no counts, and its axes reach to its end.
 * @param {{steps: Float64Array, values: Float64Array, metric: string, goal: object | null, batchSize: number | undefined, name?: string, isThinned?: boolean} | undefined} run
 */
export function showOwnRun(run) {
  shown = run;
  document.dispatchEvent(new CustomEvent("own-run", { detail: run }));
}

/** Returns true if a figure is of a kind that shows own runs. */
export function takesOwnRun(figure) {
  return /\/figures\/(curves|scaling)\./.test(figure.dataset.live);
}

/** Adds the run to the specification of a figure, and to its notes what isn't seen of it. */
export function addOwnRun(figure, specification, theme) {
  if (!shown || !takesOwnRun(figure)) return;
  const { pathname, searchParams } = new URL(figure.dataset.live, location.href);
  const about = searchParams.getAll("metric");
  if (about.length !== 1 || about[0] !== shown.metric || specification.concat.length !== 1) return;
  const measure = searchParams.get("measure") ?? "steps";
  const isCurve = pathname.includes("/curves.");
  const tell = (text) => specification.usermeta.notes.push(text);
  const points = isCurve ? curvePoints(measure) : scalingPoints(measure, Number(searchParams.get("target")), tell);
  if (!points) tell(`${nameOf()} isn't drawn: its file has no ${measure}.`);
  if (!points?.length) return;
  const [plot] = specification.concat;
  const axes = { x: axisOf(plot, "x"), y: axisOf(plot, "y") };
  // Axes make room for the later half of a run that goes on, but for no stored curve.
  const within = !isCurve ? points : shown.isThinned ? points.slice(points.length >> 1) : [];
  for (const name of ["x", "y"]) widen(axes[name], within.map((point) => point[name]));
  const seen = points.filter(({ x, y }) => isWithin(axes.x, x) && isWithin(axes.y, y));
  for (const text of isCurve ? unseenOf(points, seen) : unplacedOf(points, axes)) tell(text);
  plot.layer.push(...layers(points, seen.at(-1), axes, OWN[theme], isCurve));
}

function nameOf() {
  return shown.name ?? "Your run";
}

/** Returns what isn't seen of a curve, as sentences. */
function unseenOf(points, seen) {
  const n = points.length;
  const finite = points.filter(({ y }) => Number.isFinite(y)).length;
  const [outside, odd] = [finite - seen.length, n - finite];
  if (shown.isThinned) return outside ? [`A part of ${nameOf().toLowerCase()} lies outside of this picture.`] : [];
  return [
    outside && `${whole(outside)} of ${whole(n)} evaluations of your run ${outside === 1 ? "lies" : "lie"} outside of this picture; the curve viewer shows all.`,
    odd && `${whole(odd)} of ${whole(n)} evaluations of your run ${odd === 1 ? "isn't" : "aren't"} finite, so not drawn.`,
  ].filter(Boolean);
}

function unplacedOf(points, axes) {
  return points.every((point) => isPlaced(axes, point)) ? [] : [`${nameOf()} isn't drawn: it is at the target at step 0, for which a logarithmic axis has no place.`];
}

function isPlaced(axes, point) {
  return ["x", "y"].every((name) => axes[name][0].scale.type !== "log" || point[name] > 0);
}

/** Returns the points of the curve; undefined if a chart measures what the file doesn't have. */
function curvePoints(measure) {
  return measure === "steps" ? [...shown.steps].map((x, index) => ({ x, y: shown.values[index] })) : undefined;
}

function scalingPoints(measure, target, tell) {
  const { batchSize, goal } = shown;
  if (!["steps", "examples"].includes(measure)) return undefined;
  // A slider moves the chart's target before the page follows; the sign of the goal holds for it, too.
  const toTarget = stepsTo(shown, { ...goal, target });
  if (toTarget === null) tell(`${nameOf()} isn't drawn: it doesn't reach the target.`);
  if (toTarget === null || !batchSize) return [];
  return [{ x: batchSize, y: measure === "examples" ? toTarget * batchSize : toTarget }];
}

/** Returns the encodings of an axis: those with a domain. */
function axisOf(plot, name) {
  return plot.layer.map((layer) => layer.encoding?.[name]).filter((each) => each?.scale?.domain);
}

function widen(encodings, values) {
  for (const { scale } of encodings) {
    const room = scale.type === "log" ? 1.3 : shown.isThinned ? 1.04 : 1;
    const ends = values.filter((value) => Number.isFinite(value) && (value > 0 || scale.type !== "log"));
    scale.domain = [Math.min(scale.domain[0], ...ends.map((end) => end / room)), Math.max(scale.domain[1], ...ends.map((end) => end * room))];
  }
}

function isWithin([{ scale }], value) {
  return value >= scale.domain[0] && value <= scale.domain[1];
}

/** Returns the marks of a run; last: the point that has its name. */
function layers(points, last, axes, colour, isCurve) {
  const [x, y] = [{ ...axes.x[0], field: "x" }, { ...axes.y[0], field: "y" }];
  const layer = (values, mark, tooltip) => ({ data: { values }, mark: { color: colour, ...mark }, encoding: { x, y, ...tooltip } });
  const point = { type: "point", filled: true, opacity: 1, clip: true };
  const name = { type: "text", text: nameOf(), fontWeight: "bold", align: isCurve ? "right" : "left", dx: isCurve ? 0 : 10, dy: isCurve ? -9 : 0, tooltip: null };
  const names = last ? [layer([last], name)] : [];
  const values = points.filter((each) => isPlaced(axes, { ...each, y: 1 })).map((each) => ({ ...each, y: Number.isFinite(each.y) && isPlaced(axes, each) ? each.y : null }));
  if (!isCurve) {
    const tooltip = [{ field: "x", type: "quantitative", title: x.axis?.title ?? "Steps", format: "," }, { field: "y", type: "quantitative", title: y.axis?.title ?? nameOf(), format: ".6~g" }];
    return [layer(values, { ...point, shape: "diamond", size: 160 }, { tooltip }), ...names];
  }
  // A line needs two neighbours: what has none is a point.
  const isDrawn = (index) => (values[index]?.y ?? null) !== null;
  const lone = values.filter((_, index) => isDrawn(index) && !isDrawn(index - 1) && !isDrawn(index + 1));
  const dots = lone.length ? [layer(lone, { ...point, size: 60, tooltip: null })] : [];
  return [layer(values, { type: "line", strokeWidth: 3, clip: true, tooltip: null }), ...dots, ...names];
}
