// The plot of curves: the view, what is in front, and what is pointed at. All panels share one view.

import { element } from "../elements.js";
import { bisectCenter } from "../vendor/d3.js";
import { drawAxes } from "./axes.js";
import { extent } from "./extent.js";
import { Layer, clip, trace } from "./layer.js";
import { from, lineOf, nearestLine, scalesOf, to } from "./lines.js";
import { meanOf, paintMeans } from "./means.js";
import { panelAt, panelNear, panelsOf } from "./panels.js";

// The picture is drawn anew when the view has rested for as many ms; until then the last one is moved.
const REST_MS = 60;
const MOST_RATIO = 2;
const NARROWEST = 1e-9;
// The style's names of what is drawn.
const COLOURS = ["text", "quiet", "line", "ground", "link", "own"];

export class Plot {
  /**
   * @param {HTMLElement} place
   * @param {string} title
   * @param {() => void} changed called when the view changes
   * @param {(mark: object | undefined) => void} report called with the mark that is pointed at, else the selected one
   */
  constructor(place, title, changed, report) {
    Object.assign(this, { place, changed, report, lines: [], panels: [], colours: {} });
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    place.replaceChildren(this.canvas);
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    const keys = "Plus and minus zoom, arrow keys move, 0 shows all, Page Down selects the next curve";
    place.setAttribute("aria-label", `${title}. ${keys}`);
    this.repaint = batched(() => this.paint());
    this.hover = batched((point) => this.point(this.nearest(point)));
    this.layer = new Layer(this.repaint);
    // A plot that is hidden has no size.
    new ResizeObserver(() => this.drawing && place.clientWidth && this.layOut()).observe(place);
    document.fonts.ready.then(this.repaint);
  }

  /** Draws curves; keeps the view in steps and values. */
  draw(drawing) {
    const ranges = this.ranges();
    this.drawing = drawing;
    this.lines = drawing.curves.map((curve, index) => lineOf(curve, drawing, drawing.colours[index]));
    this.lineByTrial = new Map(this.lines.map((line) => [line.curve.trial, line]));
    for (const name of ["selected", "pointed"]) {
      const { line, at } = this[name] ?? {};
      this[name] = line && this.markOf(line.curve.trial, line.curve.steps[at]);
    }
    this.means = (drawing.means ?? []).map((mean) => meanOf(mean, drawing));
    this.ownLine = drawing.ownRun && lineOf(drawing.ownRun, drawing);
    this.whole = extent(this.ownLine ? [...this.lines, this.ownLine] : this.lines, drawing.goal, drawing.log);
    this.view = { ...this.whole };
    this.look(ranges);
    this.layOut();
  }

  /** Shows ranges of steps and of values; undefined for all. */
  look(ranges) {
    for (const name of ["x", "y"]) {
      const ends = ranges[name]?.map((end) => to(end, this.isLog(name)));
      if (ends?.every(Number.isFinite)) this.view[name] = ends;
    }
    this.moved();
  }

  /** Returns the ranges in view, undefined for all. */
  ranges() {
    const rangeOf = (name) => {
      if (!this.drawing || this.view[name].every((end, index) => end === this.whole[name][index])) return undefined;
      return this.isLog(name) ? this.view[name].map((end) => positive(from(end, true))) : this.view[name];
    };
    return { x: rangeOf("x"), y: rangeOf("y") };
  }

  isLog(name) {
    return this.drawing.log.includes(name);
  }

  showAll() {
    this.view = { ...this.whole };
    this.moved();
  }

  /** Zooms by factors of the ranges, around a point in px, by default the middle. */
  zoom(factorX, factorY, point) {
    const { box } = point ? panelNear(this.panels, point) : this.panels[0];
    const [px, py] = point ?? [box.left + box.width / 2, box.top + box.height / 2];
    const { across, down } = scalesOf(box, this.view);
    const at = { x: across.clamp(true).invert(px), y: down.clamp(true).invert(py) };
    this.view = { x: zoomed(this.view.x, factorX, at.x), y: zoomed(this.view.y, factorY, at.y) };
    this.moved();
  }

  /** Moves by shares of the ranges. */
  pan(across, up) {
    const shift = ([low, high], share) => [low + share * (high - low), high + share * (high - low)];
    this.view = { x: shift(this.view.x, across), y: shift(this.view.y, up) };
    this.moved();
  }

  /** Moves by the way between two points in px. */
  drag([x0, y0], [x1, y1]) {
    const { box } = this.panels[0];
    this.pan((x0 - x1) / box.width, (y1 - y0) / box.height);
  }

