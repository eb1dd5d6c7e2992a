// The slider of targets: the server answers its stops, each with what the page shows at that target. This is shown at once,
// the chart is redrawn as fast as possible, and the rest of the page follows when the slider rests.

import { draw } from "./chart.js";
import { latestOf } from "./latest.js";
import { renew } from "./renewal.js";

const REST_MS = 150;

/** Fetches the stops, from the hardest to the easiest, and enables the slider. */
export async function offerSlider(place) {
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
  const follow = following(place);
  input.addEventListener("input", () => follow(stops[input.valueAsNumber]));
}

/** Returns the function that updates the page when the slider moves to a stop. */
function following(place) {
  const figure = document.getElementById("scaling");
  const redraw = latestOf((target) => {
    const live = new URL(figure.dataset.live, location.href);
    live.searchParams.set("target", target);
    return draw(figure, live.pathname + live.search);
  });
  let resting;
  let renewing;
  return (stop) => {
    say(stop, place);
    figure.dataset.title = stop.dataset.title;
    redraw(stop.dataset.target);
    document.getElementById("answer").classList.add("stale");
    clearTimeout(resting);
    renewing?.abort();
    renewing = new AbortController();
    resting = setTimeout(() => rest(place.dataset.metric, stop.dataset.target, renewing.signal), REST_MS);
  };
}

/** Shows the key figures of a stop, and its target in numbers and in words. */
function say(stop, place) {
  for (const figure of stop.querySelectorAll("[data-figure]")) {
    const shown = document.querySelector(`#key-figures [data-figure="${figure.dataset.figure}"] dd`);
    shown.replaceChildren(...figure.cloneNode(true).childNodes);
  }
  place.querySelector("output").textContent = stop.dataset.text;
  place.querySelector("input").setAttribute("aria-valuetext", stop.dataset.spoken);
  document.getElementById("target").value = stop.dataset.target;
}

/** Updates the address and the rest of the page to the target. */
async function rest(metric, target, signal) {
  const address = new URL(location.href);
  address.searchParams.set("metric", metric);
  address.searchParams.set("target", target);
  address.hash = "";
  history.replaceState(null, "", address);
  const answer = document.getElementById("answer");
  try {
    await renew(address, signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    answer.textContent = `The answer for this target couldn't be loaded. ${error.message} Reload the page to try again.`;
  }
  answer.classList.remove("stale");
}
