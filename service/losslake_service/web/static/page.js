// On every page: draws interactive charts, and activates copy buttons, forms that apply at once, and search fields.

import { offerCopies } from "./copies.js";

offerCopies(document);
// What only some pages have, or only some readers use, is loaded for them.
const figures = document.querySelectorAll("figure.chart");
if (figures.length) import("./chart.js").then(({ liven }) => figures.forEach((figure) => liven(figure)));
const forms = document.querySelectorAll("form[data-applies]");
if (forms.length) import("./applying.js").then(({ applyAtOnce }) => forms.forEach((form) => applyAtOnce(form)));
for (const input of document.querySelectorAll("form[role=search] input[type=search]")) {
  const offer = () => import("./search.js").then(({ offerSuggestions }) => offerSuggestions(input));
  if (document.activeElement === input) offer();
  else input.addEventListener("focus", offer, { once: true });
}
