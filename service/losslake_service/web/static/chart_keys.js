// Charts by keyboard: the arrows go from mark to mark, which is read out; Enter follows its link.

/** Lets the marks of a drawn chart that lead somewhere, or say something, be reached by keyboard. */
export function offerKeys(plot, view, title) {
  const marks = marksOf(view);
  if (!marks.length) return;
  const said = document.createElement("p");
  said.className = "said";
  said.setAttribute("aria-live", "polite");
  const ring = document.createElement("span");
  ring.className = "ring";
  ring.hidden = true;
  plot.append(ring, said);
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `${title}. ${marks.length} marks: go through them with the arrow keys, Enter opens one`);
  let at = -1;
  plot.onkeydown = (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (move) at = Math.min(marks.length - 1, Math.max(0, at + move));
    else if (event.key === "Home") at = 0;
    else if (event.key === "End") at = marks.length - 1;
    else if (event.key === "Escape") at = -1;
    else if (event.key === "Enter" && marks[at]?.href) location.assign(marks[at].href);
    else return;
    event.preventDefault();
    point(plot, ring, said, marks[at]);
  };
  plot.onblur = () => point(plot, ring, said, undefined);
}

function point(plot, ring, said, mark) {
  ring.hidden = !mark;
  said.textContent = mark ? mark.text : "";
  if (!mark) return;
  const canvas = plot.querySelector("canvas");
  const from = plot.getBoundingClientRect();
  const to = canvas.getBoundingClientRect();
  ring.style.left = `${to.left - from.left + mark.x}px`;
  ring.style.top = `${to.top - from.top + mark.y}px`;
}

/** Every mark with a tooltip, from left to right: its words, its link if it has one, and its place in the canvas. */
function marksOf(view) {
  const [left, top] = view.origin();
  const padding = view.padding();
  const found = [];
  const visit = (item, x, y) => {
    if (item.marktype === "group" || item.items) {
      for (const inner of item.items ?? []) visit(inner, x + (item.x ?? 0), y + (item.y ?? 0));
    } else if (item.tooltip) {
      found.push({ x: x + item.x, y: y + item.y, text: words(item.tooltip), href: safe(item.href) });
    }
  };
  visit(view.scenegraph().root, left + padding.left, top + padding.top);
  return found.sort((one, other) => one.x - other.x || one.y - other.y);
}

function words(tooltip) {
  if (typeof tooltip !== "object") return String(tooltip);
  return Object.entries(tooltip).map(([name, value]) => `${name}: ${value}`).join(", ");
}

/** Only pages of this service. */
function safe(href) {
  if (!href) return undefined;
  const address = new URL(href, location.href);
  return address.origin === location.origin ? address.href : undefined;
}
