// Vega, and the font with which it measures and draws text: a canvas doesn't wait for fonts.

import { element } from "./elements.js";

const FONTS = ['12px "Liberation Sans"', 'bold 12px "Liberation Sans"'];
const OPTIONS = { ast: true, actions: false, renderer: "canvas", defaultStyle: false, tooltip: { disableDefaultStyle: true } };
let loading;

/** Loads both, once. A figure is drawn in another font where this one can't be had. */
export function loadVega() {
  loading ??= Promise.all([import("./vendor/vega.js"), ...FONTS.map((font) => document.fonts.load(font).catch(() => {}))]);
  return loading;
}

/** Draws a specification with the loaded Vega; returns an element with the chart, and its view. */
export async function embed(specification) {
  const place = element("div", { className: "live" });
  const { view } = await window.vegaEmbed(place, specification, OPTIONS);
  return { place, view };
}
