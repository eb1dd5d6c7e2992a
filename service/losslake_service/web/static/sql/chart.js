// A result as a Vega-Lite specification, in the style of the service's figures.

import { linkOf } from "./links.js";
import { cellOf, numberOf } from "../values.js";

const MOST_SERIES = 20;
const MOST_IN_TOOLTIP = 14;
const NARROW = 480;
const MANY = 200;
const PLAIN = "datum.value >= 1 ? format(datum.value, ',') : format(datum.value, '.3~g')";
// One, two or five times a power of ten.
const IS_ROUND = "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) >= 0";
const ACROSS = ["batch_size", "step", "learning_rate"];
const UP = ["steps", "value", "best_value"];

/** Returns the columns that can be drawn: those with any value that fits on an axis. */
export function drawable(result) {
  const hasPlace = (column) => result.rows.some((row) => (column.isNumber ? Number.isFinite(numberOf(row[column.name])) : row[column.name] !== null));
  return result.columns.filter((column) => !column.isNested && hasPlace(column));
}

/**
 * Completes the choices with defaults, and drops those that don't fit the result.
 * @returns {{x: string, y: string, colour: string, mark: string, log: string}}
 */
export function chosen(result, choices) {
  const columns = drawable(result);
  const names = columns.map((column) => column.name);
  const numbers = columns.filter((column) => column.isNumber).map((column) => column.name);
  const measured = numbers.filter((name) => !ACROSS.includes(name) && name !== "trial_id");
  const x = ifAllowed(choices.x, names) ?? ACROSS.find((name) => numbers.includes(name)) ?? numbers[0] ?? names[0] ?? "";
  const others = (list) => list.filter((name) => name !== x);
  const y = ifAllowed(choices.y, names) ?? others(UP).find((name) => numbers.includes(name)) ?? others(measured)[0] ?? others(numbers)[0] ?? others(names)[0] ?? "";
  const series = columns.filter((column) => !column.isNumber && column.name !== x && isSeries(result, column.name));
  const wasChosen = Boolean(choices.x || choices.y);
  const colour = ifAllowed(choices.colour, names) ?? (wasChosen ? "" : (series[0]?.name ?? ""));
  const mark = ifAllowed(choices.mark, ["line", "points", "bars"]) ?? (columns.find((c) => c.name === x)?.isNumber === false ? "bars" : ACROSS.slice(0, 2).includes(x) ? "line" : "points");
  const log = wasChosen ? (choices.log ?? "") : [x, y].map((name, at) => (isWide(result, name) ? "xy"[at] : "")).join("");
  return { x, y, colour, mark, log };
}

/** Returns the specification. choices: from `chosen`. size: width and height in px. */
export function specification(result, choices, config, size, about) {
  const shown = [...new Set([choices.x, choices.y, choices.colour, ...drawable(result).map((each) => each.name)])].filter(Boolean);
  const fields = new Map(shown.map((name, at) => [name, /^\w+$/.test(name) && name !== "link" ? name : `column ${at}`]));
  const column = (name) => result.columns.find((each) => each.name === name);
  const field = (name) => ({ field: fields.get(name), title: name });
  const axis = (name, letter) => ({ ...field(name), ...scaled(result, column(name), choices.log.includes(letter), choices.mark, letter) });
  const encoding = { x: axis(choices.x, "x"), y: axis(choices.y, "y") };
  const details = {
    tooltip: shown.slice(0, MOST_IN_TOOLTIP).map((name) => ({ ...field(name), type: column(name).isNumber ? "quantitative" : "nominal", ...(column(name).isNumber ? { format: ".6~g" } : {}) })),
  };
  if (choices.colour) encoding.color = { ...field(choices.colour), ...coloured(result, column(choices.colour), config.range.ordinal), legend: { orient: size.width < NARROW ? "bottom" : "right", columns: size.width < NARROW ? 2 : 1 } };
  // Shapes distinguish series for readers who don't see their colours.
  if (choices.mark === "points" && encoding.color && encoding.color.type === "nominal") encoding.shape = { ...field(choices.colour), type: "nominal" };
  if (result.rows.some((row) => linkOf(row, about.pinned))) details.href = { field: "link", type: "nominal" };
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: { text: `${choices.y} by ${choices.x}`, subtitle: about.source },
    usermeta: { losslake: { release: about.release, sql: about.statement } },
    ...size,
    autosize: { type: "fit", contains: "padding" },
    data: { values: result.rows.map((row) => values(row, shown, fields, column, about.pinned)) },
    encoding,
    layer: layers(choices.mark, details, result.rows.length),
    config,
  };
}

