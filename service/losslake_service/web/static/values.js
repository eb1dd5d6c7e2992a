// The values of an answer: their text, their numbers and their order.

import { whole } from "./numbers.js";

const NUMBER = /^u?int|^float|^double|^halffloat|^decimal/;
const TIME = /^timestamp|^date/;
const NESTED = /^list|^large_list|^fixed_size_list|^map|^struct/;
const ODD = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity]]);
const MOST_CHARACTERS = 500;

/** Returns a column with the kind of its values. */
export function described({ name, type }) {
  return { name, type, isNumber: NUMBER.test(type), isTime: TIME.test(type), isNested: NESTED.test(type) };
}

/** Returns a value as text, and its kind: text, number, odd (NaN and infinities) or none (null). */
export function cellOf(value, column) {
  if (value === null || value === undefined) return { text: "null", kind: "none" };
  if (column.isNumber) return { text: String(value), kind: ODD.has(value) ? "odd" : "number" };
  return { text: shortened(typeof value === "object" ? JSON.stringify(value) : String(value)), kind: "text" };
}

/** Converts a value of a numeric column to a number; null for none. */
export function numberOf(value) {
  if (value === null || value === undefined) return null;
  return ODD.has(value) ? ODD.get(value) : Number(value);
}

/** Compares two values of a column: NaN after every number, null last in both directions. */
export function compare(one, other, column, direction) {
  const isNone = [one, other].map((value) => value === null || value === undefined);
  if (isNone[0] || isNone[1]) return isNone[0] - isNone[1];
  if (!column.isNumber) return direction * collator.compare(cellOf(one, column).text, cellOf(other, column).text);
  const [a, b] = [numberOf(one), numberOf(other)];
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return direction * (a < b ? -1 : a > b ? 1 : 0);
}

const collator = new Intl.Collator("en", { numeric: true });

function shortened(text) {
  const rest = text.length - MOST_CHARACTERS;
  if (rest <= 0) return text;
  return `${text.slice(0, MOST_CHARACTERS)}… (${whole(rest)} more characters)`;
}
