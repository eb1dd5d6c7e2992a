// A list that changes while words are typed and filters change, without a reload; rows that are ticked stay ticked.

import { renew } from "./renewal.js";

const DELAY_MS = 180;

/**
 * Activates the form of a list. Addresses have only what is set: the list's its filters, those of other pages the ticked rows.
 * @param {HTMLFormElement} form
 * @param {object} about
 * @param {string} about.ticked the name of the boxes of rows
 * @param {Object<string, string>} [about.defaults] values that addresses leave out
 * @param {() => void} [about.onTicked]
 * @param {() => void} [about.onRenewed]
 */
export function filterAtOnce(form, { ticked, defaults = {}, onTicked, onRenewed }) {
  const isSet = ([name, value]) => value && defaults[name] !== value;
  let waiting;
  let request;

  async function follow() {
    request?.abort();
    request = new AbortController();
    const url = new URL(form.action);
    url.search = new URLSearchParams([...new FormData(form)].filter(isSet));
    try {
      await renew(url, request.signal);
      onRenewed?.();
      history.replaceState(null, "", url);
    } catch (error) {
      if (error.name === "AbortError") return;
      document.getElementById("count").textContent = `The list couldn't be loaded. ${error.message}`;
    }
  }

  form.addEventListener("input", ({ target }) => {
    if (target.name === ticked) {
      onTicked?.();
      return;
    }
    clearTimeout(waiting);
    waiting = setTimeout(follow, target.type === "search" ? DELAY_MS : 0);
  });
  form.addEventListener("submit", ({ submitter }) => {
    const isOther = submitter?.hasAttribute("formaction");
    form.addEventListener("formdata", ({ formData }) => {
      for (const [name, value] of [...formData]) {
        if (isOther ? ![ticked, "release"].includes(name) : !isSet([name, value])) formData.delete(name);
      }
    }, { once: true });
  });
}
