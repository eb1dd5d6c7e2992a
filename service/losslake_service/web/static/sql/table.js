// A result as a table, sorted by its headers, one page at a time.

import { element } from "../elements.js";
import { whole } from "../numbers.js";
import { linksOf } from "./links.js";
import { cellOf, compare } from "../values.js";

const ROWS_ON_A_PAGE = 100;

/**
 * Returns the table of a result with buttons for its pages.
 * @param {{columns: Object[], rows: Object[]}} result columns as `described`
 * @param {?string} pinned the release that links must name
 */
export function resultTable(result, pinned) {
  const body = element("tbody");
  const place = element("p", { className: "pager" });
  const shown = { result, pinned, rows: result.rows, first: 0, body, place };
  const headers = result.columns.map(header);
  const mark = (sorted, direction) => headers.forEach((each) => {
    each.ariaSort = each === sorted ? direction : "none";
  });
  headers.forEach((each, at) => each.firstChild.addEventListener("click", () => {
    const isDescending = each.ariaSort === "ascending";
    sort(shown, result.columns[at], isDescending ? -1 : 1);
    mark(each, isDescending ? "descending" : "ascending");
  }));
  fill(shown);
  const table = element("table", { className: "rows" }, element("thead", {}, element("tr", {}, ...headers)), body);
  const scrolled = element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": "Rows" }, table);
  return element("div", { className: "as-table" }, scrolled, place);
}

function header(column) {
  const button = element("button", { type: "button", title: `Type ${column.type}. Click to sort` }, column.name);
  return element("th", { scope: "col", className: column.isNumber ? "number" : "", ariaSort: "none" }, button);
}

function sort(shown, column, direction) {
  shown.rows = [...shown.result.rows].sort((one, other) => compare(one[column.name], other[column.name], column, direction));
  shown.first = 0;
  fill(shown);
}

function fill(shown) {
  const last = Math.min(shown.rows.length, shown.first + ROWS_ON_A_PAGE);
  shown.body.replaceChildren(...shown.rows.slice(shown.first, last).map((row) => tableRow(row, shown)));
  shown.place.replaceChildren(...pager(shown, last));
}

function tableRow(row, { result, pinned }) {
  const links = linksOf(row, pinned);
  return element("tr", {}, ...result.columns.map((column) => {
    const { text, kind } = cellOf(row[column.name], column);
    const content = links[column.name] && kind !== "none" ? element("a", { href: links[column.name] }, text) : text;
    return element("td", { className: column.isNumber ? `${kind} number` : kind }, content);
  }));
}

function pager(shown, last) {
  if (shown.rows.length <= ROWS_ON_A_PAGE) return [];
  const turn = (text, first) => {
    const onclick = () => {
      shown.first = first;
      fill(shown);
      // The pressed button was replaced: move the focus to its successor.
      const buttons = [...shown.place.querySelectorAll("button")];
      (buttons.find((each) => each.textContent === text && !each.disabled) ?? buttons.find((each) => !each.disabled)).focus();
    };
    return element("button", { type: "button", disabled: first < 0 || first >= shown.rows.length, onclick }, text);
  };
  const range = ` Rows ${whole(shown.first + 1)} to ${whole(last)} of ${whole(shown.rows.length)} `;
  return [turn("Earlier rows", shown.first - ROWS_ON_A_PAGE), range, turn("Later rows", shown.first + ROWS_ON_A_PAGE)];
}
