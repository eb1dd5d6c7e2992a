// Sends a statement to the service.

const LONG_INTEGER = /[[:,]\s*-?\d{16,}/;

/** An error in a statement, with its position where it is known. */
export class Problem extends Error {
  constructor(document) {
    super(document.detail);
    this.line = document.line;
    this.column = document.column;
  }
}

/**
 * Runs a statement. Aborting the signal closes the connection, which also stops the statement on the service.
 * @returns {Promise<{columns: {name: string, type: string}[], rows: Object[], truncated: false|string}>}
 */
export async function ask(sql, release, limit, signal) {
  const response = await fetch("/v1/sql", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ sql, release, limit }),
    signal,
  });
  const text = await response.text();
  if (!response.ok) throw new Problem(problemIn(text, response.status));
  return LONG_INTEGER.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}

/** Revives integers beyond 2^53 as their source text, where the browser supports it, since numbers would lose digits. */
function exact(_, value, context) {
  const isLong = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLong && context?.source ? context.source : value;
}

function problemIn(text, status) {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: `the service answered with status ${status}: try again` };
  }
}
