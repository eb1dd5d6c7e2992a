// The stored trials that a run is compared with.

import { pageAt } from "../answers.js";

/** Fetches the stored trials at an address of the page; throws an error of one line, for readers. */
export async function storedBeside(address) {
  return JSON.parse((await pageAt(address)).getElementById("own-stored").textContent);
}
