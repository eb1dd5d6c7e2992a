// Scalars of TensorBoard's event files. Spec: TFRecord framing of Event messages, as losslake_ingest reads them.

import { Series } from "./series.js";

const [HEADER, FOOTER] = [12, 4];
const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5];
const STAMP = /tfevents\.(\d{1,18})/;
// By the dtype of a tensor: the kind of its numbers in tensor_content, and the field that lists them.
const CONTENT = new Map([[1, "Float32"], [2, "Float64"], [3, "Int32"], [4, "Uint8"], [5, "Int16"], [6, "Int8"], [9, "BigInt64"], [10, "Uint8"], [14, "Uint16"], [17, "Uint16"], [19, "Uint16"], [22, "Uint32"], [23, "BigUint64"]]);
const LISTS = new Map([[1, 5], [2, 6], [3, 7], [4, 7], [5, 7], [6, 7], [9, 10], [10, 11], [14, 13], [17, 7], [19, 13], [22, 16], [23, 17]]);
const [BFLOAT16, HALF] = [14, 19];
const AXES = new Set(["step", "wall_time"]);
const text = new TextDecoder();
const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  return crc;
});

/** Returns true if bytes begin with a record whose length has the right checksum. */
export function isEventFile(bytes) {
  return bytes.length >= HEADER && lengthAt(viewOf(bytes), bytes, 0) !== undefined;
}

/**
 * Returns the scalars of one run's event files as a table. Throws an error of one line.
 * @param {{name: string, bytes: Uint8Array}[]} files
 */
export function readEventFiles(files) {
  const series = new Series();
  const plugins = new Map();
  const bare = [];
  const stampOf = ({ name }) => Number(STAMP.exec(name)?.[1] ?? 0);
  for (const { name, bytes } of [...files].sort((one, other) => stampOf(one) - stampOf(other) || (one.name < other.name ? -1 : 1))) {
    for (const scalar of scalarsIn(bytes, name, plugins)) bare.push(scalar);
  }
  // A tensor without a plugin has that of the first value of its tag.
  for (const { tag, step, value, time, isBare } of bare) if (!isBare || (plugins.get(tag) ?? "scalars") === "scalars") series.set(tag, step, value, time);
  return series.table("wall_time");
}

/** Yields the scalars of a file in the order written; plugins: gets the first plugin of each tag. */
function* scalarsIn(bytes, name, plugins) {
  const view = viewOf(bytes);
  let at = 0;
  while (at + HEADER + FOOTER <= bytes.length) {
    const length = lengthAt(view, bytes, at);
    const start = at + HEADER;
    const isCut = length !== undefined && start + length + FOOTER > bytes.length;
    if (isCut) return; // It is still being written.
    if (length === undefined || view.getUint32(start + length, true) !== masked(bytes, start, start + length)) throw new Error(`${name} is damaged at byte ${at.toLocaleString("en")}: copy it again.`);
    yield* scalarsOf(bytes, view, start, start + length, plugins);
    at = start + length + FOOTER;
  }
}

function* scalarsOf(bytes, view, start, stop, plugins) {
  let [time, step] = [undefined, 0];
  const values = [];
  for (const [number, kind, begin, end] of fields(bytes, start, stop)) {
    if (number === 1 && kind === FIXED64) time = view.getFloat64(begin, true);
    else if (number === 2 && kind === VARINT) step = Number(BigInt.asIntN(64, varint(bytes, begin, end)));
    else if (number === 5 && kind === BYTES) for (const [inner, its, from, to] of fields(bytes, begin, end)) if (inner === 1 && its === BYTES) values.push(valueOf(bytes, view, from, to));
  }
  for (const { tag, value, isTensor, plugin } of values) {
    if (plugin !== undefined && !plugins.has(tag)) plugins.set(tag, plugin);
    const isScalar = !isTensor || plugin === "scalars" || plugin === undefined;
    if (value !== undefined && isScalar && plugin !== "hparams" && !AXES.has(tag)) yield { tag, step, value, time, isBare: isTensor && plugin === undefined };
  }
}

/** Returns a value of a summary; its `value` is undefined unless it is a single number. */
function valueOf(bytes, view, start, stop) {
  const result = { tag: "", value: undefined, isTensor: false, plugin: undefined };
  for (const [number, kind, begin, end] of fields(bytes, start, stop)) {
    if (number === 1 && kind === BYTES) result.tag = text.decode(bytes.subarray(begin, end));
    else if (number === 2 && kind === FIXED32) Object.assign(result, { value: view.getFloat32(begin, true), isTensor: false });
    else if (number === 8 && kind === BYTES) Object.assign(result, { value: tensorOf(bytes, view, begin, end), isTensor: true });
    else if (number >= 3 && number <= 6 && kind === BYTES) Object.assign(result, { value: undefined, isTensor: false });
    else if (number === 9 && kind === BYTES) result.plugin = pluginOf(bytes, begin, end) ?? result.plugin;
  }
  return result;
}

