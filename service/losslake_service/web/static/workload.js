// The page of a workload: activates the slider of targets and the link to all estimates.

import { offerEstimates } from "./estimates.js";
import { offerSlider } from "./target_slider.js";

for (const place of document.querySelectorAll(".slide")) offerSlider(place);
offerEstimates(document.getElementById("main"));
