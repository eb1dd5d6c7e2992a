// The result of a statement, as a table or a chart.

import { element } from "../elements.js";
import { whole } from "../numbers.js";
import { drawable } from "./chart.js";
import { resultChart } from "./chart_view.js";
import { resultTable } from "./table.js";

/**
 * Shows a result in place of the previous one.
 * @param {HTMLElement} section
 * @param {{columns: Object[], rows: Object[], truncated: false|string}} result
 * @param {Object} choices as the address has them
 * @param {Object} about the release and the statement
 * @param {(choices: Object) => void} changed
 */
export function showResult(section, result, choices, about, changed) {
  const place = element("div");
  const buttons = [["table", "Table"], ["chart", "Chart"]].map(([name, text]) =>
    element("button", { type: "button", "aria-pressed": "false", data: { show: name }, onclick: () => turnTo(name, true) }, text));
  const canDraw = result.rows.length > 0 && drawable(result).length > 1;
  buttons[1].hidden = !canDraw;
  let current = choices;
  const turnTo = (name, isChosen) => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.show === name)));
    const drawn = name === "chart" ? resultChart(result, current, about, keep) : { node: resultTable(result, about.pinned), choices: {} };
    place.replaceChildren(drawn.node);
    if (isChosen) keep({ ...current, ...drawn.choices, show: name === "chart" ? "chart" : "" });
  };
  const keep = (changes) => {
    current = { ...current, ...changes };
    changed(current);
  };
  turnTo(canDraw && choices.show === "chart" ? "chart" : "table", false);
  section.replaceChildren(element("p", { className: "ways-to-see", role: "group", "aria-label": "Show as" }, ...buttons), notice(result, about), place);
  section.hidden = false;
}

function notice(result, about) {
  if (!result.rows.length) return element("p", { className: "said" }, "The result has no rows.");
  const first = whole(result.rows.length);
  return about.is_cut ? element("p", { className: "said" }, `These are the first ${first} rows; the result has more. The downloads below have them, up to the limits stated there.`) : "";
}
