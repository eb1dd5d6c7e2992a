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
  if (!points) {
    tell(`${nameOf()} isn't drawn: its file has no ${measure}.`);
    return;
  }
  if (!points.length) return;
  const [plot] = specification.concat;
  const axes = { x: axisOf(plot, "x"), y: axisOf(plot, "y") };
  const within = isCurve ? latestOf(points) : points;
  for (const name of ["x", "y"]) widen(axes[name], within.map((point) => point[name]));
  const seen = points.filter(({ x, y }) => isWithin(axes.x, x) && isWithin(axes.y, y));
  for (const text of isCurve ? unseenOf(points, seen) : unplacedOf(points, axes)) tell(text);
  plot.layer.push(...layers(points, seen.at(-1), axes, OWN[theme], isCurve));
}

function nameOf() {
  return shown.name ?? "Your run";
}

/** Returns the points for which the axes of a curve make room: of a run that goes on, the later half. */
function latestOf(points) {
  return shown.isThinned ? points.slice(points.length >> 1) : [];
}

/** Returns what isn't seen of a curve, as sentences. */
function unseenOf(points, seen) {
  const n = points.length;
  const finite = points.filter(({ y }) => Number.isFinite(y)).length;
  const texts = [];
  if (shown.isThinned) return seen.length < finite ? [`A part of ${nameOf().toLowerCase()} lies outside of this picture.`] : [];
  if (seen.length < finite) texts.push(`${whole(finite - seen.length)} of ${whole(n)} evaluations of your run ${finite - seen.length === 1 ? "lies" : "lie"} outside of this picture; the curve viewer shows all.`);
  if (finite < n) texts.push(`${whole(n - finite)} of ${whole(n)} evaluations of your run ${n - finite === 1 ? "isn't" : "aren't"} finite, so not drawn.`);
  return texts;
}

function unplacedOf(points, axes) {
  return points.every((point) => isPlaced(axes, point)) ? [] : [`${nameOf()} isn't drawn: it is at the target at step 0, for which a logarithmic axis has no place.`];
}

function isPlaced(axes, point) {
  return ["x", "y"].every((name) => axes[name][0].scale.type !== "log" || point[name] > 0);
}

/** Returns the points of the curve; undefined if a chart measures what the file doesn't have. */
function curvePoints(measure) {
  if (measure !== "steps") return undefined;
  return [...shown.steps].map((x, index) => ({ x, y: shown.values[index] }));
}

function scalingPoints(measure, target, tell) {
  const { batchSize, goal } = shown;
  if (!["steps", "examples"].includes(measure)) return undefined;
  // A slider moves the chart's target before the page follows; the comparator of the goal holds for it, too.
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

function layers(points, last, axes, colour, isCurve) {
  const across = { ...axes.x[0], field: "x" };
  const up = { ...axes.y[0], field: "y" };
  const values = points.filter(({ x }) => isPlaced(axes, { x, y: 1 })).map(({ x, y }) => ({ x, y: Number.isFinite(y) && isPlaced(axes, { x: 1, y }) ? y : null }));
  const tooltip = [{ field: "x", type: "quantitative", title: across.axis?.title ?? "Steps", format: "," }, { field: "y", type: "quantitative", title: up.axis?.title ?? nameOf(), format: ".6~g" }];
  const mark = isCurve
    ? { type: "line", strokeWidth: 3, color: colour, clip: true, tooltip: null }
    : { type: "point", shape: "diamond", filled: true, size: 160, opacity: 1, color: colour, clip: true };
  const found = [{ data: { values }, mark, encoding: { x: across, y: up, ...(isCurve ? {} : { tooltip }) } }];
  // A line needs two neighbours: what has none is a point.
  const isDrawn = (index) => (values[index]?.y ?? null) !== null;
  const lone = values.filter((_, index) => isDrawn(index) && !isDrawn(index - 1) && !isDrawn(index + 1));
  if (isCurve && lone.length) {
    found.push({ data: { values: lone }, mark: { type: "point", filled: true, size: 60, opacity: 1, color: colour, clip: true, tooltip: null }, encoding: { x: across, y: up } });
  }
  if (last) {
    const text = { type: "text", text: nameOf(), fontWeight: "bold", align: isCurve ? "right" : "left", dx: isCurve ? 0 : 10, dy: isCurve ? -9 : 0, color: colour, tooltip: null };
    found.push({ data: { values: [last] }, mark: text, encoding: { x: across, y: up } });
  }
  return found;
}
