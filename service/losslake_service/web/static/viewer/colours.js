// Colours of curves by a fact of their trials, and their legend: a ramp for numbers, a few colours for texts.

import { element } from "../elements.js";
import { significant, whole } from "../numbers.js";
import { extent, interpolateViridis, rollup, scaleSequential, scaleSequentialLog } from "../vendor/d3.js";

const MOST_GROUPS = 8;
// Okabe and Ito's, which the colour blind can tell apart; dark ones are lighter on a dark ground.
const LIGHT = ["#0072b2", "#b85000", "#00795a", "#a0478a", "#6b6100", "#2f7fb0", "#222222", "#8a5a2b"];
const DARK = ["#56b4e9", "#ff9e4a", "#35d0a5", "#e59acb", "#f0e442", "#9ecbff", "#ffffff", "#d6ab7d"];
export const UNKNOWN = { light: "#7d858d", dark: "#8a949e" };
const OTHERS = { light: "#b97878", dark: "#b56f6f" };
// The part of viridis that is visible on the ground.
const SPAN = { light: [0, 0.88], dark: [0.22, 1] };
const WIDE_RATIO = 20;
const WIDTH = 160;

/**
 * Returns the colour of each curve, and the legend.
 * @param {object[]} curves
 * @param {Map<string, unknown>} fact its value by trial
 * @param {boolean} isDark
 * @param {Object<string, number>} looks the number of the colour of each optimizer, as in every other chart
 */
export function colouring(curves, fact, isDark, looks = {}) {
  const values = curves.map((curve) => fact.get(curve.trial)).filter(isKnown);
  const theme = isDark ? "dark" : "light";
  const numbers = values.filter(Number.isFinite);
  const isNumeric = numbers.length && values.every((value) => typeof value === "number") && new Set(values).size > 2;
  const { of, legend } = isNumeric ? ramp(numbers, theme) : groups(values, theme, looks);
  const count = curves.length - (isNumeric ? numbers : values).length;
  const text = isNumeric && numbers.length < values.length ? "not known, or not finite" : "not known";
  if (count) legend.entries.push({ text, count, colour: UNKNOWN[theme] });
  return { of: (curve) => of(fact.get(curve.trial)) ?? UNKNOWN[theme], legend };
}

function isKnown(value) {
  return value !== undefined && value !== null;
}

function ramp(numbers, theme) {
  const [low, high] = extent(numbers);
  const isLog = low > 0 && high / low > WIDE_RATIO;
  const [from, to] = SPAN[theme];
  const at = (share) => interpolateViridis(from + share * (to - from));
  const scale = (isLog ? scaleSequentialLog : scaleSequential)([low, high], at);
  const of = (value) => (Number.isFinite(value) ? scale(value) : undefined);
  return { of, legend: { low, high, isLog, at, entries: [] } };
}

function groups(values, theme, looks) {
  const counts = rollup(values, (group) => group.length, (value) => value);
  const ordered = [...counts].sort(([, one], [, other]) => other - one);
  const named = ordered.slice(0, MOST_GROUPS);
  // "reached" is the first colour, whatever its number.
  named.sort(([one], [other]) => (other === "reached") - (one === "reached"));
  const palette = theme === "dark" ? DARK : LIGHT;
  const colours = new Map();
  const isNamed = ([value]) => Object.hasOwn(looks, value);
  const optimizers = named.filter(isNamed).sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [value] of [...optimizers, ...named.filter((each) => !isNamed(each))]) {
    const start = isNamed([value]) ? looks[value] : 0;
    const used = [...colours.values()];
    colours.set(value, [...palette.slice(start), ...palette].find((colour) => !used.includes(colour)));
  }
  const entries = named.map(([value, count]) => ({ text: String(value), count, colour: colours.get(value) }));
  const rest = ordered.slice(MOST_GROUPS);
  const count = rest.reduce((sum, [, each]) => sum + each, 0);
  if (count) entries.push({ text: `${rest.length} other values`, count, colour: OTHERS[theme] });
  return { of: (value) => colours.get(value) ?? (isKnown(value) ? OTHERS[theme] : undefined), legend: { entries } };
}

/** Shows what the colours of a fact mean, and that of a reader's own run if it is drawn. */
export function showLegend(place, name, { low, high, isLog, at, entries }, hasOwn) {
  const texts = entries.map(({ text, count, colour }) => entry(`${text} (${whole(count)})`, colour));
  if (hasOwn) texts.push(entry("your run", "var(--own)"));
  const scale = isLog ? " (logarithmic)" : "";
  const ends = at ? [significant(low, 3), rampOf(at), `${significant(high, 3)}${scale}`] : [];
  place.replaceChildren(element("strong", {}, name), ...ends, ...texts);
  place.hidden = false;
}

function rampOf(at) {
  const canvas = element("canvas", { width: WIDTH, height: 12, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  for (let x = 0; x < WIDTH; x++) {
    context.fillStyle = at(x / (WIDTH - 1));
    context.fillRect(x, 0, 1, 12);
  }
  return canvas;
}

function entry(text, colour) {
  const mark = element("i");
  mark.style.background = colour;
  return element("span", {}, mark, text);
}
