// Addresses and lines of the page that hold the statement: kept as it is now.

const STATEMENT = "STATEMENT";
const LONGEST = 12_000;

/** Fills the statement into the downloads and the lines below a node; one too long for an address hides them. */
export function fillIn(node, statement) {
  const encoded = encodeURIComponent(statement).replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
  node.hidden = !statement || encoded.length > LONGEST;
  for (const each of node.querySelectorAll("[data-pattern]")) {
    const text = each.dataset.pattern.replace(STATEMENT, () => encoded);
    if (each.href === undefined) each.textContent = text;
    else each.href = text;
  }
}
