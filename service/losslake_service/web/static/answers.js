// The answers of the service: to questions, as JSON, and its pages.

/** Asks a question; a parameter may be a list. Throws an error of one line, for readers. */
export async function answerOf(question, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) for (const each of [value].flat()) query.append(name, each);
  return jsonOf(await fetch(`/v1/${question}.json?${query}`));
}

/** Asks for a list, page by page, and returns all of its rows. */
export async function everyRow(list, parameters) {
  const rows = [];
  let cursor;
  do {
    const answer = await answerOf(list, { ...parameters, limit: 10000, ...(cursor && { cursor }) });
    rows.push(...answer.rows);
    cursor = answer.next_cursor;
  } while (cursor);
  return rows;
}

/** Returns the JSON of a response; throws an error with what the service says where it isn't one of success. */
export async function jsonOf(response) {
  if (response.ok) return response.json();
  // What stands before the service, such as a proxy, answers in HTML.
  const { detail } = await response.json().catch(() => ({}));
  throw new Error(detail ?? failureOf(response));
}

/** Returns the document of the page at an address; throws an error of one line, for readers. */
export async function pageAt(address, signal) {
  const response = await fetch(address, { signal, headers: { accept: "text/html" } });
  if (!response.ok) throw new Error(failureOf(response));
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

function failureOf({ status }) {
  return `The service answered ${status}: try again later.`;
}
