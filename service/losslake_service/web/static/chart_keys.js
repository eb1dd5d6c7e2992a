// The marks of a chart by keyboard and pointer: the arrow keys move from mark to mark and read it out; Enter follows its
// link; the pointer shows the tooltip of the nearest mark.

import { element } from "./elements.js";

// px from the pointer to a mark whose tooltip it shows.
const NEAR = 40;

/** Makes the marks of a chart that have a link or a tooltip reachable by keyboard. */
export function offerKeys(plot, view, title) {
  const marks = marksOf(view);
  if (!marks.length) return;
  showNearest(plot.querySelector("canvas"), view, marks.filter((mark) => mark.isPoint));
  const spoken = element("p", { className: "said", "aria-live": "polite" });
  const ring = element("span", { className: "ring", hidden: true });
  plot.append(ring, spoken);
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `${title}. ${marks.length} marks. Use the arrow keys to move between them and Enter to open one`);
  let at = -1;
  plot.onkeydown = (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (move) at = Math.min(marks.length - 1, Math.max(0, at + move));
    else if (event.key === "Home") at = 0;
    else if (event.key === "End") at = marks.length - 1;
    else if (event.key === "Escape") at = -1;
    // As a click does: in a frame the link opens beside it, as the page's base target says.
    else if (event.key === "Enter" && marks[at]?.href) element("a", { href: marks[at].href }).click();
    else return;
    event.preventDefault();
    point(plot, ring, spoken, marks[at]);
  };
  plot.onblur = () => point(plot, ring, spoken, undefined);
}

/** Shows the tooltip of the nearest point where the pointer is on none, and hides it where none is near. */
function showNearest(canvas, view, points) {
  canvas.addEventListener("pointerleave", (event) => view.tooltip()(null, event, null, null));
  view.addEventListener("pointermove", (event, item) => {
    if (item?.tooltip) return;
    const { left, top } = canvas.getBoundingClientRect();
    const distance = ({ x, y }) => Math.hypot(left + x - event.clientX, top + y - event.clientY);
    let [nearest, least] = [null, NEAR];
    for (const each of points) if (distance(each) < least) [nearest, least] = [each, distance(each)];
    view.tooltip()(null, event, nearest, nearest?.tooltip);
  });
}

function point(plot, ring, spoken, mark) {
  ring.hidden = !mark;
  spoken.textContent = mark ? mark.text : "";
  if (!mark) return;
  const canvas = plot.querySelector("canvas");
  const from = plot.getBoundingClientRect();
  const to = canvas.getBoundingClientRect();
  ring.style.left = `${to.left - from.left + mark.x}px`;
  ring.style.top = `${to.top - from.top + mark.y}px`;
}

/** Returns every mark with a tooltip, from left to right: its text, its link if any, and its place on the canvas. */
function marksOf(view) {
  const [left, top] = view.origin();
  const padding = view.padding();
  const marks = [];
  const visit = (item, x, y) => {
    if (item.marktype === "group" || item.items) {
      for (const inner of item.items ?? []) visit(inner, x + (item.x ?? 0), y + (item.y ?? 0));
    } else if (item.tooltip) {
      const isPoint = ["symbol", "line"].includes(item.mark.marktype);
      marks.push({ x: x + item.x, y: y + item.y, text: words(item.tooltip), tooltip: item.tooltip, isPoint, href: safe(item.href) });
    }
  };
  visit(view.scenegraph().root, left + padding.left, top + padding.top);
  return marks.sort((one, other) => one.x - other.x || one.y - other.y);
}

function words(tooltip) {
  if (typeof tooltip !== "object") return String(tooltip);
  return Object.entries(tooltip).map(([name, value]) => `${name}: ${value}`).join(", ");
}

/** Returns the address if it is on this service. */
function safe(href) {
  if (!href) return undefined;
  const address = new URL(href, location.href);
  return address.origin === location.origin ? address.href : undefined;
}
