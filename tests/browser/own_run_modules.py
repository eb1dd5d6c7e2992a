"""The scripts behind a reader's own run, called in a page, and files for them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from playwright.sync_api import Page

PAGE = "/studies/bundled/digits/mlp_64/nesterov_momentum/64"
_IN_MODULES = """async (argument) => {
  const folder = document.querySelector('script[src*="own_run.js"]').src.replace('own_run.js', 'own_run/');
  const of = (name) => import(`${folder}${name}.js`);
  const { readTable, csvOf, numberIn } = await of('table');
  const { batchOfDevice, batchSizesIn, guessed, secondsPerStep, WORDS, wordsIn } = await of('columns');
  const { beside, compared, curveOf, inUnits, stepsTo } = await of('curve');
  const { addOwnRun, showOwnRun } = await of('layer');
  const { readRun } = await of('run_file');
  const { forecast } = await of('forecast');
  const { ranked } = await of('proposal');
  const bytesOf = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const filesOf = (files) => Object.entries(files).map(([path, text]) => {
    const file = new File([bytesOf(text)], path.split('/').at(-1));
    if (path.includes('/')) file.path = path;
    return file;
  });
  return BODY;
}"""


def in_modules(page: Page, body: str, argument: Any) -> Any:
    """Return the value of an expression of JavaScript that may use the functions of the scripts, and `argument`."""
    return page.evaluate(_IN_MODULES.replace("BODY", body), argument)


def read_in_page(page: Page, files: Mapping[str, bytes]) -> dict[str, dict[int, float]]:
    """Return the values by name and step that the page reads from the files of a run, by path."""
    body = "readRun(filesOf(argument)).then(({ text }) => readTable(text)).then(({ names, rows }) => [names, rows])"
    names, rows = in_modules(page, body, encoded(files))
    cells = [row["cells"] for row in rows]
    step = names.index("step")
    return {
        name: {int(row[step]): float(row[at]) for row in cells if row[at]}
        for at, name in enumerate(names)
        if at != step
    }


def error_in_page(page: Page, files: Mapping[str, bytes]) -> str:
    """Return the error with which the page refuses the files of a run; empty if it reads them."""
    message: str = in_modules(
        page, "readRun(filesOf(argument)).then(() => '', (error) => error.message)", encoded(files)
    )
    return message


def encoded(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return files by path as base64."""
    return {path: base64.b64encode(data).decode() for path, data in files.items()}
