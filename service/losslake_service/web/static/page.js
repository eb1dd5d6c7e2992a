// On every page: draws interactive charts and activates copy buttons.

import { liven } from "./chart.js";
import { offerCopies } from "./copies.js";
import { offerSuggestions } from "./search.js";

for (const figure of document.querySelectorAll("figure.chart")) liven(figure);
offerCopies(document);
for (const input of document.querySelectorAll("form[role=search] input[type=search]")) offerSuggestions(input);
