// Charts: the picture that a page comes with is replaced by the same figure, drawn live from its specification.

import { offerKeys } from "./chart_keys.js";

const STEP = 40;
const WIDEST = 1200;
const NARROW = 480;
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawings = new WeakMap();
let library;

/** Draws a figure live as soon as it is about to be seen, and again whenever its width or the colours change. */
export function liven(figure) {
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    draw(figure);
    new ResizeObserver(() => drawIfWider(figure)).observe(figure);
    dark.addEventListener("change", () => draw(figure));
  }, { rootMargin: "300px" });
  seen.observe(figure);
}

/**
 * Draws a figure from the specification at its address, which `data-live` holds; a drawing under way is given up.
 * @param {HTMLElement} figure
 * @param {string} [live] the address to draw from now on
 * @returns {Promise<boolean>} whether it is drawn
 */
export async function draw(figure, live) {
  if (live) figure.dataset.live = live;
  const before = drawings.get(figure);
  before?.controller.abort();
  const controller = new AbortController();
  const width = widthOf(figure);
  drawings.set(figure, { controller, width, view: before?.view });
  try {
    const [specification] = await Promise.all([fetched(figure, width, controller.signal), load()]);
    if (controller.signal.aborted) return false;
    await show(figure, specification, { controller, width, view: before?.view });
    return true;
  } catch (error) {
    if (error.name !== "AbortError") figure.dataset.trouble = error.message;
    return false;
  }
}

async function show(figure, specification, drawing) {
  const place = document.createElement("div");
  place.className = "live";
  const options = { ast: true, actions: false, renderer: "canvas", defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const { view } = await window.vegaEmbed(place, specification, options);
  if (drawing.controller.signal.aborted) {
    view.finalize();
    return;
  }
  const plot = figure.querySelector(".plot");
  plot.replaceChildren(place);
  drawing.view?.finalize();
  drawings.set(figure, { ...drawing, view });
  offerKeys(plot, view, specification.description ?? figure.dataset.title);
  delete figure.dataset.trouble;
  figure.dataset.drawn = figure.dataset.live;
}

async function fetched(figure, width, signal) {
  const address = new URL(figure.dataset.live, location.href);
  const asked = { width, height: heightOf(figure, width), theme: dark.matches ? "dark" : "light" };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  const response = await fetch(address, { signal });
  if (!response.ok) throw new Error((await response.json()).detail);
  return response.json();
}

function drawIfWider(figure) {
  if (widthOf(figure) !== drawings.get(figure)?.width) draw(figure);
}

function widthOf(figure) {
  const room = figure.querySelector(".plot").clientWidth;
  return Math.min(WIDEST, Math.max(240, Math.floor(room / STEP) * STEP));
}

function heightOf(figure, width) {
  const height = Number(figure.dataset.height);
  return width < NARROW ? Math.min(height, 380) : height;
}

function load() {
  library ??= import("./vendor/vega.js");
  return library;
}
