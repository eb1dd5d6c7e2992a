/** By name, the texts of what a page says of itself to whoever unfolds a link to it. */
() => {
  const selectors = {
    title: 'title',
    h1: 'h1',
    description: 'meta[name="description"]',
    canonical: 'link[rel="canonical"]',
    'og:title': 'meta[property="og:title"]',
    'og:description': 'meta[property="og:description"]',
    'og:type': 'meta[property="og:type"]',
    'og:url': 'meta[property="og:url"]',
    'og:image': 'meta[property="og:image"]',
  };
  const text = (element) => (element.content ?? element.href ?? element.textContent).trim();
  const found = ([name, selector]) => [name, [...document.querySelectorAll(selector)].map(text)];
  return Object.fromEntries(Object.entries(selectors).map(found));
}
