// Numbers as text, in the same way as pages have them.

/** Formats an integer with thousands separators. */
export function whole(number) {
  return number.toLocaleString("en", { maximumFractionDigits: 0 });
}

/** Formats a number of things: 1 trial, 2,000 trials. */
export function counted(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
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
