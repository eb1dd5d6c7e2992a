// The history of statements run in this browser, newest first.

import { element } from "../elements.js";
import { counted } from "../numbers.js";

const KEY = "losslake.sql.history";
const MOST = 50;

/** Adds a statement to the history, or moves it to the front. */
export function remember(entry) {
  const others = remembered().filter((each) => each.statement !== entry.statement);
  store([entry, ...others].slice(0, MOST));
}

/**
 * Shows the history in a section.
 * @param {HTMLElement} section
 * @param {(statement: string) => void} choose
 */
export function showHistory(section, choose) {
  const entries = remembered();
  section.hidden = !entries.length;
  section.querySelector(".past").replaceChildren(...entries.map((entry) => {
    const onclick = () => choose(entry.statement);
    const button = element("button", { type: "button", title: entry.statement, onclick }, entry.statement.replace(/\s+/g, " ").trim());
    return element("li", {}, button, element("span", { className: "quiet" }, summary(entry)));
  }));
  section.querySelector("#forget").onclick = () => {
    store([]);
    showHistory(section, choose);
  };
}

function summary({ at, rows, ms }) {
  const when = new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return `${when} · ${counted(Number(rows), "row")} · ${(ms / 1000).toFixed(2)} s`;
}

/** Returns the stored entries; none if the browser stores nothing, or anything else is there. */
function remembered() {
  try {
    const entries = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return entries.filter((each) => typeof each.statement === "string" && Number.isFinite(each.at)).slice(0, MOST);
  } catch {
    return [];
  }
}

function store(entries) {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    // The browser stores nothing: the page works without a history.
  }
}
