// The view of curves in the address: logarithmic axes, ranges, smoothing, colour, panels, the selected trial.

const NAMES = ["log", "x", "y", "smooth", "colour", "panels", "selected"];
// A range is written to a millionth of its width.
const DIGITS = 6;
const MOST_DIGITS = 17;

/** Reads the view. Ranges are [from, to], or undefined for all. */
export function read() {
  const query = new URLSearchParams(location.search);
  const [log, x, y, smooth, colour, panels, selected] = NAMES.map((name) => query.get(name) ?? "");
  return { log, x: rangeOf(x), y: rangeOf(y), smooth: Number(smooth) || 0, colour, panels, selected };
}

/** Writes the view into the address of the page. */
export function write(state) {
  history.replaceState(null, "", location.pathname + queryOf(state));
}

/** Returns the address of a view in a release. */
export function linkOf(state, release) {
  return location.origin + location.pathname + queryOf(state, release);
}

/** Returns the query of other pages about the same goal. */
export function goalQuery(request) {
  const query = new URLSearchParams({ metric: request.metric });
  if (request.goal) query.set("target", request.goal.target);
  const pinned = new URLSearchParams(location.search).get("release");
  if (pinned) query.set("release", pinned);
  return query;
}

function queryOf(state, release) {
  const query = new URLSearchParams(location.search);
  for (const name of NAMES) {
    const value = Array.isArray(state[name]) ? short(state[name]).join(",") : state[name];
    if (value) query.set(name, value);
    else query.delete(name);
  }
  if (release) query.set("release", release);
  return `?${query.toString().replaceAll("%2F", "/").replaceAll("%2C", ",")}`;
}

function rangeOf(text) {
  const numbers = text.split(",").map(Number);
  const isRange = text && numbers.length === 2 && numbers.every(Number.isFinite) && numbers[0] < numbers[1];
  return isRange ? numbers : undefined;
}

function short(range) {
  const width = range[1] - range[0];
  return range.map((end) => {
    const digits = DIGITS + Math.ceil(Math.max(0, Math.log10(Math.abs(end) / width)));
    return Number(end.toPrecision(Math.min(MOST_DIGITS, digits)));
  });
}
