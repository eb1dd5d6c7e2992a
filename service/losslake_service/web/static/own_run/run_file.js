// Reads what a reader drops or chooses: a table in text, TensorBoard's event files, or a recorded run.

import { isEventFile, readEventFiles } from "./event_file.js";
import { isOfRecordedRun, readRecordedRun } from "./recorded.js";
import { csvOf, readTable } from "./table.js";

const MOST_BYTES = 40e6;
const MOST_EVENT_BYTES = 100e6;
const MOST_FILES = 1000;

/**
 * Reads the files of one run. Throws an error of one line, for the reader.
 * @param {File[]} files
 * @returns {Promise<{name: string, text: string, facts: object, table: object}>} text: from which `readTable` reads the same table; facts: of the run, which the
 *   text lacks
 */
export async function readRun(files) {
  const recorded = files.filter((file) => isOfRecordedRun(pathOf(file)));
  const events = files.filter(({ name }) => name.includes("tfevents"));
  const [first] = files;
  if (files.length > MOST_FILES) throw new Error(`${files.length.toLocaleString("en")} files are too many: drop those of one run.`);
  if (recorded.length > 1) {
    const [texts, name] = [await textsOf(recorded), folderOf(recorded[0])];
    return named(name, () => tabled(name, readRecordedRun(texts)));
  }
  if (events.length === files.length && events.length) return readEvents(files);
  if (files.length > 1 && events.length) return readEvents(events);
  if (files.length > 1) throw new Error(`Drop one file: ${files.length} were dropped.`);
  const start = await bytesOf(first, first.slice(0, 12));
  if (isEventFile(start)) return readEvents(files);
  check(first.name, first.size, MOST_BYTES);
  const text = await textOf(first);
  return named(first.name, () => ({ name: first.name, text, facts: {}, table: readTable(text) }));
}

/** Returns the files of what was dropped. entries: with their folders, where the browser gives them. */
export async function filesIn(entries, files) {
  if (!entries.some((entry) => entry?.isDirectory)) return files;
  const [found, waiting] = [[], [...entries]];
  while (waiting.length && found.length <= MOST_FILES) {
    const entry = waiting.pop();
    if (entry?.isFile) found.push(await promised((done, fail) => entry.file(done, fail), entry.fullPath));
    if (!entry?.isDirectory) continue;
    const reader = entry.createReader();
    // It gives some of its entries at a time, and in the end none.
    for (let some; waiting.length <= MOST_FILES && some?.length !== 0; waiting.push(...some)) some = await promised((done, fail) => reader.readEntries(done, fail));
  }
  return found;
}

async function promised(begin, path) {
  const result = await new Promise(begin);
  if (path) result.path = path.replace(/^\//, "");
  return result;
}

async function readEvents(files) {
  check(files[0].name, files.reduce((sum, { size }) => sum + size, 0), MOST_EVENT_BYTES);
  const read = await Promise.all(files.map(async (file) => ({ name: file.name, bytes: await bytesOf(file, file) })));
  for (const { name, bytes } of read) if (bytes.length && !isEventFile(bytes)) throw new Error(`${name} isn't an event file of TensorBoard, or is damaged at its start: copy it again.`);
  return named(files[0].name, () => tabled(files[0].name, readEventFiles(read)));
}

async function textsOf(files) {
  check(folderOf(files[0]), files.reduce((sum, { size }) => sum + size, 0), MOST_BYTES);
  return Promise.all(files.map(async (file) => ({ name: pathOf(file), text: await textOf(file) })));
}

/** Returns the text of a file; throws an error of one line if the browser can't read it. */
async function textOf(file) {
  return file.text().catch(unreadable(file));
}

/** Returns the bytes of a part of a file; throws likewise. */
async function bytesOf(file, part) {
  return new Uint8Array(await part.arrayBuffer().catch(unreadable(file)));
}

function unreadable({ name }) {
  return ({ message }) => {
    throw new Error(`${name} couldn't be read: ${message}`);
  };
}

function tabled(name, table) {
  return { name, text: csvOf(table), facts: table.facts, table };
}

function named(name, read) {
  try {
    return read();
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

function check(name, bytes, most) {
  if (bytes > most) throw new Error(`${name} has ${Math.round(bytes / 1e6)} MB, and at most ${most / 1e6} MB are read: keep the columns of steps and of the metric.`);
}

function pathOf(file) {
  return file.path || file.webkitRelativePath || file.name;
}

function folderOf(file) {
  return pathOf(file).split("/")[0];
}
