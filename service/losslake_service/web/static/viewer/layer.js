// The picture of all curves behind what is in front, drawn in slices: a page with 2,000 curves answers between them.

import { firstAfter } from "./lines.js";

// Segments of a slice; it follows the time that frames take.
const SEGMENTS = { least: 300, first: 1500, most: 10000 };
const FRAME_MS = { short: 18, long: 24 };
const FURTHEST = 50;

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

/** Draws the part of a line that is in view; returns how many segments it has. */
export function trace(context, { x }, y, box, view, { colour, width, alpha = 1 }) {
  const [unitX, unitY] = [box.width / (view.x[1] - view.x[0]), box.height / (view.y[1] - view.y[0])];
  const begin = Math.max(0, firstAfter(x, view.x[0]) - 2);
  const end = Math.min(x.length, firstAfter(x, view.x[1]) + 1);
  // Lines far outside of a canvas cost time, and lose precision.
  const [above, below] = [box.top - 4 * box.height, box.top + 5 * box.height];
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.globalAlpha = alpha;
  context.beginPath();
  let isBroken = true;
  let alone;
  for (let at = begin; at < end; at++) {
    if (Number.isNaN(y[at]) || Number.isNaN(x[at])) {
      if (alone) context.lineTo(alone[0] + 0.5, alone[1]);
      [isBroken, alone] = [true, undefined];
      continue;
    }
    const px = box.left + (x[at] - view.x[0]) * unitX;
    const py = Math.max(above, Math.min(below, box.top + (view.y[1] - y[at]) * unitY));
    if (isBroken) context.moveTo(px, py);
    else context.lineTo(px, py);
    alone = isBroken ? [px, py] : undefined;
    isBroken = false;
  }
  // An evaluation between two that are NaN is a point.
  if (alone) context.lineTo(alone[0] + 0.5, alone[1]);
  context.stroke();
  context.globalAlpha = 1;
  return Math.max(0, end - begin);
}
