// The legend of the colours of curves.

import { element } from "../elements.js";
import { significant, whole } from "../numbers.js";

const WIDTH = 160;

/** Shows what the colours of a fact mean, and that of a reader's own run if it is drawn. */
export function showLegend(place, name, legend, hasOwn) {
  place.hidden = false;
  const own = hasOwn ? [entry("your run", "var(--own)")] : [];
  const entries = legend.entries.map(({ text, count, colour }) => entry(`${text} (${whole(count)})`, colour));
  if (!legend.at) {
    place.replaceChildren(element("strong", {}, name), ...entries, ...own);
    return;
  }
  const canvas = element("canvas", { width: WIDTH, height: 12 });
  const context = canvas.getContext("2d");
  for (let x = 0; x < WIDTH; x++) {
    context.fillStyle = legend.at(x / (WIDTH - 1));
    context.fillRect(x, 0, 1, 12);
  }
  canvas.setAttribute("aria-hidden", "true");
  const scale = legend.isLog ? " (logarithmic)" : "";
  place.replaceChildren(element("strong", {}, name), significant(legend.low, 3), canvas, `${significant(legend.high, 3)}${scale}`, ...entries, ...own);
}

function entry(text, colour) {
  const mark = element("i");
  mark.style.background = colour;
  return element("span", {}, mark, text);
}
