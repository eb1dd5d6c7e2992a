// Moving about in the curves by pointer, wheel, two fingers and keys.

const STEP = 0.15;
const CLICK = 4;
const KEYS = {
  ArrowLeft: (plot) => plot.pan(-STEP, 0),
  ArrowRight: (plot) => plot.pan(STEP, 0),
  ArrowUp: (plot) => plot.pan(0, STEP),
  ArrowDown: (plot) => plot.pan(0, -STEP),
  "+": (plot) => plot.zoom(0.7, 0.7),
  "=": (plot) => plot.zoom(0.7, 0.7),
  "-": (plot) => plot.zoom(1 / 0.7, 1 / 0.7),
  0: (plot) => plot.showAll(),
};

/** Makes a plot movable. point: says which curve is selected, and an evaluation of it; undefined for none. */
export function offerMoves(plot, point) {
  const { place } = plot;
  const held = new Map();
  let pressed;
  const select = (mark) => {
    plot.select(mark);
    point(mark);
  };
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = KEYS[event.key];
    if (move) move(plot);
    else if (event.key === "PageDown" || event.key === "PageUp") select(plot.neighbour(event.key === "PageDown" ? 1 : -1));
    else if (event.key === "Escape") select(undefined);
    else if (event.key === "Enter" && plot.selected) document.querySelector(".viewer .said a")?.click();
    else return;
    event.preventDefault();
  });
  place.addEventListener("wheel", (event) => {
    if (document.activeElement !== place && !event.ctrlKey) return;
    event.preventDefault();
    const factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY || event.deltaX)) / 250);
    plot.zoom(event.altKey ? 1 : factor, event.shiftKey ? 1 : factor, ...within(place, event));
  }, { passive: false });
  place.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, within(place, event));
    pressed = within(place, event);
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointermove", (event) => {
    const now = within(place, event);
    const before = held.get(event.pointerId);
    if (!before) {
      plot.hover(now, point);
      return;
    }
    if (held.size === 1) plot.drag(before, now);
    else pinch(plot, held, event.pointerId, now);
    held.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    place.addEventListener(name, (event) => {
      const now = within(place, event);
      held.delete(event.pointerId);
      if (name === "pointerup" && pressed && Math.hypot(now[0] - pressed[0], now[1] - pressed[1]) < CLICK) select(plot.nearest(now));
      pressed = undefined;
    });
  }
  place.addEventListener("dblclick", (event) => plot.zoom(0.5, 0.5, ...within(place, event)));
}

/** Zooms by the ratio of the distances of two fingers. */
function pinch(plot, held, moved, now) {
  const [, other] = [...held].find(([id]) => id !== moved);
  const before = held.get(moved);
  const distance = ([x, y]) => Math.max(20, Math.hypot(x - other[0], y - other[1]));
  const factor = distance(before) / distance(now);
  plot.zoom(factor, factor, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
}

function within(place, event) {
  const { left, top } = place.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}
