// The plot of curves: the view, what is in front, and what is pointed at. All panels share one view.

import { drawAxes, tickText } from "./axes.js";
import { Layer, clip, trace } from "./layer.js";
import { extent } from "./extent.js";
import { batched, lineOf, nearestLine, nearestOf, panelsOf, to, from } from "./lines.js";

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
   */
  constructor(place, title, changed) {
    this.place = place;
    this.changed = changed;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", title);
    place.replaceChildren(this.canvas);
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `${title}. Plus and minus zoom, arrow keys move, 0 shows all, Page Down selects the next curve`);
    this.layer = new Layer(() => this.repaint());
    this.lines = [];
    this.panels = [];
    this.colours = {};
    this.repaint = batched(() => this.paint());
    new ResizeObserver(() => this.what && this.layOut()).observe(place);
    document.fonts.ready.then(() => this.repaint());
  }

  /** Draws curves; keeps the view in steps and values. */
  draw(what) {
    const ranges = this.ranges();
    this.what = what;
    const { log, smooth } = what;
    this.lines = what.curves.map((curve, index) => lineOf(curve, log, smooth, what.colours[index]));
    [this.selected, this.pointed] = [this.selected, this.pointed].map((mark) => mark && this.markOf(mark.line.curve.trial, mark.line.curve.steps[mark.at]));
    this.own = what.own && lineOf(what.own, log, smooth);
    this.whole = extent([...this.lines, ...(this.own ? [this.own] : [])], what.goal, log);
    this.view = { ...this.whole };
    this.look(ranges.x, ranges.y);
    this.layOut();
  }

  /** Shows ranges of steps and of values; undefined for all. */
  look(x, y) {
    for (const [name, range] of Object.entries({ x, y })) {
      const ends = range?.map((end) => to(end, this.what.log.includes(name)));
      if (ends?.every(Number.isFinite)) this.view[name] = ends;
    }
    this.moved();
  }

  /** Returns the ranges in view, undefined for all. */
  ranges() {
    const ranges = {};
    for (const name of this.what ? ["x", "y"] : []) {
      const isWhole = this.view[name].every((end, index) => end === this.whole[name][index]);
      const isLog = this.what.log.includes(name);
      ranges[name] = isWhole ? undefined : this.view[name].map((end) => (isLog ? positive(from(end, isLog)) : end));
    }
    return { x: undefined, y: undefined, ...ranges };
  }

  showAll() {
    this.view = { ...this.whole };
    this.moved();
  }

  /** Zooms by factors of the ranges, around a point in px, by default the middle. */
  zoom(across, down, px, py) {
    const { box } = px === undefined ? this.panels[0] : this.panelNear([px, py]);
    const within = (share) => Math.max(0, Math.min(1, share));
    const shareX = px === undefined ? 0.5 : within((px - box.left) / box.width);
    const shareY = py === undefined ? 0.5 : within(1 - (py - box.top) / box.height);
    this.view = { x: zoomed(this.view.x, across, shareX), y: zoomed(this.view.y, down, shareY) };
    this.moved();
  }

  /** Moves by shares of the ranges. */
  pan(across, up) {
    const shift = ([low, high], share) => [low + share * (high - low), high + share * (high - low)];
    this.view = { x: shift(this.view.x, across), y: shift(this.view.y, up) };
    this.moved();
  }

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
    const width = this.place.clientWidth;
    const { panels, height } = panelsOf(this.what, width);
    this.place.style.height = height ? `${height}px` : "";
    this.panels = panels(this.place.clientHeight);
    this.ratio = Math.min(MOST_RATIO, devicePixelRatio);
    this.canvas.width = width * this.ratio;
    this.canvas.height = this.place.clientHeight * this.ratio;
    const theme = getComputedStyle(this.place);
    for (const name of COLOURS) this.colours[name] = theme.getPropertyValue(`--${name}`).trim();
    for (const panel of this.panels) {
      const { trial, isFirst } = bestOf(panel, this.what) ?? {};
      panel.best = this.lines.find((line) => line.curve.trial === trial);
      panel.isFirst = isFirst;
    }
    this.layer.forget();
    this.repaint();
    this.redraw();
  }

  redraw() {
    delete this.place.parentElement.dataset.drawn;
    const jobs = this.panels.flatMap((panel) => panel.indexes.map((index) => [panel, this.lines[index]]));
    this.layer.start(jobs, this.view, this.canvas, this.ratio, this.what.smooth > 0, () => (this.place.parentElement.dataset.drawn = ""));
  }

  paint() {
    if (!this.what || !this.panels.length) return;
    const context = this.canvas.getContext("2d");
    const { colours } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const isLog = { x: this.what.log.includes("x"), y: this.what.log.includes("y") };
    for (const panel of this.panels) {
      const { box } = panel;
      drawAxes(context, panel, this.view, isLog, colours);
      context.save();
      clip(context, box);
      this.layer.place(context, box, this.view);
      if (this.what.goal) this.paintTarget(context, box, colours.text, isLog.y);
      const front = [[panel.best, "text", 2.5], [this.own, "own", 3], [this.pointed?.line, "link", 2.5], [this.selected?.line, "link", 3]];
      for (const [line, name, width] of front) {
        if (!line || (line !== this.own && !panel.studies.includes(line.curve.study))) continue;
        trace(context, line, line.raw, box, this.view, { colour: colours.ground, width: width + 3 });
        if (line.raw !== line.y) trace(context, line, line.raw, box, this.view, { colour: colours[name], width: 1, alpha: 0.4 });
        trace(context, line, line.y, box, this.view, { colour: colours[name], width });
      }
      context.restore();
    }
  }

  paintTarget(context, box, colour, isLog) {
    const at = to(this.what.goal.target, isLog);
    const y = box.top + box.height * (1 - (at - this.view.y[0]) / (this.view.y[1] - this.view.y[0]));
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(box.left, y);
    context.lineTo(box.left + box.width, y);
    context.stroke();
    context.setLineDash([]);
  }

  panelAt([x, y]) {
    return this.panels.find(({ box }) => x >= box.left && x <= box.left + box.width && y >= box.top && y <= box.top + box.height);
  }

  /** Returns the panel nearest to a point in px. */
  panelNear([x, y]) {
    const beyond = (at, from, size) => Math.max(from - at, 0, at - from - size);
    const away = ({ box }) => Math.hypot(beyond(x, box.left, box.width), beyond(y, box.top, box.height));
    return this.panels.reduce((nearest, panel) => (away(panel) < away(nearest) ? panel : nearest));
  }

  /** Returns the line nearest to a point in px, and the index of its evaluation there; undefined if none is near. */
  nearest(point) {
    const panel = this.panelAt(point);
    return panel && nearestLine(panel, this.lines, this.view, point);
  }

  /** Returns the line of a trial and the index of its evaluation nearest to a step; undefined if it isn't shown. */
  markOf(trial, step = Infinity) {
    const line = this.lines.find(({ curve }) => curve.trial === trial);
    return line && { line, at: nearestOf(line.curve.steps, step) };
  }

  /** Shows the curve under the pointer, once a frame. */
  hover(point, told) {
    this.hovered = point;
    this.hovering ??= batched(() => {
      const mark = this.nearest(this.hovered);
      if (mark?.line === this.pointed?.line && mark?.at === this.pointed?.at) return;
      this.pointed = mark;
      told(mark ?? this.selected);
      this.repaint();
    });
    this.hovering();
  }

  select(mark) {
    this.selected = mark;
    this.pointed = undefined;
    this.repaint();
    this.changed();
  }

  /** Returns the last evaluation of the curve before or after the selected one, at first the best. */
  neighbour(step) {
    const at = this.lines.indexOf(this.selected?.line);
    const start = this.panels[0].best ?? this.lines[0];
    return this.markOf((at < 0 ? start : this.lines[(at + step + this.lines.length) % this.lines.length]).curve.trial);
  }

  /** Returns sentences about what the picture doesn't show. */
  notes() {
    const texts = [];
    const sum = (name) => this.lines.reduce((total, line) => total + line[name], 0);
    const [odd, unplaced] = [sum("nOdd"), sum("nUnplaced")];
    if (odd) texts.push(`${odd.toLocaleString("en")} evaluations are NaN or infinite, and break their lines.`);
    if (unplaced) texts.push(`${unplaced.toLocaleString("en")} evaluations at step 0, or with values of zero or below, have no place on a logarithmic axis.`);
    const [least, most] = this.whole.all.map((end) => tickText(from(end, this.what.log.includes("y"))));
    if (this.whole.all[1] > this.whole.y[1]) texts.push(`Values up to ${most} lie above the picture: zoom out to see them.`);
    if (this.whole.all[0] < this.whole.y[0]) texts.push(`Values down to ${least} lie below the picture: zoom out to see them.`);
    return texts;
  }
}

/** Returns the positive number nearest to another: zooming out on a logarithmic axis leads beyond all of them. */
function positive(number) {
  return Math.max(Number.MIN_VALUE, Math.min(Number.MAX_VALUE, number));
}

function zoomed([low, high], factor, share) {
  const at = low + share * (high - low);
  const ends = [at - (at - low) * factor, at + (high - at) * factor];
  return ends[1] - ends[0] > NARROWEST * Math.max(1, Math.abs(at)) ? ends : [low, high];
}

/** Returns the name of the best trial of a panel, and whether it is the first to reach the target, or has the best value. */
function bestOf(panel, { bests, goal }) {
  const shown = new Set(panel.studies);
  const sign = goal?.direction === "maximize" ? -1 : 1;
  const order = (each) => [each.bestSteps ?? Infinity, sign * each.bestValue];
  const candidates = bests.filter(({ study }) => shown.has(study));
  candidates.sort((one, other) => {
    const [a, b] = [order(one), order(other)];
    return a[0] === b[0] ? a[1] - b[1] : a[0] - b[0];
  });
  const [first] = candidates;
  return first && { trial: `${first.study}/${first.best}`, isFirst: first.bestSteps !== null };
}
