// Zoom of charts of steps by batch size: a drag across batch sizes, or the keys + and −; 0, a double click or the button
// shows all. Axes remain logarithmic, and their ticks follow.

import { element } from "./elements.js";
import { whole } from "./numbers.js";

// px that a digit and a line of labels need, as in the figures of the server; px of a drag that is no click.
const DIGIT = 6.2;
const LINE = 18;
const FEWEST_TICKS = 3;
const DRAG = 6;
const MARGIN = 10 ** 0.15;
const fulls = new WeakMap();

/** Limits a specification to the batch sizes of the figure's zoom. */
export function applyZoom(figure, specification) {
  const [plot] = specification.concat;
  const x = plot.layer.map(({ encoding }) => encoding.x).find((each) => each?.field === "batch_size" && each.scale?.type === "log");
  if (!x) return;
  fulls.set(figure, { limits: x.scale.domain, width: plot.width });
  const limits = zoomOf(figure);
  if (!limits) return;
  const heights = limitsOfSteps(plot, specification.datasets, limits);
  const powers = powersOfTwo(limits, plot.width);
  const ticks = powers.length < FEWEST_TICKS ? decimals(limits, plot.width, DIGIT * 8) : powers;
  for (const { mark, encoding } of plot.layer) {
    if (mark.type === "rect" || encoding.x?.field === "middle") mark.clip = true;
    limit(encoding.x, limits, ticks);
    if (heights) limit(encoding.y, heights, decimals(heights, plot.height, LINE));
  }
}

/** Lets the pointer and the keyboard zoom into a figure that was drawn. redraw: draws it again. */
export function offerZoom(figure, view, redraw) {
  const full = fulls.get(figure);
  if (!full) return;
  const plot = figure.querySelector(".plot");
  const zoom = (limits) => {
    const [low, high] = limits ?? full.limits;
    const isAll = low <= full.limits[0] && high >= full.limits[1];
    if (isAll) delete figure.dataset.zoom;
    else figure.dataset.zoom = `${Math.max(low, full.limits[0])} ${Math.min(high, full.limits[1])}`;
    say(figure, () => zoom());
    redraw();
  };
  plot.onkeyup = ({ key }) => {
    const factor = { "+": 1 / 2, "=": 1 / 2, "-": 2 }[key];
    if (key === "0") zoom();
    if (!factor) return;
    const [low, high] = zoomOf(figure) ?? full.limits;
    const middle = Math.sqrt(low * high);
    const half = Math.max(Math.SQRT2, (high / low) ** (factor / 2));
    zoom([middle / half, middle * half]);
  };
  plot.ondblclick = () => zoom();
  offerDrag(plot, view, (from, to) => {
    const [low, high] = zoomOf(figure) ?? full.limits;
    const at = (share) => low * (high / low) ** Math.min(1, Math.max(0, share));
    const limits = [at(from / full.width), at(to / full.width)];
    if (limits[1] / limits[0] >= 1.5) zoom(limits);
  });
}

/** Calls zoom with the px between which a mouse was dragged, from the left of the plot. */
function offerDrag(plot, view, zoom) {
  const canvas = plot.querySelector("canvas");
  const { x, width, height, y } = place(view);
  canvas.onpointerdown = ({ pointerType, button, clientX }) => {
    if (pointerType === "touch" || button) return;
    const left = canvas.getBoundingClientRect().left + x;
    const start = clientX - left;
    if (start < 0 || start > width) return;
    const brush = element("span", { className: "brush", hidden: true });
    plot.append(brush);
    const ends = (event) => [start, Math.min(width, Math.max(0, event.clientX - left))].sort((one, other) => one - other);
    const move = (event) => {
      const [from, to] = ends(event);
      brush.hidden = to - from < DRAG;
      const offset = left - plot.getBoundingClientRect().left;
      Object.assign(brush.style, { left: `${offset + from}px`, width: `${to - from}px`, top: `${y}px`, height: `${height}px` });
    };
    const end = (event) => {
      window.removeEventListener("pointermove", move);
      brush.remove();
      if (event.type === "pointercancel" || brush.hidden) return;
      // The click that ends a drag opens no trial.
      plot.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
      zoom(...ends(event));
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end, { once: true });
    window.addEventListener("pointercancel", end, { once: true });
  };
}

/** Returns where the plot is on the canvas, in px. */
function place(view) {
  const [left, top] = view.origin();
  const padding = view.padding();
  const group = view.scenegraph().root.items[0].items.find(({ name }) => name === "concat_0_group").items[0];
  return { x: left + padding.left + group.x, y: top + padding.top + group.y, width: group.width, height: group.height };
}

function say(figure, showAll) {
  figure.querySelector(".zoomed")?.remove();
  const limits = zoomOf(figure);
  if (!limits) return;
  const [low, high] = [Math.ceil(limits[0]), Math.floor(limits[1])];
  const button = element("button", { type: "button", onclick: showAll }, "Show all");
  figure.querySelector(".plot").before(element("p", { className: "zoomed", role: "status" }, `Batch sizes ${whole(low)} to ${whole(high)} `, button));
}

function zoomOf(figure) {
  return figure.dataset.zoom?.split(" ").map(Number);
}

function limit(channel, limits, ticks) {
  if (channel?.scale?.type !== "log") return;
  channel.scale.domain = limits;
  if (channel.axis) channel.axis.values = ticks;
}

/** Returns limits around the steps at batch sizes within limits; undefined if there are none. */
function limitsOfSteps({ layer }, datasets, [low, high]) {
  const values = layer.flatMap(({ data, encoding }) => {
    const { x, y } = encoding;
    if (x?.field !== "batch_size" || y?.scale?.type !== "log") return [];
    return datasets[data.name].filter((row) => "series" in row && row.batch_size >= low && row.batch_size <= high).map((row) => row[y.field]);
  });
  const known = values.filter((value) => value > 0);
  return known.length ? [Math.min(...known) / MARGIN, Math.max(...known) * MARGIN] : undefined;
}

function powersOfTwo([low, high], width) {
  const first = Math.ceil(Math.log2(low));
  const powers = Array.from({ length: Math.floor(Math.log2(high)) - first + 1 }, (_, more) => first + more);
  const room = (DIGIT * (whole(2 ** powers.at(-1)).length + 1)) / (width / Math.log2(high / low));
  const stride = Math.max(1, Math.ceil(room));
  return powers.filter((power) => power % stride === 0).map((power) => 2 ** power);
}

/** Returns round numbers within limits, at least so many px apart. */
function decimals([low, high], length, room) {
  const decade = length / Math.log10(high / low);
  const mantissas = [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 5], [1]].find((each) => decade * least(each) >= room) ?? [1];
  const decades = Array.from({ length: Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 }, (_, more) => Math.floor(Math.log10(low)) + more);
  return decades.flatMap((power) => mantissas.map((mantissa) => Number(`${mantissa}e${power}`))).filter((value) => value >= low && value <= high);
}

/** Returns the smallest distance of neighbours, in decades. */
function least(mantissas) {
  return Math.min(...mantissas.map((mantissa, at) => Math.log10((mantissas[at + 1] ?? 10) / mantissa)));
}
