// The list of workloads follows what is typed and chosen, without a reload; what was ticked stays ticked.

const PATIENCE_MS = 180;
const form = document.getElementById("workload-search");
let waiting;
let asking;

/** The address of the list that the form asks for; what is left open is left out. */
function address(data) {
  const query = new URLSearchParams();
  for (const [name, value] of data) if (value && !(name === "sort" && value === "name")) query.append(name, value);
  const text = query.toString();
  return text ? `/workloads?${text}` : "/workloads";
}

async function follow() {
  asking?.abort();
  asking = new AbortController();
  const url = address(new FormData(form));
  try {
    const response = await fetch(url, { signal: asking.signal, headers: { accept: "text/html" } });
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
  waiting = setTimeout(follow, event.target.type === "search" ? PATIENCE_MS : 0);
});

// Addresses stay short: only what says something is sent, and to the comparison only what it is about.
form.addEventListener("submit", (event) => {
  const isCompared = event.submitter?.hasAttribute("formaction");
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) {
      const isLeftOut = isCompared ? !["workload", "release"].includes(name) : !value || (name === "sort" && value === "name");
      if (isLeftOut) formData.delete(name);
    }
  }, { once: true });
});
