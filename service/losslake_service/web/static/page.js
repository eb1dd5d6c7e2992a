// On every page: draws interactive charts and activates copy buttons.

import { applyAtOnce } from "./applying.js";
import { liven } from "./chart.js";
import { offerCopies } from "./copies.js";
import { offerSuggestions } from "./search.js";

for (const figure of document.querySelectorAll("figure.chart")) liven(figure);
for (const form of document.querySelectorAll("form[data-applies]")) applyAtOnce(form);
offerCopies(document);
for (const input of document.querySelectorAll("form[role=search] input[type=search]")) offerSuggestions(input);
