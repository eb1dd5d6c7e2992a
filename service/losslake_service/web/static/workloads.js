// Updates the list of workloads while words are typed and filters change, without a reload; ticked boxes stay ticked.

const DELAY_MS = 180;
const form = document.getElementById("workload-search");
let waiting;
let request;

/** Returns the address of the list for the values of the form, without empty ones. */
function address(data) {
  const query = new URLSearchParams();
  for (const [name, value] of data) if (value) query.append(name, value);
  const text = query.toString();
  return text ? `/workloads?${text}` : "/workloads";
}

async function follow() {
  request?.abort();
  request = new AbortController();
  const url = address(new FormData(form));
  try {
    const response = await fetch(url, { signal: request.signal, headers: { accept: "text/html" } });
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const id of ["count", "found"]) document.getElementById(id).replaceChildren(...page.getElementById(id).childNodes);
    document.title = page.title;
    history.replaceState(null, "", url);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

form.addEventListener("input", (event) => {
  if (event.target.type === "checkbox") return;
  clearTimeout(waiting);
  waiting = setTimeout(follow, event.target.type === "search" ? DELAY_MS : 0);
});

// Keep addresses short: send only values that are set, and to other pages only the workloads.
form.addEventListener("submit", (event) => {
  const isOfWorkloads = event.submitter?.hasAttribute("formaction");
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) {
      if (isOfWorkloads ? !["workload", "release"].includes(name) : !value) formData.delete(name);
    }
  }, { once: true });
});
