// The page of a workload: activates the slider of targets and the link to all estimates.

import { offerEstimates } from "./estimates.js";
import { renew } from "./renewal.js";
import { offerSlider } from "./target_slider.js";

for (const place of document.querySelectorAll(".slide")) {
  place.addEventListener("input", () => document.getElementById("answer").classList.add("stale"));
  offerSlider(place, (target, signal) => showTarget(place.dataset.metric, target, signal));
}
offerEstimates(document.getElementById("main"));

/** Updates the address and the rest of the page to the target. */
async function showTarget(metric, target, signal) {
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
