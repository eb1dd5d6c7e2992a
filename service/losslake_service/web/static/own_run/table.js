// A table from text that a reader brings: CSV in any separator, JSON, JSON lines, or pasted columns.

const MOST_CHARACTERS = 20e6;
const SEPARATORS = [",", "\t", ";"];
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
// Numbers that JSON lacks, and strings, which may contain their names.
const NOT_JSON = /"(?:\\.|[^"\\\n])*"|-?\bInfinity\b|\bNaN\b/g;
const ODD = new Map([["nan", NaN], ["inf", Infinity], ["infinity", Infinity], ["+inf", Infinity], ["-inf", -Infinity], ["-infinity", -Infinity]]);

/**
 * Reads a table. Throws an error of one line, for the reader, where the text isn't one.
 * @param {string} text
 * @returns {{names: string[], rows: {place: string, cells: string[]}[], facts: Object<string, string>}} place: such as Line 2; cells: one for each
 *   name, "" for none; facts: what a JSON document says beside its list, by name
 */
export function readTable(text) {
  if (text.length > MOST_CHARACTERS) throw new Error("This has over 20 million characters: keep the columns of steps and of the metric.");
  if (/[\0\uFFFD]/.test(text)) throw new Error("This isn't text in UTF-8: save it as such, or as CSV.");
  const lines = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const trimmed = lines.trimStart();
  if (!trimmed) throw new Error("There is nothing in it.");
  const { names, rows, facts = {} } = "{[".includes(trimmed[0]) ? fromJson(trimmed, lines.slice(0, -trimmed.length).split("\n").length) : fromCsv(lines);
  if (!rows.length) throw new Error("There are no rows below its heading.");
  return { names, rows: rows.map(({ place, cells }) => ({ place, cells: names.map((_, index) => (cells[index] ?? "").trim()) })), facts };
}

