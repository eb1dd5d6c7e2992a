// Vega, and the font with which it measures and draws text: a canvas doesn't wait for fonts.

const FONTS = ['12px "Liberation Sans"', 'bold 12px "Liberation Sans"'];
let loading;

/** Loads both, once. A figure is drawn in another font where this one can't be had. */
export function loadVega() {
  loading ??= Promise.all([import("./vendor/vega.js"), ...FONTS.map((font) => document.fonts.load(font).catch(() => {}))]);
  return loading;
}