/** Returns the layers of marks; one mark for each row has the tooltip and the link. */
function layers(name, details, n) {
  if (name === "line") return [{ mark: "line" }, { mark: { type: "point", filled: true, size: n > MANY ? 14 : 40, opacity: 1 }, encoding: details }];
  return [{ mark: name === "bars" ? "bar" : { type: "point", filled: true, size: 46, opacity: 0.75 }, encoding: details }];
}

function values(row, shown, fields, column, pinned) {
  const datum = Object.fromEntries(shown.map((name) => [fields.get(name), valueOf(row[name], column(name))]));
  const link = linkOf(row, pinned);
  return link ? { ...datum, link: new URL(link, location.href).href } : datum;
}

/** Converts a value for Vega: null if no axis can show it. */
function valueOf(value, column) {
  if (!column.isNumber) return value === null || column.isTime ? value : cellOf(value, column).text;
  const number = numberOf(value);
  return Number.isFinite(number) ? number : null;
}

function scaled(result, column, isLog, markName, letter) {
  if (!column.isNumber) return column.isTime ? { type: "temporal" } : { type: "nominal", axis: { labelLimit: 160 } };
  if (markName === "bars" && letter === "x") return { type: "ordinal" };
  if (!isLog) return { type: "quantitative", scale: { zero: markName === "bars", nice: true }, axis: { tickCount: 7 } };
  const base = positives(result, column.name).every((value) => Number.isInteger(Math.log2(value))) ? 2 : 10;
  return { type: "quantitative", scale: { type: "log", base, nice: false, padding: 12 }, axis: { labelExpr: base === 2 ? PLAIN : `${IS_ROUND} ? (${PLAIN}) : ''`, labelOverlap: true, tickCount: 8 } };
}

/** Returns distinct colours for names and ordered colours for numbers; a few numbers have one colour each. */
function coloured(result, column, ordered) {
  if (!column.isNumber) return { type: "nominal" };
  if (!isSeries(result, column.name)) return { type: "quantitative" };
  const n = new Set(result.rows.map((row) => row[column.name])).size;
  return { type: "ordinal", scale: { range: Array.from({ length: n }, (_, at) => between(ordered, n > 1 ? at / (n - 1) : 0)) } };
}

/** Interpolates a colour at a position from 0 to 1 of a scale. */
function between(colours, place) {
  const at = Math.min(colours.length - 2, Math.floor(place * (colours.length - 1)));
  const share = place * (colours.length - 1) - at;
  const channel = (colour, from) => parseInt(colour.slice(from, from + 2), 16);
  const mixed = [1, 3, 5].map((from) => Math.round(channel(colours[at], from) * (1 - share) + channel(colours[at + 1], from) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function positives(result, name) {
  return result.rows.map((row) => numberOf(row[name])).filter((value) => value > 0 && Number.isFinite(value));
}

/** Returns true if the numbers of a column need a logarithmic axis: a wide range, all positive. */
function isWide(result, name) {
  if (!result.columns.find((column) => column.name === name)?.isNumber) return false;
  const numbers = result.rows.map((row) => numberOf(row[name])).filter(Number.isFinite);
  const [low, high] = [Math.min(...numbers.slice(0, 1e5)), Math.max(...numbers.slice(0, 1e5))];
  return low > 0 && high / low >= 50;
}

/** Returns true if a column divides the rows into a few series. */
function isSeries(result, name) {
  const distinct = new Set(result.rows.map((row) => row[name]));
  return distinct.size > 1 && distinct.size <= MOST_SERIES && distinct.size * 2 <= result.rows.length;
}

function ifAllowed(choice, allowed) {
  return allowed.includes(choice) ? choice : undefined;
}