  moved() {
    this.layer.stop();
    this.repaint();
    this.changed();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.redraw(), REST_MS);
  }

  /** Arranges the panels in the width that there is, and draws anew. */
  layOut() {
    const { place, canvas, drawing } = this;
    const width = place.clientWidth;
    if (!drawing.isDivided) place.style.height = "";
    const { panels, height } = panelsOf(drawing, width, place.clientHeight);
    if (drawing.isDivided) place.style.height = `${height}px`;
    this.panels = panels;
    this.ratio = Math.min(MOST_RATIO, devicePixelRatio);
    canvas.width = width * this.ratio;
    canvas.height = height * this.ratio;
    const theme = getComputedStyle(place);
    for (const name of COLOURS) this.colours[name] = theme.getPropertyValue(`--${name}`).trim();
    this.layer.forget();
    this.repaint();
    this.redraw();
  }

  redraw() {
    const { dataset } = this.place.parentElement;
    delete dataset.drawn;
    // Behind means, the curves are faint.
    const share = this.means.length ? 0.4 : 1;
    const alpha = share * Math.max(0.25, Math.min(0.9, 12 / Math.sqrt(this.lines.length)));
    const jobsOf = (name, alpha) => this.panels.flatMap(({ box, indexes }) =>
      indexes.map((index) => ({ line: this.lines[index], y: this.lines[index][name], box, alpha })));
    // Behind smoothed curves, the measured ones are faint.
    const jobs = [...(this.drawing.smooth ? jobsOf("raw", 0.25 * alpha) : []), ...jobsOf("y", alpha)];
    this.layer.start(jobs, this.view, this.canvas, this.ratio, () => (dataset.drawn = ""));
  }

  paint() {
    if (!this.panels.length) return;
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (const panel of this.panels) {
      drawAxes(context, panel, this.view, this.drawing, this.colours);
      context.save();
      clip(context, panel.box);
      this.layer.place(context, panel.box, this.view);
      paintMeans(context, this.means, panel.box, this.view, this.colours.ground);
      if (this.drawing.goal) this.paintTarget(context, panel.box);
      this.paintFront(context, panel);
      context.restore();
    }
  }

  /** Draws the target as a dashed line. */
  paintTarget(context, box) {
    const y = scalesOf(box, this.view).down(to(this.drawing.goal.target, this.isLog("y")));
    context.strokeStyle = this.colours.text;
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(box.left, y);
    context.lineTo(box.left + box.width, y);
    context.stroke();
    context.setLineDash([]);
  }

  /** Draws the curves in front: the best trial, the reader's own run, and those pointed at and selected. */
  paintFront(context, { box, best, studies }) {
    const { colours, view } = this;
    for (const [line, name, width] of [
      [this.lineByTrial.get(best?.trial), "text", 2.5],
      [this.ownLine, "own", 3],
      [this.pointed?.line, "link", 2.5],
      [this.selected?.line, "link", 3],
    ]) {
      if (!line || (line !== this.ownLine && !studies.has(line.curve.study))) continue;
      trace(context, line, line.raw, box, view, { colour: colours.ground, width: width + 3 });
      const colour = colours[name];
      if (line.raw !== line.y) trace(context, line, line.raw, box, view, { colour, width: 1, alpha: 0.4 });
      trace(context, line, line.y, box, view, { colour, width });
    }
  }

  /** Returns the line nearest to a point in px, and the index of its evaluation there; undefined if none is near. */
  nearest(point) {
    const panel = panelAt(this.panels, point);
    return panel && nearestLine(panel, this.lines, this.view, point);
  }

  /** Returns the line of a trial and the index of its evaluation nearest to a step; undefined if it isn't shown. */
  markOf(trial, step = Infinity) {
    const line = this.lineByTrial.get(trial);
    return line && { line, at: bisectCenter(line.curve.steps, step) };
  }

  /** Shows a curve as pointed at. */
  point(mark) {
    if (mark?.line === this.pointed?.line && mark?.at === this.pointed?.at) return;
    this.pointed = mark;
    this.report(mark ?? this.selected);
    this.repaint();
  }

  select(mark) {
    this.selected = mark;
    this.pointed = undefined;
    this.report(mark);
    this.repaint();
    this.changed();
  }

  /** Selects the curve before or after the selected one, at first the best. */
  selectNeighbour(step) {
    const at = this.lines.indexOf(this.selected?.line);
    const next = this.lines.at((at + step) % this.lines.length).curve.trial;
    const start = this.panels[0].best?.trial ?? this.lines[0].curve.trial;
    this.select(this.markOf(at < 0 ? start : next));
  }
}

/** Returns the positive number nearest to another: zooming out on a logarithmic axis leads beyond all of them. */
function positive(number) {
  return Math.max(Number.MIN_VALUE, Math.min(Number.MAX_VALUE, number));
}

/** Returns a range that is a factor as wide, around a coordinate; the same one where it would get too narrow. */
function zoomed([low, high], factor, at) {
  const ends = [at - (at - low) * factor, at + (high - at) * factor];
  return ends[1] - ends[0] > NARROWEST * Math.max(1, Math.abs(at)) ? ends : [low, high];
}

/** Returns a function that runs an action once before the next frame, however often it is called, on the last value. */
function batched(act) {
  let isWaiting = false;
  let latest;
  return (value) => {
    latest = value;
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      act(latest);
    });
  };
}
