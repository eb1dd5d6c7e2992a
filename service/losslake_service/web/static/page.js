// What every page does where scripts run: charts come alive, lines can be copied.

import { liven } from "./chart.js";
import { offerCopies } from "./copies.js";

for (const figure of document.querySelectorAll("figure.chart")) liven(figure);
offerCopies(document);
