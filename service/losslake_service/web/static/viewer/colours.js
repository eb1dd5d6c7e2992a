// Colours of curves by a fact of their trials: a ramp for numbers, a few colours for texts.

import { interpolateViridis } from "../vendor/d3.js";

const MOST_GROUPS = 8;
// Okabe and Ito's, which the colour blind can tell apart; dark ones are lighter on a dark ground.
const LIGHT = ["#0072b2", "#b85000", "#00795a", "#a0478a", "#6b6100", "#2f7fb0", "#5b5bd0", "#8a5a2b"];
const DARK = ["#56b4e9", "#ff9e4a", "#35d0a5", "#e59acb", "#f0e442", "#9ecbff", "#b3b3ff", "#d6ab7d"];
const UNKNOWN = { light: "#7d858d", dark: "#8a949e" };
const OTHERS = { light: "#b97878", dark: "#b56f6f" };
// The part of viridis that is visible on the ground.
const SPAN = { light: [0, 0.88], dark: [0.22, 1] };
const WIDE_RATIO = 20;

/**
 * Returns the colour of each curve, and the legend.
 * @param {object[]} curves
 * @param {Map<string, unknown>} fact its value by trial
 * @param {boolean} isDark
 */
export function colouring(curves, fact, isDark) {
  const values = curves.map((curve) => fact.get(curve.trial)).filter(isKnown);
  const unknown = isDark ? UNKNOWN.dark : UNKNOWN.light;
  const numbers = values.filter(Number.isFinite);
  const isNumeric = numbers.length && values.every((value) => typeof value === "number") && new Set(values).size > 2;
  const { of, legend } = isNumeric ? ramp(numbers, isDark) : groups(values, isDark);
  const without = curves.length - (isNumeric ? numbers : values).length;
  const text = isNumeric && numbers.length < values.length ? "not known, or not finite" : "not known";
  if (without) legend.entries.push({ text, count: without, colour: unknown });
  return { of: (curve) => of(fact.get(curve.trial)) ?? unknown, legend };
}

function isKnown(value) {
  return value !== undefined && value !== null;
}

function ramp(numbers, isDark) {
  const [low, high] = numbers.reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [Infinity, -Infinity]);
  const isLog = low > 0 && high / low > WIDE_RATIO;
  const [from, to] = isDark ? SPAN.dark : SPAN.light;
  const share = (value) => (high === low ? 0.5 : isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  const at = (position) => interpolateViridis(from + position * (to - from));
  const of = (value) => (Number.isFinite(value) ? at(share(value)) : undefined);
  return { of, legend: { low, high, isLog, at, entries: [] } };
}

function groups(values, isDark) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const ordered = [...counts].sort(([, one], [, other]) => other - one);
  const named = ordered.slice(0, MOST_GROUPS);
  const palette = isDark ? DARK : LIGHT;
  // "reached" is the first colour, whatever its number.
  if (counts.has("reached")) named.sort(([one], [other]) => (other === "reached") - (one === "reached"));
  const colours = new Map(named.map(([value], index) => [value, palette[index]]));
  const rest = ordered.length - named.length;
  const others = isDark ? OTHERS.dark : OTHERS.light;
  const entries = named.map(([value, count]) => ({ text: String(value), count, colour: colours.get(value) }));
  if (rest) entries.push({ text: `${rest} other values`, count: ordered.slice(MOST_GROUPS).reduce((sum, [, count]) => sum + count, 0), colour: others });
  return { of: (value) => colours.get(value) ?? (isKnown(value) ? others : undefined), legend: { entries } };
}
