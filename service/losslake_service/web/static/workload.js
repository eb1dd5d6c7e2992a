// The page of a workload where scripts run: a slider of targets, and estimates in place.

import { offerEstimates } from "./estimates.js";
import { offerSlider } from "./target_slider.js";

for (const place of document.querySelectorAll(".slide")) offerSlider(place);
offerEstimates(document.getElementById("main"));
