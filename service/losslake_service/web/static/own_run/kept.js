// The run that a reader gave, kept for the other pages of this tab.

const KEPT = "losslake-own-run";
const MOST_KEPT = 2e6;

/** Returns the kept run; undefined if there is none. */
export function keptRun() {
  const text = sessionStorage.getItem(KEPT);
  return text === null ? undefined : JSON.parse(text);
}

/** Keeps a run; returns false if it is too large. */
export function keepRun(run) {
  if (run.text.length > MOST_KEPT) return false;
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(run));
    return true;
  } catch {
    return false; // The browser has no room for it.
  }
}

/** Forgets the kept run. */
export function forgetRun() {
  sessionStorage.removeItem(KEPT);
}
