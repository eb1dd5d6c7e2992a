// The list of tables next to the editor: a click on a name inserts it into the statement.

import { element } from "../elements.js";

/** Turns the names inside a node into buttons. */
export function offerNames(node, insert) {
  for (const name of node.querySelectorAll("[data-insert]")) {
    const onclick = () => insert(name.dataset.insert);
    name.replaceChildren(element("button", { type: "button", className: "insert", title: "Insert into the statement", onclick }, name.textContent));
  }
}

/** Returns the tables and macros that the page lists: name, call, columns with type and meaning. */
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
