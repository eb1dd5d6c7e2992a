// The list of tables next to the editor: a click on a name inserts it into the statement. The keyboard inserts names by
// completion in the editor, and tables by their buttons.

/** Inserts the name that is clicked on inside a node, and shows what is about that. */
export function offerNames(node, insert) {
  for (const each of node.querySelectorAll(".inserts")) each.hidden = false;
  node.addEventListener("click", (event) => {
    const name = event.target.closest("[data-insert]");
    if (name) insert(name.dataset.insert);
  });
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
