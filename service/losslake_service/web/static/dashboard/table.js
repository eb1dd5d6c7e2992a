// The table of runs: rows that changed are replaced, so that a selection of text and the place in it stay.

import { element } from "../elements.js";

const shown = new Map();
let head = "";

/**
 * Shows the rows of runs.
 * @param {HTMLTableElement} table
 * @param {object} latest what the service said last
 * @param {Map<string, object>} rows by path
 * @param {Map<string, string>} colourOf the colour of each run's curve
 */
export function drawTable(table, { columns, order }, rows, colourOf) {
  const names = JSON.stringify(columns);
  if (names !== head) {
    head = names;
    shown.clear();
    const cells = columns.map(([name, isNumber]) => element("th", { scope: "col", className: isNumber ? "number" : "" }, name));
    table.tHead.replaceChildren(element("tr", {}, element("th", { scope: "col" }, "run"), ...cells));
  }
  const wanted = order.filter((path) => rows.has(path)).map((path) => rowOf(rows.get(path), columns, colourOf.get(path)));
  const [body] = table.tBodies;
  const isSame = wanted.length === body.rows.length && wanted.every((row, at) => row === body.rows[at]);
  if (!isSame) body.replaceChildren(...wanted);
  for (const path of shown.keys()) if (!order.includes(path)) shown.delete(path);
}

/** Marks the row of the selected run. path: undefined for none */
export function markSelected(path) {
  for (const [name, { row }] of shown) row.classList.toggle("selected", name === path);
}

function rowOf(data, columns, colour) {
  const known = shown.get(data.path);
  if (known?.data === data && known.colour === colour) return known.row;
  const mark = element("i");
  if (colour) mark.style.background = colour;
  const place = data.path.endsWith(data.name) ? [] : [" ", element("span", { className: "quiet" }, data.path)];
  const notes = data.notes.map((note) => element("span", { className: "note" }, note));
  const name = element("th", { scope: "row" }, ...(colour ? [mark] : []), data.name, ...place, ...notes);
  const cells = data.cells.map((cell, at) => element("td", { className: columns[at][1] ? "number" : "" }, cell));
  const row = element("tr", { data: { path: data.path } }, name, ...cells);
  shown.set(data.path, { data, colour, row });
  return row;
}
