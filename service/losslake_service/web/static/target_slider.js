// The slider of targets: the server answers its stops, each with what the page shows at that target. This is shown at once,
// the chart is redrawn as fast as possible, and the rest follows when the slider rests.

import { draw, prefetch } from "./chart.js";
import { latestOf } from "./latest.js";

const REST_MS = 150;

/**
 * Fetches the stops, from the hardest to the easiest, and enables the slider.
 * @param {HTMLElement} place
 * @param {(target: string, signal: AbortSignal) => Promise<void>} rest shows what else depends on the target
 */
export async function offerSlider(place, rest) {
  const response = await fetch(place.dataset.stops, { headers: { accept: "text/html" } });
  const answer = new DOMParser().parseFromString(response.ok ? await response.text() : "", "text/html");
  const stops = [...answer.querySelectorAll("[data-target]")];
  if (stops.length < 2) {
    place.remove();
    return;
  }
  const input = place.querySelector("input");
  input.max = stops.length - 1;
  input.value = stops.findIndex((stop) => stop.hasAttribute("aria-current"));
  input.disabled = false;
  place.classList.add("ready");
  const follow = following(place, stops, rest);
  input.addEventListener("input", () => follow(input.valueAsNumber));
}

/** Returns the function that updates the page when the slider moves to a stop. */
function following(place, stops, rest) {
  const section = place.closest("section");
  const figure = section.querySelector("figure.chart");
  const liveAt = ({ dataset }) => {
    const live = new URL(figure.dataset.live, location.href);
    live.searchParams.set("target", dataset.target);
    return live.pathname + live.search;
  };
  const redraw = latestOf((stop) => draw(figure, liveAt(stop)));
  let before = place.querySelector("input").valueAsNumber;
  let resting;
  let renewing;
  return (at) => {
    const stop = stops[at];
    say(stop, place, section);
    figure.dataset.title = stop.dataset.title;
    redraw(stop);
    const next = stops[at + Math.sign(at - before)];
    before = at;
    if (next) prefetch(figure, liveAt(next));
    clearTimeout(resting);
    renewing?.abort();
    renewing = new AbortController();
    resting = setTimeout(() => rest(stop.dataset.target, renewing.signal), REST_MS);
  };
}

/** Shows the caption and the key figures of a stop, and its target in numbers and in words. */
function say(stop, place, section) {
  section.querySelector("[data-caption]")?.replaceChildren(...stop.querySelector("p").cloneNode(true).childNodes);
  for (const figure of stop.querySelectorAll("[data-figure]")) {
    const shown = document.querySelector(`#key-figures [data-figure="${figure.dataset.figure}"] dd`);
    shown?.replaceChildren(...figure.cloneNode(true).childNodes);
  }
  const number = document.getElementById("target");
  if (number) number.value = stop.dataset.target;
  place.querySelector("output").textContent = stop.dataset.text;
  place.querySelector("input").setAttribute("aria-valuetext", stop.dataset.spoken);
}
