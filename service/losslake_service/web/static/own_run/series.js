// A table from values by name and step, of which the last one written counts: the form of event files and recorded runs.

const MOST_VALUES = 2e6;
const MOST_NAMES = 1000;

/** Collects values, and returns them as a table. */
export class Series {
  #columns = new Map();
  #times = new Map();
  #count = 0;

  /** Sets a value; an earlier one of the name at this step is replaced. time: in seconds, undefined if it isn't known. */
  set(name, step, value, time) {
    let column = this.#columns.get(name);
    if (!column) {
      if (this.#columns.size >= MOST_NAMES) throw new Error(`It has over ${MOST_NAMES.toLocaleString("en")} names of values: write the metric to a file of its own.`);
      this.#columns.set(name, (column = new Map()));
    }
    if (!column.has(step) && (this.#count += 1) > MOST_VALUES) throw new Error("It has over 2 million values: log less often.");
    column.set(step, value);
    if (Number.isFinite(time)) this.#times.set(step, time);
  }

  /** Forgets the values from a step on. */
  replaceFrom(step) {
    for (const column of [...this.#columns.values(), this.#times]) for (const each of column.keys()) if (each >= step) column.delete(each);
  }

  /**
   * Returns a row for each step, ascending.
   * @param {string} timeName of the column of times
   * @param {Object<string, string>} [facts] of the run, by name
   */
  table(timeName, facts = {}) {
    const names = [...this.#columns.keys()].filter((name) => this.#columns.get(name).size).sort();
    if (!names.length) throw new Error("There are no values by step in it.");
    const steps = [...new Set(names.flatMap((name) => [...this.#columns.get(name).keys()]))].sort((one, other) => one - other);
    const columns = [...names.map((name) => this.#columns.get(name)), ...(this.#times.size ? [this.#times] : [])];
    const rows = steps.map((step) => ({ place: `Step ${step}`, cells: [String(step), ...columns.map((column) => String(column.get(step) ?? ""))] }));
    return { names: ["step", ...names, ...(this.#times.size ? [timeName] : [])], rows, facts };
  }
}
