// Replaces the contents of the page by those of the same page in another state, without a reload.

import { pageAt } from "./answers.js";
import { offerCopies } from "./copies.js";

/**
 * Shows the page at an address: replaces the elements with `data-renewed`, the charts with their links, the title and the footer.
 * @param {URL} address
 * @param {AbortSignal} signal
 */
export async function renew(address, signal) {
  const fresh = await pageAt(address, signal);
  document.title = fresh.title;
  for (const old of document.querySelectorAll("[data-renewed]")) {
    const replacement = fresh.getElementById(old.id);
    if (replacement) old.replaceChildren(...replacement.childNodes);
  }
  for (const old of document.querySelectorAll("figure.chart")) {
    const replacement = fresh.getElementById(old.id);
    if (replacement) renewChart(old, replacement);
  }
  document.querySelector("footer.site").replaceChildren(...fresh.querySelector("footer.site").childNodes);
}

/** Makes a chart what it is in another state of its page: its links and lines, and its drawing unless it is the same. */
export function renewChart(old, fresh) {
  const isOther = !isSame(old.dataset.live, fresh.dataset.live);
  old.dataset.title = fresh.dataset.title;
  old.querySelector(".ways").replaceWith(fresh.querySelector(".ways"));
  offerCopies(old.querySelector(".ways"));
  if (!isOther) return;
  old.dataset.live = fresh.dataset.live;
  // The script of charts is there once one is drawn, and not on pages of lists.
  if (old.dataset.drawn) import("./chart.js").then(({ draw }) => draw(old));
}

/** Returns true if two addresses are the same request, even if a number is written differently. */
function isSame(one, other) {
  return spelled(one) === spelled(other);
}

function spelled(address) {
  const { pathname, searchParams } = new URL(address, location.href);
  const target = searchParams.get("target");
  if (target !== null) searchParams.set("target", String(Number(target)));
  return `${pathname}?${searchParams}`;
}
