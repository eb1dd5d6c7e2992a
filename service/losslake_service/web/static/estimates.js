// The other estimates of the critical batch size, fetched on demand, since they take hundreds of fits.

import { jsonOf } from "./answers.js";
import { element } from "./elements.js";
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
      nodes = [element("p", {}, `The estimates couldn't be loaded. ${error.message}`)];
    }
    if (link.isConnected) place.replaceChildren(...nodes);
  });
}

function shown(answer) {
  const [mccandlish, zhang] = ["mccandlish2018", "zhang2024"].map((name) => answer.estimates.find((row) => row.definition === name));
  const caption = element("caption", {}, `Estimates of the critical batch size for ${answer.metric}, target ${answer.target}`);
  const heads = ["Method", "Critical batch size", "From", "To"].map((text, at) => element("th", { scope: "col", className: at ? "number" : "" }, text));
  const rows = [...METHODS.map((method) => rowOf(method, mccandlish)), rowOf(ZHANG, zhang)];
  const table = element("table", {}, caption, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  const warnings = [...answer.left_out, ...answer.warnings].map((text) => element("li", {}, text));
  return [element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": "Table of estimates" }, table), element("ul", {}, ...warnings)];
}

function rowOf([label, value, lower, upper], estimate) {
  const cells = [value, lower, upper].map((name) => {
    const number = name ? estimate[name] : null;
    return element("td", { className: "number" }, number === null || number === undefined ? "–" : significant(number, 2));
  });
  return element("tr", {}, element("th", { scope: "row" }, label), ...cells);
}