function pluginOf(bytes, start, stop) {
  for (const [number, kind, begin, end] of fields(bytes, start, stop)) {
    if (number !== 1 || kind !== BYTES) continue;
    for (const [inner, its, from, to] of fields(bytes, begin, end)) if (inner === 1 && its === BYTES && to > from) return text.decode(bytes.subarray(from, to));
  }
  return undefined;
}

/** Returns the number of a tensor with a single one; undefined for any other. */
function tensorOf(bytes, view, start, stop) {
  const parts = [...fields(bytes, start, stop)];
  let [dtype, elements, content] = [0, 1, undefined];
  for (const [number, kind, begin, end] of parts) {
    if (number === 1 && kind === VARINT) dtype = Number(varint(bytes, begin, end));
    else if (number === 2 && kind === BYTES) elements *= elementsOf(bytes, begin, end);
    else if (number === 4 && kind === BYTES && end > begin) content = [begin, end];
  }
  const type = CONTENT.get(dtype);
  if (!type || elements !== 1) return undefined;
  if (!content) return listedNumber(bytes, view, dtype, parts);
  const [begin, end] = content;
  if (end - begin !== Number(/\d+/.exec(type)) / 8) return undefined;
  const number = Number(view[`get${type}`](begin, true));
  if (dtype === 10) return number ? 1 : 0;
  return [BFLOAT16, HALF].includes(dtype) ? halfOf(number, dtype) : number;
}

function elementsOf(bytes, start, stop) {
  let product = 1;
  for (const [number, kind, begin, end] of fields(bytes, start, stop)) {
    if (number === 3 && kind === VARINT && varint(bytes, begin, end)) product = 0;
    if (number !== 2 || kind !== BYTES) continue;
    let size = 0n;
    for (const [inner, its, from, to] of fields(bytes, begin, end)) if (inner === 1 && its === VARINT) size = varint(bytes, from, to);
    product = Math.min(product * Number(size), 2);
  }
  return product;
}

/** Returns the single number of a repeated field, packed or not. */
function listedNumber(bytes, view, dtype, parts) {
  const size = { 1: 4, 2: 8 }[dtype];
  const wanted = { 1: FIXED32, 2: FIXED64 }[dtype] ?? VARINT;
  const places = [];
  for (const [number, kind, begin, end] of parts) {
    if (number !== LISTS.get(dtype) || (kind !== wanted && kind !== BYTES)) continue;
    for (let at = begin; at < end && places.length < 2; at += size ?? lengthOf(bytes, at, end)) places.push([at, end]);
  }
  if (places.length !== 1) return undefined;
  const [[at, end]] = places;
  if (size) return at + size > end ? undefined : view[size === 4 ? "getFloat32" : "getFloat64"](at, true);
  const number = varint(bytes, at, end);
  if ([BFLOAT16, HALF].includes(dtype)) return halfOf(Number(number & 0xffffn), dtype);
  return Number([22, 23].includes(dtype) ? number : BigInt.asIntN(64, number));
}

/** Returns the number that 16 bits stand for. */
function halfOf(bits, dtype) {
  if (dtype === BFLOAT16) {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint16(0, bits);
    return view.getFloat32(0);
  }
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : (fraction / 1024) * 2 ** -14);
}

/** Yields the fields of a message: number, kind, and the bounds of its content. Throws an error where it is none. */
function* fields(bytes, start, stop) {
  let at = start;
  while (at < stop) {
    const key = Number(varint(bytes, at, stop));
    at += lengthOf(bytes, at, stop);
    const kind = key & 7;
    let length = { [FIXED64]: 8, [FIXED32]: 4 }[kind];
    if (kind === VARINT) length = lengthOf(bytes, at, stop);
    else if (kind === BYTES) {
      length = Number(varint(bytes, at, stop));
      at += lengthOf(bytes, at, stop);
    }
    if (length === undefined || at + length > stop) throw new Error(`It isn't an event file of TensorBoard, or is damaged at byte ${at.toLocaleString("en")}: copy it again.`);
    yield [Math.floor(key / 8), kind, at, at + length];
    at += length;
  }
}

function lengthOf(bytes, at, stop) {
  for (let end = at; end < Math.min(stop, at + 10); end += 1) if (bytes[end] < 128) return end + 1 - at;
  throw new Error(`It isn't an event file of TensorBoard, or is damaged at byte ${at.toLocaleString("en")}: copy it again.`);
}

/** Returns the unsigned number at a place, as BigInt. */
function varint(bytes, at, stop) {
  const length = lengthOf(bytes, at, stop);
  let number = 0n;
  for (let place = length - 1; place >= 0; place -= 1) number = (number << 7n) | BigInt(bytes[at + place] & 127);
  return BigInt.asUintN(64, number);
}

function viewOf(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns the length of the record at a place; undefined if its checksum is wrong. */
function lengthAt(view, bytes, at) {
  if (view.getUint32(at + 8, true) !== masked(bytes, at, at + 8)) return undefined;
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

/** Returns the masked CRC-32C of bytes. */
function masked(bytes, start, stop) {
  let crc = 0xffffffff;
  for (let at = start; at < stop; at += 1) crc = CRC[(crc ^ bytes[at]) & 255] ^ (crc >>> 8);
  crc = ~crc >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
