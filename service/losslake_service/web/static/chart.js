// Charts: draws figures from their specifications, with their headings and notes as text.

import { jsonOf } from "./answers.js";
import { offerKeys } from "./chart_keys.js";
import { element } from "./elements.js";
import { addOwnRun, takesOwnRun } from "./own_run/layer.js";
import { embed, loadVega } from "./vega.js";

const STEP = 10;
// The last label of an axis may reach beyond the figure by as many px.
const OVERHANG = 16;
const WIDEST = 1200;
const NARROW = 480;
// Specifications that are kept of a figure: as many as its slider has stops.
const MOST_KEPT = 64;
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawings = new WeakMap();
const specifications = new WeakMap();
const redrawings = new Map();

/** Draws a figure when it is within a margin of the view, and again whenever its width or the colour scheme changes. */
export function liven(figure, margin = "300px") {
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    draw(figure);
    new ResizeObserver(() => drawIfWider(figure)).observe(figure);
    dark.addEventListener("change", () => draw(figure));
    document.addEventListener("own-run", () => takesOwnRun(figure) && redraw(figure));
  }, { rootMargin: margin });
  seen.observe(figure);
}

/**
 * Draws a figure from the specification at the address in `data-live`. Aborts a drawing in progress.
 * @param {HTMLElement} figure
 * @param {string} [live] the new address of the specification
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
    const fetching = fetched(figure, width);
    // The text of a first drawing is read while Vega loads.
    if (!before) fetching.then(({ usermeta }) => tell(figure, usermeta), () => {});
    const [specification] = await Promise.all([fetching, loadVega()]);
    if (controller.signal.aborted) return false;
    addOwnRun(figure, specification, dark.matches ? "dark" : "light");
    await show(figure, specification, { controller, width, view: before?.view });
    return true;
  } catch (error) {
    if (error.name !== "AbortError") figure.dataset.trouble = error.message;
    return false;
  }
}

/** Draws a figure again; of several calls during a drawing, once after it. */
async function redraw(figure) {
  const isDrawing = redrawings.has(figure);
  redrawings.set(figure, isDrawing);
  if (isDrawing) return;
  do {
    redrawings.set(figure, false);
    await draw(figure);
  } while (redrawings.get(figure));
  redrawings.delete(figure);
}

async function show(figure, specification, drawing) {
  const { place, view } = await embed(specification);
  if (drawing.controller.signal.aborted) {
    view.finalize();
    return;
  }
  const plot = figure.querySelector(".plot");
  plot.replaceChildren(place);
  tell(figure, specification.usermeta);
  drawing.view?.finalize();
  drawings.set(figure, { ...drawing, view });
  offerKeys(plot, view, specification.description ?? figure.dataset.title);
  (await zoomOf(figure))?.offerZoom(figure, view, () => redraw(figure));
  delete figure.dataset.trouble;
  figure.dataset.drawn = figure.dataset.live;
}

/** Shows the heading and the notes of a figure as text of the page. */
function tell(figure, { heading, notes, results = [] }) {
  if (heading) figure.querySelector(".heading").textContent = heading;
  const place = figure.querySelector(".notes");
  // Where the page has an answer in words, that says the results.
  const sentences = "answered" in figure.dataset ? notes : [...notes, ...results];
  // Lines break between sentences where they can.
  place.replaceChildren(...sentences.flatMap((sentence) => [element("span", {}, sentence), " "]));
  place.hidden = !sentences.length;
}

/** Loads the specification at another address of a figure, which may be drawn next. */
export function prefetch(figure, live) {
  kept(figure, live, widthOf(figure)).catch(() => {});
}

async function fetched(figure, width) {
  const specification = structuredClone(await kept(figure, figure.dataset.live, width));
  (await zoomOf(figure))?.applyZoom(figure, specification);
  if ("unlinked" in figure.dataset) for (const { layer } of specification.concat) for (const { encoding } of layer) delete encoding?.href;
  return specification;
}

/** Returns the module that zooms into charts of this kind; undefined if there is none. */
async function zoomOf({ dataset }) {
  return dataset.live.startsWith("/v1/figures/scaling.") ? import("./chart_zoom.js") : undefined;
}

/** Returns a specification, which is fetched once: a figure changes less often than its zoom, or a run over it. */
async function kept(figure, live, width) {
  const address = new URL(live, location.href);
  const theme = dark.matches ? "dark" : "light";
  const parameters = { width, height: heightOf(figure, width), theme, captioned: false };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  if (!specifications.has(figure)) specifications.set(figure, new Map());
  const known = specifications.get(figure);
  if (!known.has(address.href)) {
    known.set(address.href, fetch(address).then(jsonOf));
    if (known.size > MOST_KEPT) known.delete(known.keys().next().value);
  }
  try {
    return await known.get(address.href);
  } catch (error) {
    known.delete(address.href);
    throw error;
  }
}

function drawIfWider(figure) {
  if (widthOf(figure) !== drawings.get(figure)?.width) draw(figure);
}

function widthOf(figure) {
  const room = figure.querySelector(".plot").clientWidth - OVERHANG;
  return Math.min(WIDEST, Math.max(240, Math.floor(room / STEP) * STEP));
}

function heightOf(figure, width) {
  const height = Number(figure.dataset.height);
  return width < NARROW ? Math.min(height, 380) : height;
}
