// An embedded chart: draws the interactive chart in place of the picture.

import { liven } from "./chart.js";
import { offerCopies } from "./copies.js";

for (const figure of document.querySelectorAll("figure.chart")) liven(figure);
offerCopies(document);
