// The picture of all curves behind what is in front, drawn in slices: a page with 2,000 curves answers between them.

import { firstAfter } from "./lines.js";

// Segments of a slice; it follows the time that frames take.
const SEGMENTS = { least: 300, first: 1500, most: 10000 };
const FRAME_MS = { short: 18, long: 24 };
const FURTHEST = 50;
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

  /** Draws lines of panels in a view, and drops a drawing in progress. isFaint: with the measured curves behind. */
  start(jobs, view, { width, height }, ratio, isFaint, finished) {
    this.stop();
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.lineJoin = "round";
    const passes = isFaint ? [...jobs.map((job) => [...job, true]), ...jobs.map((job) => [...job, false])] : jobs;
    const alpha = Math.max(0.25, Math.min(0.9, 12 / Math.sqrt(jobs.length)));
    this.coming = { canvas, view, ratio };
    if (!this.done) this.done = this.coming;
    let next = 0;
    let before = performance.now();
    const slice = (now) => {
      const took = now - before;
      before = now;
      if (took > FRAME_MS.long) this.segments = Math.max(SEGMENTS.least, this.segments / 2);
      else if (took < FRAME_MS.short) this.segments = Math.min(SEGMENTS.most, this.segments * 1.2);
      let inside;
      context.save();
      for (let drawn = 0; next < passes.length && drawn < this.segments; next++) {
        const [{ box }, line, isRaw] = passes[next];
        if (box !== inside) {
          context.restore();
          context.save();
          clip(context, box);
          inside = box;
        }
        const look = { colour: line.colour, width: 1.2, alpha: isRaw ? alpha * 0.25 : alpha };
        drawn += 10 + trace(context, line, isRaw ? line.raw : line.y, box, view, look);
      }
      context.restore();
      if (next < passes.length) this.frame = requestAnimationFrame(slice);
      else {
        this.done = this.coming;
        finished();
      }
      if (this.done === this.coming) this.progressed();
    };
    this.frame = requestAnimationFrame(slice);
  }

  /** Puts the last picture of a panel where a view has it. */
  place(context, box, view) {
    if (!this.done) return;
    const { canvas, view: then, ratio } = this.done;
    const unitX = box.width / (view.x[1] - view.x[0]);
    const unitY = box.height / (view.y[1] - view.y[0]);
    const width = (then.x[1] - then.x[0]) * unitX;
    const height = (then.y[1] - then.y[0]) * unitY;
    if (width > FURTHEST * box.width || height > FURTHEST * box.height || width < 1 || height < 1) return;
    const left = box.left + (then.x[0] - view.x[0]) * unitX;
    const top = box.top + (view.y[1] - then.y[1]) * unitY;
    context.drawImage(canvas, box.left * ratio, box.top * ratio, box.width * ratio, box.height * ratio, left, top, width, height);
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
  const [unitX, unitY] = [box.width / (view.x[1] - view.x[0]), box.height / (view.y[1] - view.y[0])];
  const begin = Math.max(0, firstAfter(x, view.x[0]) - 2);
  const end = Math.min(x.length, firstAfter(x, view.x[1]) + 1);
  // Lines far outside of a canvas cost time, and lose precision.
  const bounds = { x: [box.left - 4 * box.width, box.left + 5 * box.width], y: [box.top - 4 * box.height, box.top + 5 * box.height] };
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
