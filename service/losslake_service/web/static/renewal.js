// The same page in another state: fetched, and put in the place of what is there, without leaving the page.

import { draw } from "./chart.js";
import { offerCopies } from "./copies.js";

/**
 * Shows the page at an address: what has `data-renewed`, every chart and its lines, the title and the foot.
 * @param {URL} address
 * @param {AbortSignal} signal
 */
export async function renew(address, signal) {
  const response = await fetch(address, { signal, headers: { accept: "text/html" } });
  if (!response.ok) throw new Error(`The page answered with status ${response.status}.`);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  document.title = fresh.title;
  for (const old of document.querySelectorAll("[data-renewed]")) {
    const found = fresh.getElementById(old.id);
    if (found) old.replaceChildren(...found.childNodes);
  }
  for (const old of document.querySelectorAll("figure.chart")) {
    const found = fresh.getElementById(old.id);
    if (found) renewChart(old, found);
  }
  document.querySelector("footer.site").replaceChildren(...fresh.querySelector("footer.site").childNodes);
}

function renewChart(old, fresh) {
  const isOther = !isSame(old.dataset.live, fresh.dataset.live);
  old.dataset.title = fresh.dataset.title;
  old.querySelector(".ways").replaceWith(fresh.querySelector(".ways"));
  offerCopies(old.querySelector(".ways"));
  old.querySelector("figcaption .unseen").textContent = fresh.dataset.title;
  if (!isOther) return;
  old.dataset.live = fresh.dataset.live;
  if (old.dataset.drawn) draw(old);
  else old.querySelector(".plot").replaceChildren(...fresh.querySelector(".plot").childNodes);
}

/** Whether two addresses ask the same, however it is written. */
function isSame(one, other) {
  return spelled(one) === spelled(other);
}

function spelled(address) {
  const { pathname, searchParams } = new URL(address, location.href);
  const target = searchParams.get("target");
  if (target !== null) searchParams.set("target", String(Number(target)));
  return `${pathname}?${searchParams}`;
}
