// The tables beside the editor: a click on a name writes it into the statement.

import { element } from "./elements.js";

/** Makes buttons of the names below a node. */
export function offerNames(node, insert) {
  for (const name of node.querySelectorAll("[data-insert]")) {
    const button = element("button", { type: "button", className: "insert", title: "Write it into the statement" }, name.textContent);
    button.addEventListener("click", () => insert(name.dataset.insert));
    name.replaceChildren(button);
  }
}

/** The tables and macros as the page lists them: name, call, columns with type and meaning. */
export function tablesBelow(node) {
  return [...node.querySelectorAll("details[data-table]")].map((each) => ({
    name: each.dataset.table,
    call: each.dataset.call,
    isMacro: each.dataset.macro === "yes",
    doc: each.querySelector("p").textContent,
    columns: [...each.querySelectorAll("li")].map((column) => ({
      name: column.querySelector("code").dataset.column,
      type: column.querySelector(".type").textContent,
      doc: column.querySelector(".quiet").textContent,
    })),
  }));
}
