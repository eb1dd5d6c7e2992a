// A table from text that a reader brings: CSV in any separator, JSON lines, or pasted columns.

const MOST_CHARACTERS = 20e6;
const SEPARATORS = [",", "\t", ";"];
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const NOT_JSON = /([:[,]\s*)(NaN|-?Infinity)(?=\s*[,}\]])/g;
const ODD = new Map([["nan", NaN], ["inf", Infinity], ["infinity", Infinity], ["+inf", Infinity], ["-inf", -Infinity], ["-infinity", -Infinity]]);

/**
 * Reads a table. Throws an error of one line, for the reader, where the text isn't one.
 * @param {string} text
 * @returns {{names: string[], rows: {line: number, cells: string[]}[]}} cells in the order of the names, "" for none
 */
export function readTable(text) {
  if (text.length > MOST_CHARACTERS) throw new Error("This has over 20 million characters: keep the columns of steps and of the metric.");
  const trimmed = text.replace(/^\uFEFF/, "").trimStart();
  if (!trimmed) throw new Error("There is nothing in it.");
  const table = "{[".includes(trimmed[0]) ? fromJson(trimmed, linesBefore(text, trimmed)) : fromCsv(text.replace(/^\uFEFF/, ""));
  if (!table.rows.length) throw new Error("There are no rows below its heading.");
  return table;
}

/** Returns the text of a cell, "" for none. */
export function cellOf({ cells }, index) {
  return cells[index]?.trim() ?? "";
}

/** Returns a number as Python, R and JavaScript write it; undefined for other text. */
export function numberIn(cell) {
  const text = cell.trim();
  return NUMBER.test(text) ? Number(text) : ODD.get(text.toLowerCase());
}

function fromJson(text, linesAbove) {
  const objects = text[0] === "[" ? listOf(text) : linesOf(text, linesAbove);
  const places = new Map();
  const rows = objects.map(({ line, value }) => {
    const cells = [];
    flatten(value, "", places, cells);
    return { line, cells };
  });
  return { names: [...places.keys()], rows };
}

function listOf(text) {
  const values = parsed(text, "The list");
  return values.map((value, index) => ({ line: index + 1, value: checked(value, `Entry ${index + 1}`) }));
}

function linesOf(text, linesAbove) {
  const found = [];
  text.split(/\r?\n/).forEach((each, index) => {
    const line = linesAbove + index + 1;
    if (each.trim()) found.push({ line, value: checked(parsed(each, `Line ${line}`), `Line ${line}`) });
  });
  return found;
}

function parsed(text, what) {
  try {
    return JSON.parse(text.replace(NOT_JSON, '$1"$2"'));
  } catch {
    throw new Error(`${what} isn't JSON.`);
  }
}

function checked(value, what) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error(`${what} isn't a JSON object.`);
  return value;
}

/** Collects the values of an object, those of inner ones under names such as metrics.loss. */
function flatten(value, prefix, places, cells) {
  for (const [name, each] of Object.entries(value)) {
    if (each === null || Array.isArray(each)) continue;
    if (typeof each === "object") {
      flatten(each, `${prefix}${name}.`, places, cells);
      continue;
    }
    if (!places.has(prefix + name)) places.set(prefix + name, places.size);
    cells[places.get(prefix + name)] = String(each);
  }
}

function fromCsv(text) {
  const separator = separatorOf(text);
  const records = [...recordsOf(text, separator)];
  const [first] = records;
  const hasNames = first.cells.some((cell) => cell.trim() && numberIn(cell) === undefined);
  const names = hasNames ? first.cells.map((cell, index) => cell.trim() || `column ${index + 1}`) : first.cells.map((_, index) => `column ${index + 1}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw new Error(`Two columns are named ${twice}.`);
  const rows = records.slice(hasNames ? 1 : 0).map(({ line, cells }) => {
    if (cells.length > names.length) throw new Error(`Line ${line} has ${cells.length} columns, line ${first.line} has ${names.length}.`);
    return { line, cells };
  });
  return { names, rows };
}

/** Returns the separator in the first line outside of quotes; null for spaces. */
function separatorOf(text) {
  const first = text.split(/\r?\n/).find((line) => line.trim() && !line.startsWith("#")) ?? "";
  const bare = first.replace(/"(""|[^"])*"/g, "");
  return SEPARATORS.find((each) => bare.includes(each)) ?? null;
}

function* recordsOf(text, separator) {
  if (separator === null || !text.includes('"')) {
    for (const [index, each] of text.split(/\r?\n/).entries()) {
      if (each.trim() && !each.startsWith("#")) yield { line: index + 1, cells: separator ? each.split(separator) : each.trim().split(/\s+/) };
    }
    return;
  }
  const cell = new RegExp(`\\s*"((?:""|[^"])*)"[^${separator}\\n]*|([^${separator}\\r\\n]*)`, "y");
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const start = line;
    const cells = [];
    for (;;) {
      cell.lastIndex = at;
      const [whole, quoted, plain] = cell.exec(text);
      cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
      line += whole.split("\n").length - 1;
      at += whole.length;
      if (text[at] !== separator) break;
      at += 1;
    }
    if (text[at] === "\r") at += 1;
    if (text[at] === "\n") at += 1;
    line += 1;
    if (cells.some((each) => each.trim()) && !cells[0].startsWith("#")) yield { line: start, cells };
  }
}

function linesBefore(text, trimmed) {
  return text.slice(0, text.length - trimmed.length).split("\n").length - 1;
}
