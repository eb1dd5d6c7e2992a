// The key figures of a target, from its row of the target sweep: the same as service/losslake_service/web/workload/key_figures.py.

/** Fills in the {names} of a template. */
export function filled(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Formats an integer with thousands separators. */
export function whole(number) {
  return number.toLocaleString("en", { maximumFractionDigits: 0 });
}

/** Formats a number to the given significant digits. */
export function significant(number, digits) {
  const rounded = Number(number.toPrecision(digits));
  if (rounded && Math.abs(rounded) < 1e-6) return String(rounded);
  return rounded.toLocaleString("en", { maximumSignificantDigits: 12 });
}

/** Formats a target as goals do: to six digits, like Python's %g. */
export function general(number) {
  const [mantissa, exponent] = number.toExponential(5).split("e");
  if (exponent >= -4 && exponent < 6) return String(Number(number.toPrecision(6)));
  return `${Number(mantissa)}e${exponent.replace(/^([+-])(\d)$/, "$10$2")}`;
}

/** Returns the number of batch sizes that reach the target of a row. */
export function reached(row, words) {
  return Math.round(row.coverage * words.fixed.all);
}

/**
 * Returns the value and the note of each key figure, by name.
 * @returns {Record<string, {value: string, note: string}>}
 */
export function keyFigures(row, words) {
  const counts = { reached: whole(reached(row, words)), all: whole(words.fixed.all) };
  return {
    reached: { value: filled(words.reached, counts), note: "" },
    steps: { value: row.fewest_steps === null ? words.none : whole(row.fewest_steps), note: words.notes.steps },
    perfect: { value: end(row, "perfect_scaling_end", words), note: words.notes.perfect },
    useful: { value: end(row, "max_useful_batch_size", words), note: words.notes.useful },
    critical: critical(row, words),
  };
}

function end(row, name, words) {
  const size = row[name];
  return size === null ? words.none : filled(words[row[`${name}_censoring`] ?? "exact"], { size: whole(size) });
}

function estimate(numbers, digits) {
  return numbers.map((number) => (number === null ? null : significant(number, digits)));
}

function critical(row, words) {
  const { critical_batch_size: value, critical_batch_size_lower: lower, critical_batch_size_upper: upper } = row;
  const isBounded = lower !== null && upper !== null;
  const numbers = [value, lower, upper];
  const short = estimate(numbers, 2);
  const isBlurred = value !== null && short.slice(1).includes(short[0]);
  const [shown, low, high] = isBlurred ? estimate(numbers, 3) : short;
  const ends = { lower: low, upper: high };
  if (value !== null) return { value: shown, note: isBounded ? filled(words.interval, ends) : "" };
  const why = words.refusals[row.not_identifiable];
  const oneSided = lower !== null ? words.at_least : upper !== null ? words.at_most : "{why}";
  return { value: words.none, note: filled(isBounded ? words.between : oneSided, { why, ...ends }) };
}
