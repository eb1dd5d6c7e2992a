// The SQL page: an editor, results without a reload, a history, links to share.

import { element } from "./elements.js";
import { counted } from "./numbers.js";
import { Problem, ask } from "./sql/ask.js";
import { offerNames, tablesBelow } from "./sql/browser.js";
import { remember, showHistory } from "./sql/history.js";
import { showResult } from "./sql/result.js";
import { addressOf, read, write } from "./sql/state.js";
import { fillIn } from "./sql/take.js";
import { described } from "./values.js";

const part = (id) => document.getElementById(id);
const known = { ...JSON.parse(part("known").textContent), tables: tablesBelow(document) };
const state = read();
let editor = plainEditor(part("q"));
let running;

/** Runs the statement in the editor. isNew: adds an entry to the browser's history. */
async function run(isNew) {
  const statement = part("q").value.trim();
  if (!statement) {
    part("status").textContent = "Write a statement first.";
    return;
  }
  running?.abort();
  const controller = (running = new AbortController());
  const began = performance.now();
  if (statement !== state.statement) state.choices = { show: state.choices.show };
  state.statement = statement;
  keepState(isNew);
  begin(began, controller);
  try {
    const answer = await ask(statement, known.release, known.most_rows, controller.signal);
    if (running !== controller) return;
    end();
    const ms = performance.now() - began;
    show({ ...answer, columns: answer.columns.map(described) }, ms);
  } catch (error) {
    if (running !== controller) return;
    end();
    fail(error, performance.now() - began);
  }
}

function show(result, ms) {
  part("status").textContent = `${counted(result.rows.length, "row")} in ${(ms / 1000).toFixed(2)} s`;
  const about = { ...known, pinned: state.pinned, statement: state.statement, source: `LossLake, release ${known.release}`, is_cut: Boolean(result.truncated) };
  showResult(part("result"), result, state.choices, about, (choices) => {
    state.choices = choices;
    keepState(false);
  });
  fillIn(part("take"), state.statement);
  remember({ statement: state.statement, at: Date.now(), rows: result.rows.length, ms });
  showHistory(part("history"), choose);
}

function fail(error, ms) {
  part("status").textContent = error.name === "AbortError" ? `Cancelled after ${(ms / 1000).toFixed(1)} s` : "";
  if (error.name === "AbortError") return;
  const text = error instanceof Problem ? error.message : "The service can't be reached: try again.";
  part("problem").textContent = text[0].toUpperCase() + text.slice(1);
  part("problem").hidden = false;
  if (error.line) editor.point(error.line, error.column);
}

function begin(began, controller) {
  for (const id of ["problem", "result", "take"]) part(id).hidden = true;
  part("status").textContent = "";
  part("cancel").hidden = false;
  part("elapsed").hidden = false;
  const tick = () => {
    if (running === controller) part("elapsed").textContent = `Running for ${((performance.now() - began) / 1000).toFixed(1)} s`;
    else clearInterval(ticking);
  };
  const ticking = setInterval(tick, 100);
  tick();
}

function end() {
  running = undefined;
  part("cancel").hidden = true;
  part("elapsed").hidden = true;
}

/** Writes the state into the address and into the permanent link. */
function keepState(isNew) {
  write(state.statement, state.choices, state.pinned, isNew);
  part("as-it-is").href = addressOf(state.statement, state.choices, known.release) || location.pathname;
}

function choose(statement) {
  editor.write(statement);
  run(true);
}

async function copyLink() {
  const address = addressOf(part("q").value.trim(), state.choices, known.release);
  if (!address) {
    part("status").textContent = "The statement is too long for a link.";
    return;
  }
  try {
    await navigator.clipboard.writeText(new URL(address, location.href).href);
    part("status").textContent = `Copied: a link to this statement on release ${known.release}`;
  } catch {
    part("status").replaceChildren("Copy this ", element("a", { href: address }, "link"));
  }
}

/** Wraps the text area as an editor, for use until CodeMirror has loaded. */
function plainEditor(area) {
  return {
    focus: () => area.focus(),
    write: (text) => (area.value = text),
    insert: (text) => area.setRangeText(text, area.selectionStart, area.selectionEnd, "end"),
    point: () => {},
  };
}

part("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  run(true);
});
part("cancel").addEventListener("click", () => running?.abort());
part("copy-link").addEventListener("click", copyLink);
part("copy-link").hidden = false;
addEventListener("popstate", () => {
  Object.assign(state, read());
  editor.write(state.statement);
  if (state.statement) run(false);
});
offerNames(document, (text) => editor.insert(text));
showHistory(part("history"), choose);
if (state.statement) run(false);

// Paint the page first: the editor is large, and the text area works until it has loaded.
await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
const { openEditor } = await import("./sql/editor.js");
editor = openEditor(part("editor"), part("q"), known, () => run(true));
part("keys").hidden = false;
if (!state.statement) editor.focus();
