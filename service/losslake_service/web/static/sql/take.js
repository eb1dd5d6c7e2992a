// Keeps the statement in the page's downloads and code up to date.

const STATEMENT = "STATEMENT";
const LONGEST = 12_000;

/** Fills the statement into the downloads and code inside a node; hides them if it is too long for an address. */
export function fillIn(node, statement) {
  const encoded = encodeURIComponent(statement).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  node.hidden = !statement || encoded.length > LONGEST;
  for (const each of node.querySelectorAll("[data-pattern]")) {
    const text = each.dataset.pattern.replace(STATEMENT, () => encoded);
    if (each.href === undefined) each.textContent = text;
    else each.href = text;
  }
}
