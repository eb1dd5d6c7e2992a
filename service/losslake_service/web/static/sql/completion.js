// Completions in a statement: tables, columns, macros, functions, and the release's names inside quotes.

import { snippetCompletion } from "../vendor/codemirror.js";
import { COMPLETED } from "./words.js";

const COMPARED = /([a-z_]+)"?\s*(?:=|<>|!=|\b(?:not\s+)?i?like\b|\b(?:not\s+)?in\s*\((?:\s*'(?:[^']|'')*'\s*,)*)\s*$/i;
const METRIC = /\b(?:(?:pooled_)?result_at|steps_to)\s*\(\s*(?:metric\s*:=\s*)?$/i;
const METAPARAMETER = /\b(?:parameters|attributes)\s*\[\s*$/i;
const AFTER_FROM = /\b(?:from|join|describe|summarize)\s+$|\bfrom\s+[\w\s,]*,\s*$/i;
const ALIASED = /\b(?:from|join|,)\s+(\w+)(?:\s*\([^()]*\))?\s+(?:as\s+)?(\w+)/gi;

/**
 * Returns a completion source for CodeMirror.
 * @param {{tables: Object[], names: Object<string, string[]>, functions: string[]}} known
 */
export function completions(known) {
  const fixed = {
    tables: known.tables.map((table, at) => ({ ...tableOption(table), boost: 30 - at })),
    keywords: COMPLETED.map((label) => ({ label, type: "keyword", boost: -1 })),
    functions: known.functions.map((label) => ({ label, apply: `${label}(`, type: "function", detail: "function", boost: -5 })),
  };
  return (context) => {
    const before = context.state.sliceDoc(0, context.pos);
    const quote = openQuote(before);
    if (quote >= 0) return inQuotes(known.names, before, quote, context);
    const word = context.matchBefore(/\w+/);
    const from = word ? word.from : context.pos;
    const rest = before.slice(0, from);
    const text = context.state.doc.toString();
    const dotted = /(\w+)\.$/.exec(rest);
    if (dotted) return { from, options: columnOptions(tablesNamed(known.tables, text, dotted[1])), validFor: /^\w*$/ };
    if (!word && !context.explicit && !AFTER_FROM.test(rest)) return null;
    if (AFTER_FROM.test(rest)) return { from, options: fixed.tables, validFor: /^\w*$/ };
    const named = known.tables.filter((table) => new RegExp(`\\b${table.name}\\b`, "i").test(text));
    const columns = columnOptions(named.length ? named : known.tables);
    return { from, options: [...columns, ...fixed.tables, ...fixed.keywords, ...fixed.functions], validFor: /^\w*$/ };
  };
}

/** Returns where an unclosed quoted text at the end begins; -1 for none. Skips comments. */
function openQuote(text) {
  const parts = /'(?:[^']|'')*('|$)|"[^"]*"?|--[^\n]*|\/\*[^]*?(?:\*\/|$)/g;
  for (let match; (match = parts.exec(text)) && match[0]; ) {
    if (match[0].startsWith("'") && !match[1]) return match.index + 1;
  }
  return -1;
}

function inQuotes(names, before, from, context) {
  const rest = before.slice(0, from - 1);
  const column = COMPARED.exec(rest)?.[1].toLowerCase();
  const kind = METRIC.test(rest) ? "metric" : METAPARAMETER.test(rest) ? "metaparameter" : names[column] ? column : "";
  const kinds = kind ? [kind] : Object.keys(names).filter((each) => each !== "workload");
  const isClosed = context.state.sliceDoc(context.pos, context.pos + 1) === "'";
  const options = kinds.flatMap((each) => names[each].map((name) => {
    const text = name.replaceAll("'", "''") + (isClosed ? "" : "'");
    return { label: name, type: "text", detail: each, apply: passing(text, isClosed) };
  }));
  return { from, options, validFor: /^[^']*$/ };
}

/** Inserts the text and moves the cursor behind the closing quote. */
function passing(text, isClosed) {
  return (view, _, from, to) => view.dispatch({
    changes: { from, to, insert: text },
    selection: { anchor: from + text.length + (isClosed ? 1 : 0) },
    userEvent: "input.complete",
  });
}

function tableOption(table) {
  const about = { label: table.name, type: "class", detail: table.isMacro ? "macro" : "table", info: table.doc };
  if (!table.isMacro) return about;
  const call = table.call.replace(/[\\{}$]/g, "\\$&").replace(/\('((?:[^']|'')*)', (.*)\)$/, "('${$1}', ${$2})");
  return snippetCompletion(call, about);
}

/** Returns the table with a name, or those with this alias in a statement. */
function tablesNamed(tables, text, name) {
  const wanted = new Set([name.toLowerCase()]);
  for (const [, table, alias] of text.matchAll(ALIASED)) if (alias.toLowerCase() === name.toLowerCase()) wanted.add(table.toLowerCase());
  const matches = tables.filter((table) => wanted.has(table.name));
  return matches.length ? matches : tables;
}

/** Returns the distinct columns of tables. */
function columnOptions(tables) {
  const columns = new Map();
  for (const table of tables) {
    for (const { name, type, doc } of table.columns) {
      if (!columns.has(name)) columns.set(name, { label: name, type: "property", detail: type.toLowerCase(), info: doc, boost: 3 });
    }
  }
  return [...columns.values()];
}
