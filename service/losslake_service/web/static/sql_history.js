// The statements that were run in this browser, newest first.

import { element } from "./elements.js";

const KEY = "losslake.sql.history";
const MOST = 50;

/** Remembers a statement that was run; one that is known already moves to the front. */
export function remember(entry) {
  const others = remembered().filter((each) => each.statement !== entry.statement);
  store([entry, ...others].slice(0, MOST));
}

/**
 * Shows them in a section, and again whenever one is added.
 * @param {HTMLElement} section
 * @param {(statement: string) => void} choose
 */
export function showHistory(section, choose) {
  const entries = remembered();
  section.hidden = !entries.length;
  section.querySelector(".past").replaceChildren(...entries.map((entry) => {
    const button = element("button", { type: "button", title: entry.statement }, entry.statement.replace(/\s+/g, " ").trim());
    button.addEventListener("click", () => choose(entry.statement));
    return element("li", {}, button, element("span", { className: "quiet" }, said(entry)));
  }));
  section.querySelector("#forget").onclick = () => {
    store([]);
    showHistory(section, choose);
  };
}

function said({ at, rows, ms }) {
  const when = new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return `${when} · ${Number(rows).toLocaleString("en")} ${rows === 1 ? "row" : "rows"} · ${(ms / 1000).toFixed(2)} s`;
}

/** What is stored; nothing where the browser keeps nothing, or something else is there. */
function remembered() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return found.filter((each) => typeof each.statement === "string" && Number.isFinite(each.at)).slice(0, MOST);
  } catch {
    return [];
  }
}

function store(entries) {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    // A browser that keeps nothing: the page goes on without a history.
  }
}
