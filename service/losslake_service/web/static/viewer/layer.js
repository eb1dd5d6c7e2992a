// The picture of all curves behind what is in front, drawn in slices: a page with 2,000 curves answers between them.

import { element } from "../elements.js";
import { firstAfter, scalesOf, unitsOf } from "./lines.js";

// Segments of a slice; it follows the time that frames take.
const SEGMENTS = { least: 300, first: 1500, most: 10000 };
const FRAME_MS = { short: 18, long: 24 };
// Sizes of a box: up to which the last picture is enlarged, and around it to which lines are drawn.
const MOST_ENLARGED = 50;
const AROUND = 4;
// In px; where values are larger, a segment is upright.
const FARTHEST = 1e15;

export class Layer {
  /** progressed: called when there is more to see. */
  constructor(progressed) {
    this.progressed = progressed;
    this.segments = SEGMENTS.first;
  }

  /** Drops the last picture, which another arrangement of panels outdates. */
  forget() {
    this.done = undefined;
  }

  /** Drops a drawing in progress, which a new view outdates. */
  stop() {
    cancelAnimationFrame(this.frame);
  }

  /**
   * Draws lines in a view, and drops a drawing in progress.
   * @param {{line: object, y: Float64Array, box: object, alpha: number}[]} jobs
   * @param {object} view
   * @param {HTMLCanvasElement} size a canvas of the size of the picture
   * @param {number} ratio of its pixels to those of boxes
   * @param {() => void} finished
   */
  start(jobs, view, { width, height }, ratio, finished) {
    this.stop();
    const canvas = element("canvas", { width, height });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.lineJoin = "round";
    const picture = { canvas, view, ratio };
    this.done ??= picture;
    let next = 0;
    let before = performance.now();
    const slice = (now) => {
      const took = now - before;
      before = now;
      if (took > FRAME_MS.long) this.segments = Math.max(SEGMENTS.least, this.segments / 2);
      else if (took < FRAME_MS.short) this.segments = Math.min(SEGMENTS.most, this.segments * 1.2);
      let inside;
      context.save();
      for (let drawn = 0; next < jobs.length && drawn < this.segments; next++) {
        const { line, y, box, alpha } = jobs[next];
        if (box !== inside) {
          context.restore();
          context.save();
          clip(context, box);
          inside = box;
        }
        drawn += 10 + trace(context, line, y, box, view, { colour: line.colour, width: 1.2, alpha });
      }
      context.restore();
      if (next < jobs.length) this.frame = requestAnimationFrame(slice);
      else {
        this.done = picture;
        finished();
      }
      if (this.done === picture) this.progressed();
    };
    this.frame = requestAnimationFrame(slice);
  }

  /** Puts the last picture of a panel where a view has it. */
  place(context, box, view) {
    if (!this.done) return;
    const { canvas, view: drawn, ratio } = this.done;
    const { across, down } = scalesOf(box, view);
    const [left, right] = drawn.x.map((at) => across(at));
    const [bottom, top] = drawn.y.map((at) => down(at));
    const [width, height] = [right - left, bottom - top];
    if (width > MOST_ENLARGED * box.width || height > MOST_ENLARGED * box.height || width < 1 || height < 1) return;
    const source = [box.left, box.top, box.width, box.height].map((px) => px * ratio);
    context.drawImage(canvas, ...source, left, top, width, height);
  }
}

/** Limits drawing to a box. */
export function clip(context, box) {
  context.beginPath();
  context.rect(box.left, box.top, box.width, box.height);
  context.clip();
}

/** Draws the part of a line that is in view, and dots for lone evaluations; returns how many segments it has. */
export function trace(context, { x }, y, box, view, { colour, width, alpha = 1 }) {
  const [unitX, unitY] = unitsOf(box, view);
  const begin = Math.max(0, firstAfter(x, view.x[0]) - 2);
  const end = Math.min(x.length, firstAfter(x, view.x[1]) + 1);
  // Lines far outside of a canvas cost time, and lose precision.
  const around = (start, size) => [start - AROUND * size, start + (AROUND + 1) * size];
  const bounds = { x: around(box.left, box.width), y: around(box.top, box.height) };
  const dots = [];
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.globalAlpha = alpha;
  context.beginPath();
  // The evaluation before: its place, whether that is within bounds, and how many there are since the last break.
  let [beforeX, beforeY, wasWithin, length] = [0, 0, false, 0];
  for (let at = begin; at <= end; at++) {
    if (at === end || Number.isNaN(y[at]) || Number.isNaN(x[at])) {
      if (length === 1) dots.push([beforeX, beforeY]);
      length = 0;
      continue;
    }
    const px = box.left + (x[at] - view.x[0]) * unitX;
    const py = Math.max(-FARTHEST, Math.min(FARTHEST, box.top + (view.y[1] - y[at]) * unitY));
    const isWithin = px >= bounds.x[0] && px <= bounds.x[1] && py >= bounds.y[0] && py <= bounds.y[1];
    if (!length) context.moveTo(px, py);
    else if (wasWithin && isWithin) context.lineTo(px, py);
    else traceWithin(context, [beforeX, beforeY], [px, py], bounds);
    [beforeX, beforeY, wasWithin] = [px, py, isWithin];
    length++;
  }
  context.stroke();
  if (dots.length) drawDots(context, dots, colour, 0.4 + 0.9 * width);
  context.globalAlpha = 1;
  return Math.max(0, end - begin);
}

/** Adds the part of a segment that is within bounds to the path. */
function traceWithin(context, [x0, y0], [x1, y1], bounds) {
  let [from, until] = [0, 1];
  for (const [start, change, [least, most]] of [[x0, x1 - x0, bounds.x], [y0, y1 - y0, bounds.y]]) {
    // Parallel to the bounds: the quotients would be infinite, or NaN on a bound.
    if (change === 0 && start >= least && start <= most) continue;
    const [one, other] = [(least - start) / change, (most - start) / change];
    from = Math.max(from, Math.min(one, other));
    until = Math.min(until, Math.max(one, other));
  }
  if (!(from < until)) return;
  context.moveTo(x0 + from * (x1 - x0), y0 + from * (y1 - y0));
  context.lineTo(x0 + until * (x1 - x0), y0 + until * (y1 - y0));
}

/** Draws evaluations without a neighbour, which have no line. */
function drawDots(context, dots, colour, radius) {
  context.fillStyle = colour;
  context.beginPath();
  for (const [x, y] of dots) {
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.fill();
}