/** Returns columns of a table as CSV; default: all. */
export function csvOf({ names, rows }, wanted = names) {
  const places = wanted.map((name) => names.indexOf(name));
  const lines = rows.map(({ cells }) => places.map((place) => cells[place])).filter((cells) => cells.some(Boolean));
  return [wanted, ...lines].map((cells) => cells.map((cell) => (/[",;\t\n#]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")).join("\n");
}

/** Returns a number as Python, R and JavaScript write it; undefined for other text. */
export function numberIn(cell) {
  return NUMBER.test(cell) ? Number(cell) : ODD.get(cell.toLowerCase());
}

/** Reads a JSON document, or lines of JSON; firstLine: the number of the text's first one. */
function fromJson(text, firstLine) {
  const readable = /NaN|Infinity/.test(text) ? text.replace(NOT_JSON, (each) => (each[0] === '"' ? each : `"${each}"`)) : text;
  const document = parsed(readable);
  if (document === undefined && text[0] === "[") throw new Error("The list isn't JSON.");
  const entries = document === undefined ? linesOf(readable, firstLine) : entriesIn(document);
  const places = new Map();
  const rows = entries.map(({ place, value }) => {
    const cells = [];
    flatten(value, "", places, cells);
    return { place, cells };
  });
  if (!places.size) throw new Error("There are no values in it.");
  return { names: [...places.keys()], rows, facts: factsIn(document) };
}

/** Returns the texts and numbers of a document, those of inner objects under names such as args.batch_size. */
function factsIn(document) {
  if (!isObject(document)) return {};
  const [places, cells] = [new Map(), []];
  flatten(document, "", places, cells);
  return Object.fromEntries([...places].map(([name, place]) => [name, cells[place]]));
}

/** Returns the rows of a JSON document: of a list, of the list in an object, or of lists that are its columns. */
function entriesIn(document) {
  if (Array.isArray(document)) return entriesOf(document);
  const lists = Object.entries(document).filter(([, each]) => Array.isArray(each) && each.length);
  const ofObjects = lists.filter(([, list]) => list.every(isObject));
  if (ofObjects.length > 1) throw new Error(`It has several lists of objects: ${ofObjects.map(([name]) => name).join(", ")}. Give one of them.`);
  if (ofObjects.length) return entriesOf(ofObjects[0][1]);
  const isOfColumns = lists.length && !Object.values(document).some((each) => typeof each === "number" || isObject(each));
  return isOfColumns ? entriesOf(transposed(lists)) : [entry("Line 1", document)];
}

function entriesOf(list) {
  return list.map((value, index) => entry(`Entry ${index + 1}`, value));
}

function entry(place, value) {
  if (!isObject(value)) throw new Error(`${place} isn't a JSON object.`);
  return { place, value };
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
  return text.split("\n").flatMap((line, index) => {
    if (!line.trim()) return [];
    const place = `Line ${firstLine + index}`;
    const value = parsed(line);
    if (value === undefined) throw new Error(`${place} isn't JSON.`);
    return [entry(place, value)];
  });
}

/** Returns the value of a JSON text; undefined if it is none. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Collects the values of an object, those of inner ones under names such as metrics.loss. */
function flatten(value, prefix, places, cells) {
  for (const [name, each] of Object.entries(value)) {
    if (isObject(each)) flatten(each, `${prefix}${name}.`, places, cells);
    else if (each !== null && !Array.isArray(each)) {
      if (!places.has(prefix + name)) places.set(prefix + name, places.size);
      cells[places.get(prefix + name)] = String(each);
    }
  }
}

function fromCsv(text) {
  const separator = separatorOf(text);
  const [first, ...others] = recordsOf(text, separator);
  if (!first) throw new Error("There is nothing in it.");
  const hasNames = first.cells.some((cell) => cell.trim() && numberIn(cell.trim()) === undefined);
  const names = first.cells.map((cell, index) => (hasNames && cell.trim()) || `column ${index + 1}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw new Error(`Two columns are named ${twice}.`);
  for (const { line, cells } of others) {
    // Between spaces, an empty cell can't be seen: any column may be the one that lacks.
    const isOdd = separator === null ? cells.length !== names.length : cells.length > names.length;
    if (isOdd) throw new Error(`Line ${line} has ${cells.length} columns, line ${first.line} has ${names.length}.`);
  }
  return { names, rows: (hasNames ? others : [first, ...others]).map(({ line, cells }) => ({ place: `Line ${line}`, cells })) };
}

/** Returns the separator in the first line outside of quotes; null for spaces. */
function separatorOf(text) {
  const first = text.split("\n").find((line) => line.trim() && !line.startsWith("#")) ?? "";
  const bare = first.replace(/"(""|[^"])*"/g, "");
  return SEPARATORS.find((each) => bare.includes(each)) ?? null;
}

/** Returns the records of a text with the number of their first line; not those that are empty, or comments. */
function recordsOf(text, separator) {
  if (separator !== null && text.includes('"')) return quotedRecordsOf(text, separator).filter(({ cells }) => cells.some((cell) => cell.trim()) && !cells[0].startsWith("#"));
  const lines = text.split("\n").map((content, index) => ({ line: index + 1, content }));
  return lines.filter(({ content }) => content.trim() && !content.startsWith("#")).map(({ line, content }) => ({ line, cells: separator ? content.split(separator) : content.trim().split(/\s+/) }));
}

function quotedRecordsOf(text, separator) {
  const cell = new RegExp(`(?: *"((?:""|[^"])*)"[^${separator}\\n]*|([^${separator}\\n]*))(${separator}|\\n|$)`, "g");
  const records = [];
  let line = 1;
  let cells = [];
  let start = line;
  for (const [whole, quoted, bare, end] of text.matchAll(cell)) {
    cells.push(quoted?.replaceAll('""', '"') ?? bare);
    line += whole.split("\n").length - 1;
    if (end === separator) continue;
    records.push({ line: start, cells });
    [start, cells] = [line, []];
  }
  return records;
}
