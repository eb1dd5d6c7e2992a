// Updates the list of workloads while words are typed and filters change.

import { filterAtOnce } from "./filtered_list.js";

filterAtOnce(document.getElementById("workload-search"), { ticked: "workload" });
