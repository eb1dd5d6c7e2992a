// The stored trials that a run is compared with.

/** Fetches the stored trials at an address of the page; throws an error of one line, for readers. */
export async function storedBeside(address) {
  const response = await fetch(address, { headers: { accept: "text/html" } });
  if (!response.ok) throw new Error(`The service answered ${response.status}: try again later.`);
  const answer = new DOMParser().parseFromString(await response.text(), "text/html");
  return JSON.parse(answer.getElementById("own-stored").textContent);
}
