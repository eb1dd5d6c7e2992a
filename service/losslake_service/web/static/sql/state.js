// The state of the page, kept in its address: the statement, and how its result is shown.

const CHOICES = ["show", "x", "y", "colour", "mark", "log"];
const LONGEST = 12_000;

/** Reads the state from the address. */
export function read() {
  const query = new URLSearchParams(location.search);
  const choices = Object.fromEntries(CHOICES.map((name) => [name, query.get(name) ?? ""]));
  return { statement: query.get("q") ?? "", choices, pinned: query.get("release") };
}

/** Returns the address of a state; empty if the statement is too long for an address. */
export function addressOf(statement, choices, release) {
  const query = new URLSearchParams();
  if (statement) query.set("q", statement);
  for (const name of CHOICES) if (choices[name]) query.set(name, choices[name]);
  if (release) query.set("release", release);
  const text = query.toString();
  return text.length > LONGEST ? "" : `${location.pathname}${text ? `?${text}` : ""}`;
}

/** Writes the state into the address, as a new history entry or in place of the current one. */
export function write(statement, choices, pinned, isNew) {
  const address = addressOf(statement, choices, pinned) || location.pathname;
  if (isNew && address !== location.pathname + location.search) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
