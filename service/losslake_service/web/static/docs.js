// The contents of a page of documentation: open where there is room, closed again once they led somewhere; paths by words.

const contents = document.getElementById("contents");
const wide = matchMedia("(min-width: 64rem)");
contents.open = wide.matches;
wide.addEventListener("change", () => (contents.open = wide.matches));
contents.addEventListener("click", (event) => {
  if (event.target.closest("a") && !wide.matches) contents.open = false;
});

const filter = document.getElementById("filter");
if (filter) offerFilter(filter);

/** Shows the paths that have all words, as they are typed; the address says which words. */
function offerFilter(input) {
  const paths = [...document.querySelectorAll("#paths li")];
  const said = document.getElementById("filtered");
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const path of paths) {
      const text = path.textContent.toLowerCase();
      path.hidden = !words.every((word) => text.includes(word));
    }
    said.textContent = `${paths.filter((path) => !path.hidden).length} of ${paths.length} paths`;
    const address = new URL(location.href);
    if (words.length) address.searchParams.set("q", input.value.trim());
    else address.searchParams.delete("q");
    history.replaceState(null, "", address);
  };
  input.addEventListener("input", show);
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = paths.find((path) => !path.hidden);
    if (first) first.querySelector("a").click();
  });
}
