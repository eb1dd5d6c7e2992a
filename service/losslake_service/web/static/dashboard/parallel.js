// Parallel coordinates: a line for each run through its metaparameters to its best value.

import { extent, scaleLinear, scaleLog } from "../vendor/d3.js";
import { significant } from "../numbers.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const MARGIN = { left: 60, right: 70, top: 34, bottom: 22 };
const APART = 150;
const HEIGHT = 300;
const WIDE_RATIO = 20;
const MOST_WORDS = 12;
const LONGEST = 18;

/** Draws the runs that have a best value, unless there are no metaparameters that differ. select: called with a path */
export function drawParallel(section, { facts, best, metric }, colourOf, select) {
  const paths = Object.keys(best).filter((path) => colourOf.has(path));
  const names = [...new Set(paths.flatMap((path) => Object.keys(facts[path])))].filter((name) => isShown(name, paths, facts));
  section.hidden = paths.length < 2 || !names.length;
  if (section.hidden) return;
  const place = section.querySelector("div");
  const axes = names.map((name) => axisOf(name, paths.map((path) => facts[path][name])));
  axes.push(axisOf(metric, paths.map((path) => best[path])));
  const width = Math.max(place.clientWidth, MARGIN.left + MARGIN.right + APART * (axes.length - 1));
  const across = (at) => MARGIN.left + ((width - MARGIN.left - MARGIN.right) * at) / (axes.length - 1);
  const svg = node("svg", { class: "parallel", width, height: HEIGHT, role: "img", "aria-label": `Metaparameters and best ${metric} of ${paths.length} runs` });
  for (const path of paths) {
    const values = [...names.map((name) => facts[path][name]), best[path]];
    const points = values.flatMap((value, at) => {
      const y = axes[at].place(value);
      return Number.isFinite(y) ? [`${across(at).toFixed(1)},${y.toFixed(1)}`] : [];
    });
    const line = node("path", { d: `M${points.join("L")}`, stroke: colourOf.get(path) });
    line.append(node("title", {}, `${facts[path].run}: ${names.map((name) => `${name} ${facts[path][name] ?? "–"}`).join(", ")}; ${metric} ${best[path]}`));
    line.addEventListener("click", () => select(path));
    svg.append(line);
  }
  // After the lines, whose ends would hide their words.
  for (const [at, axis] of axes.entries()) svg.append(...axisParts(axis, across(at)));
  place.replaceChildren(svg);
}

const HIDDEN = new Set(["run", "state", "workload"]);

/** Returns whether the runs differ in a fact. */
function isShown(name, paths, facts) {
  return !HIDDEN.has(name) && new Set(paths.map((path) => facts[path][name]).filter((value) => value !== undefined)).size > 1;
}

/** Returns an axis: its name, its ticks, and the height of a value, NaN for none. */
function axisOf(name, values) {
  const ends = [HEIGHT - MARGIN.bottom, MARGIN.top];
  const known = values.filter((value) => value !== undefined);
  const numbers = known.filter((value) => typeof value === "number" && Number.isFinite(value));
  if (numbers.length && known.every((value) => typeof value === "number" || ["NaN", "Infinity", "-Infinity"].includes(value))) {
    const [low, high] = extent(numbers);
    const isLog = low > 0 && high / low > WIDE_RATIO;
    const scale = (isLog ? scaleLog : scaleLinear)(low < high ? [low, high] : [low - 1, low + 1], ends);
    const different = [...new Set(numbers)].sort((one, other) => one - other);
    const shown = different.length <= 5 ? different : isLog ? [low, Math.sqrt(low * high), high] : [low, (low + high) / 2, high];
    return { name, place: (value) => (typeof value === "number" ? scale(value) : NaN), ticks: shown.map((value) => [scale(value), significant(value, 3)]) };
  }
  const words = [...new Set(known.map(String))].sort();
  const heights = new Map(words.map((word, at) => [word, ends[0] + ((ends[1] - ends[0]) * (at + 0.5)) / words.length]));
  const ticks = words.length <= MOST_WORDS ? words.map((word) => [heights.get(word), word]) : [];
  return { name, place: (value) => (value === undefined ? NaN : heights.get(String(value))), ticks };
}

function axisParts({ name, ticks }, x) {
  const line = node("line", { x1: x, x2: x, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom });
  const label = node("text", { class: "name", x, y: 16, "text-anchor": "middle" }, short(name));
  return [line, label, ...ticks.map(([y, text]) => node("text", { x: x + 6, y: y + 4 }, short(text)))];
}

function short(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

function node(name, attributes, text) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
