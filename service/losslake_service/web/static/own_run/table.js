// A table from text that a reader brings: CSV in any separator, JSON lines, or pasted columns.

const MOST_CHARACTERS = 20e6;
const SEPARATORS = [",", "\t", ";"];
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
// Numbers that JSON lacks, and strings, which may contain their names.
const NOT_JSON = /"(?:\\.|[^"\\\n])*"|-?\bInfinity\b|\bNaN\b/g;
const ODD = new Map([["nan", NaN], ["inf", Infinity], ["infinity", Infinity], ["+inf", Infinity], ["-inf", -Infinity], ["-infinity", -Infinity]]);

/**
 * Reads a table. Throws an error of one line, for the reader, where the text isn't one.
 * @param {string} text
 * @returns {{names: string[], rows: {place: string, cells: string[]}[]}} place: such as Line 2; cells in the order of the names, "" for none
 */
export function readTable(text) {
  if (text.length > MOST_CHARACTERS) throw new Error("This has over 20 million characters: keep the columns of steps and of the metric.");
  if (/[\0\uFFFD]/.test(text)) throw new Error("This isn't text in UTF-8: save it as such, or as CSV.");
  const lines = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const trimmed = lines.trimStart();
  if (!trimmed) throw new Error("There is nothing in it.");
  const table = "{[".includes(trimmed[0]) ? fromJson(trimmed, lines.slice(0, -trimmed.length).split("\n").length) : fromCsv(lines);
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

/** Reads a JSON document, or lines of JSON; firstLine: the number of the text's first one. */
function fromJson(text, firstLine) {
  const readable = /NaN|Infinity/.test(text) ? text.replace(NOT_JSON, (each) => (each[0] === '"' ? each : `"${each}"`)) : text;
  const places = new Map();
  const rows = (objectsOf(readable) ?? linesOf(readable, firstLine)).map(({ place, value }) => {
    const cells = [];
    flatten(value, "", places, cells);
    return { place, cells };
  });
  if (!places.size) throw new Error("There are no values in it.");
  return { names: [...places.keys()], rows };
}

/** Returns the objects of a JSON document; undefined if the text isn't one. */
function objectsOf(text) {
  const document = parsed(text);
  if (document === undefined) {
    if (text[0] === "[") throw new Error("The list isn't JSON.");
    return undefined;
  }
  if (Array.isArray(document)) return entriesOf(document);
  const lists = Object.entries(document).filter(([, each]) => Array.isArray(each) && each.length);
  const ofObjects = lists.filter(([, list]) => list.every(isObject));
  if (ofObjects.length > 1) throw new Error(`It has several lists of objects: ${ofObjects.map(([name]) => name).join(", ")}. Give one of them.`);
  if (ofObjects.length) return entriesOf(ofObjects[0][1]);
  const isOfColumns = lists.length && !Object.values(document).some((each) => typeof each === "number" || isObject(each));
  return isOfColumns ? entriesOf(transposed(lists)) : [{ place: "Line 1", value: document }];
}

function entriesOf(list) {
  return list.map((value, index) => ({ place: `Entry ${index + 1}`, value: checked(value, `Entry ${index + 1}`) }));
}

/** Converts columns, pairs of a name and a list, to a list of objects. */
function transposed(columns) {
  const [[first, { length }]] = columns;
  for (const [name, list] of columns) {
    if (list.length !== length) throw new Error(`${name} has ${list.length} values, ${first} has ${length}: columns are equally long.`);
    if (list.some((each) => Array.isArray(each) || isObject(each))) throw new Error(`${name} isn't a list of numbers.`);
  }
  return columns[0][1].map((_, index) => Object.fromEntries(columns.map(([name, list]) => [name, list[index]])));
}

function linesOf(text, firstLine) {
  const found = [];
  text.split("\n").forEach((each, index) => {
    if (!each.trim()) return;
    const place = `Line ${firstLine + index}`;
    const value = parsed(each);
    if (value === undefined) throw new Error(`${place} isn't JSON.`);
    found.push({ place, value: checked(value, place) });
  });
  return found;
}

/** Returns the value of a JSON text; undefined if it is none. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function checked(value, what) {
  if (!isObject(value)) throw new Error(`${what} isn't a JSON object.`);
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
    // Between spaces, an empty cell can't be seen: any column may be the one that lacks.
    const isOdd = separator === null ? cells.length !== names.length : cells.length > names.length;
    if (isOdd) throw new Error(`Line ${line} has ${cells.length} columns, line ${first.line} has ${names.length}.`);
    return { place: `Line ${line}`, cells };
  });
  return { names, rows };
}

/** Returns the separator in the first line outside of quotes; null for spaces. */
function separatorOf(text) {
  const first = text.split("\n").find((line) => line.trim() && !line.startsWith("#")) ?? "";
  const bare = first.replace(/"(""|[^"])*"/g, "");
  return SEPARATORS.find((each) => bare.includes(each)) ?? null;
}

function* recordsOf(text, separator) {
  if (separator === null || !text.includes('"')) {
    for (const [index, each] of text.split("\n").entries()) {
      if (each.trim() && !each.startsWith("#")) yield { line: index + 1, cells: separator ? each.split(separator) : each.trim().split(/\s+/) };
    }
    return;
  }
  const cell = new RegExp(` *"((?:""|[^"])*)"[^${separator}\\n]*|([^${separator}\\n]*)`, "y");
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
    if (text[at] === "\n") at += 1;
    line += 1;
    if (cells.some((each) => each.trim()) && !cells[0].startsWith("#")) yield { line: start, cells };
  }
}
