// The other estimates of the critical batch size, fetched on demand, since they take hundreds of fits.

import { jsonOf } from "./answers.js";
import { significant } from "./numbers.js";

const METHODS = [
  ["Profile likelihood (the interval above)", "critical_batch_size", "lower", "upper"],
  ["Delta method", null, "delta_method_lower", "delta_method_upper"],
  ["Bootstrap over batch sizes", null, "bootstrap_lower", "bootstrap_upper"],
  ["Fits that leave out one batch size", null, "leave_one_out_lower", "leave_one_out_upper"],
  ["Searches with half as many trials", null, "half_search_lower", "half_search_upper"],
  ["Curve with a knee of free sharpness", "knee_critical_batch_size"],
  ["Curve with a free exponent", "exponent_critical_batch_size"],
];
const ZHANG = ["Zhang et al. 2024, for language models: 20% more examples than at batch size 256", ...METHODS[0].slice(1)];

/** Replaces the link to the JSON answer by a table of the answer when it is clicked. */
export function offerEstimates(node) {
  node.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-estimates]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const place = link.closest("[data-renewed]");
    link.textContent = "Fitting …";
    let nodes;
    try {
      nodes = shown(await jsonOf(await fetch(link.href)));
    } catch (error) {
      nodes = [withText("p", `The estimates couldn't be loaded. ${error.message}`)];
    }
    if (link.isConnected) place.replaceChildren(...nodes);
  });
}

function shown(answer) {
  const [mccandlish, zhang] = ["mccandlish2018", "zhang2024"].map((name) => answer.estimates.find((row) => row.definition === name));
  const table = document.createElement("table");
  table.append(withText("caption", `Estimates of the critical batch size for ${answer.metric}, target ${answer.target}`));
  const head = table.createTHead().insertRow();
  for (const text of ["Method", "Critical batch size", "From", "To"]) head.append(headed(text, "col"));
  const body = table.createTBody();
  for (const method of METHODS) addRow(body, method, mccandlish);
  addRow(body, ZHANG, zhang);
  const box = document.createElement("div");
  box.className = "wide";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Table of estimates");
  box.append(table);
  const warnings = document.createElement("ul");
  for (const text of [...answer.left_out, ...answer.warnings]) warnings.append(withText("li", text));
  return [box, warnings];
}

function addRow(body, [label, ...names], estimate) {
  const row = body.insertRow();
  row.append(headed(label, "row"));
  for (const name of [names[0], names[1], names[2]]) {
    const value = name ? estimate[name] : null;
    const cell = row.insertCell();
    cell.className = "number";
    cell.textContent = value === null || value === undefined ? "–" : significant(value, 2);
  }
}

function headed(text, scope) {
  const cell = withText("th", text);
  cell.scope = scope;
  if (scope === "col" && text !== "Method") cell.className = "number";
  return cell;
}

function withText(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
