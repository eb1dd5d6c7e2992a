// Moving about in the curves by pointer, wheel, two fingers and keys.

const STEP = 0.15;
const ZOOM = 0.7;
// Presses that move by fewer px are clicks.
const CLICK = 4;
const MOVES = {
  in: (plot) => plot.zoom(ZOOM, ZOOM),
  out: (plot) => plot.zoom(1 / ZOOM, 1 / ZOOM),
  all: (plot) => plot.showAll(),
};
const KEYS = {
  ArrowLeft: (plot) => plot.pan(-STEP, 0),
  ArrowRight: (plot) => plot.pan(STEP, 0),
  ArrowUp: (plot) => plot.pan(0, STEP),
  ArrowDown: (plot) => plot.pan(0, -STEP),
  "+": MOVES.in,
  "=": MOVES.in,
  "-": MOVES.out,
  0: MOVES.all,
  PageDown: (plot) => plot.selectNeighbour(1),
  PageUp: (plot) => plot.selectNeighbour(-1),
  Escape: (plot) => plot.select(undefined),
};

/** Makes a plot movable, also by the buttons of a form. open: opens the selected curve. */
export function offerMoves(plot, buttons, open) {
  const { place } = plot;
  const fingers = new Map();
  let pressed;
  for (const [name, move] of Object.entries(MOVES)) buttons[name].onclick = () => move(plot);
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = event.key === "Enter" ? plot.selected && open : KEYS[event.key];
    if (!move) return;
    move(plot);
    event.preventDefault();
  });
  place.addEventListener("wheel", (event) => {
    if (document.activeElement !== place && !event.ctrlKey) return;
    event.preventDefault();
    const factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY || event.deltaX)) / 250);
    plot.zoom(event.altKey ? 1 : factor, event.shiftKey ? 1 : factor, pointOf(event));
  }, { passive: false });
  place.addEventListener("pointerdown", (event) => {
    pressed = pointOf(event);
    fingers.set(event.pointerId, pressed);
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointermove", (event) => {
    const now = pointOf(event);
    const before = fingers.get(event.pointerId);
    if (!before) plot.hover(now);
    else if (fingers.size === 1) plot.drag(before, now);
    else pinch(plot, fingers, event.pointerId, now);
    if (before) fingers.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    place.addEventListener(name, (event) => {
      const now = pointOf(event);
      fingers.delete(event.pointerId);
      if (name === "pointerup" && pressed && distance(pressed, now) < CLICK) plot.select(plot.nearest(now));
      pressed = undefined;
    });
  }
  place.addEventListener("dblclick", (event) => plot.zoom(0.5, 0.5, pointOf(event)));
}

/** Zooms by the ratio of the distances of two fingers. */
function pinch(plot, fingers, moved, now) {
  const [, other] = [...fingers].find(([id]) => id !== moved);
  const apart = (point) => Math.max(20, distance(point, other));
  const factor = apart(fingers.get(moved)) / apart(now);
  plot.zoom(factor, factor, [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
}

function distance([x0, y0], [x1, y1]) {
  return Math.hypot(x1 - x0, y1 - y0);
}

/** Returns the point of an event in the place that listens, in px. */
function pointOf({ currentTarget, clientX, clientY }) {
  const { left, top } = currentTarget.getBoundingClientRect();
  return [clientX - left, clientY - top];
}
