// The table of contents of a documentation page: open on wide screens, closed after a jump on narrow ones; a filter of paths.
// Addresses of older versions lead to where their fragment is now.

const contents = document.getElementById("contents");
const wide = matchMedia("(min-width: 64rem)");
contents.open = wide.matches;
wide.addEventListener("change", () => (contents.open = wide.matches));
contents.addEventListener("click", (event) => {
  if (event.target.closest("a") && !wide.matches) contents.open = false;
});
for (const link of document.querySelectorAll('.document a[href^="/batch-size?"]:has(img)')) offerFigure(link);
follow(decodeURIComponent(location.hash.slice(1)));

const filter = document.getElementById("filter");
if (filter) offerFilter(filter);

/** Puts the live figure in the place of its picture, which remains where it can't be loaded. */
async function offerFigure(link) {
  const { placeLiveFigure } = await import("./live_figure.js");
  const address = new URL(link.href);
  address.pathname = `/embed${address.pathname}`;
  await placeLiveFigure(link.closest("p"), address).catch(() => {});
}

/** Filters the paths by all words while they are typed, and keeps the words in the address. */
function offerFilter(input) {
  const paths = [...document.querySelectorAll(".paths li")];
  const status = document.getElementById("filtered");
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const path of paths) {
      const text = path.querySelector("a").textContent.toLowerCase();
      path.hidden = !words.every((word) => text.includes(word));
    }
    status.textContent = `${paths.filter((path) => !path.hidden).length} of ${paths.length} paths`;
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

/** Goes to the page that has the fragment of an older version: all of the reference was once the page at /docs. */
function follow(fragment) {
  if (!fragment) return;
  const here = document.getElementById(fragment);
  const reference = document.getElementById("older");
  if (reference && (!here || here.closest("li") === reference.closest("li"))) {
    location.replace(`${reference.href}#${fragment}`);
  } else if (!here) {
    const links = [...document.querySelectorAll("a[data-anchor]")].filter((link) => fragment.startsWith(link.dataset.anchor));
    const nearest = links.sort((one, other) => other.dataset.anchor.length - one.dataset.anchor.length)[0];
    if (nearest) location.replace(`${nearest.href}#${fragment}`);
  }
}
