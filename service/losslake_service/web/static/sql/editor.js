// The editor: CodeMirror in place of the text area, in a shadow root, so that its styles need no inline style element.

import * as cm from "../vendor/codemirror.js";
import { completions } from "./completion.js";
import { KEYWORDS, TYPES } from "./words.js";

const setWrong = cm.StateEffect.define();
const wrong = cm.StateField.define({
  create: () => cm.Decoration.none,
  update(marks, transaction) {
    const effect = transaction.effects.find((each) => each.is(setWrong));
    if (effect) return effect.value;
    return transaction.docChanged ? cm.Decoration.none : marks;
  },
  provide: (field) => cm.EditorView.decorations.from(field),
});

const editorTheme = cm.EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--ground)", fontSize: "14px", maxHeight: "26rem", borderRadius: "6px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-content, .cm-gutter": { minHeight: "11rem" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--quiet)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--sql-line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--sql-selection)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--sql-selection)", outline: "1px solid var(--quiet)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-wrong": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px", backgroundColor: "var(--sql-wrong)" },
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--ground)", border: "1px solid var(--quiet)", borderRadius: "6px", boxShadow: "0 2px 8px rgb(0 0 0 / .2)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "inherit", fontSize: "13px", maxHeight: "15rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--button)", color: "var(--on-button)" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionInfo": { padding: "4px 8px", maxWidth: "20rem", fontFamily: "var(--sans)", fontSize: "13px" },
});

const colours = cm.HighlightStyle.define([
  { tag: cm.tags.keyword, color: "var(--sql-keyword)", fontWeight: "600" },
  { tag: [cm.tags.typeName, cm.tags.standard(cm.tags.name)], color: "var(--sql-function)" },
  { tag: [cm.tags.string, cm.tags.special(cm.tags.string)], color: "var(--sql-string)" },
  { tag: [cm.tags.number, cm.tags.bool, cm.tags.null], color: "var(--sql-number)" },
  { tag: cm.tags.comment, color: "var(--quiet)", fontStyle: "italic" },
]);

/**
 * Opens an editor in place of a text area, and keeps the text of both the same.
 * @param {HTMLElement} place
 * @param {HTMLTextAreaElement} area
 * @param {Object} known the names to complete
 * @param {() => void} run called for Ctrl-Enter
 */
export function openEditor(place, area, known, run) {
  const host = document.createElement("div");
  host.className = "editor";
  const root = host.attachShadow({ mode: "open" });
  place.append(host);
  const view = new cm.EditorView({ state: cm.EditorState.create({ doc: area.value, extensions: extensions(area, known, run) }), parent: root, root });
  const hadFocus = document.activeElement === area;
  area.hidden = true;
  document.querySelector(`label[for="${area.id}"]`)?.addEventListener("click", () => view.focus());
  if (hadFocus) view.focus();
  return { ...actions(view), view };
}

function actions(view) {
  return {
    focus: () => view.focus(),
    write: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 } }),
    insert: (text) => insert(view, text),
    point: (line, column) => point(view, line, column),
  };
}

function extensions(area, known, run) {
  const dialect = cm.SQLDialect.define({
    keywords: KEYWORDS,
    types: TYPES,
    builtin: [...known.functions, ...known.tables.filter((each) => each.isMacro).map((each) => each.name)].join(" "),
    operatorChars: "*+-%<>!=&|^/~@:",
    specialVar: "$",
    identifierQuotes: '"',
  });
  const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
  return [
    cm.Prec.highest(cm.keymap.of(["Ctrl-Enter", ...(isMac ? ["Cmd-Enter"] : [])].map((key) => ({ key, run: () => (run(), true), preventDefault: true })))),
    cm.lineNumbers(), cm.highlightSpecialChars(), cm.history(), cm.drawSelection(), cm.highlightActiveLine(), cm.bracketMatching(),
    cm.closeBrackets(), cm.placeholder(area.placeholder), cm.indentUnit.of("  "), cm.EditorView.lineWrapping,
    cm.autocompletion({ override: [completions(known)], icons: false, activateOnTyping: true, maxRenderedOptions: 60 }),
    cm.keymap.of([...cm.closeBracketsKeymap, { key: "Tab", run: cm.acceptCompletion }, cm.indentWithTab, ...cm.defaultKeymap, ...cm.historyKeymap, ...cm.completionKeymap]),
    cm.sql({ dialect }), cm.syntaxHighlighting(colours), editorTheme, wrong,
    cm.EditorView.contentAttributes.of({ "aria-label": "SQL statement. Escape, then Tab leaves the editor.", autocapitalize: "off" }),
    cm.EditorView.domEventHandlers({ beforeinput: replaceSelection }),
    cm.EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      area.value = update.state.doc.toString();
      area.dispatchEvent(new Event("input", { bubbles: true }));
    }),
  ];
}

/** Replaces a selection itself, since the browser would copy the old text's look into a style attribute. */
function replaceSelection(event, view) {
  const { from, to, empty } = view.state.selection.main;
  if (event.inputType !== "insertText" || empty || !event.data || view.composing) return false;
  const typed = () => view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  const isHandled = view.state.facet(cm.EditorView.inputHandler).some((handle) => handle(view, from, to, event.data, typed));
  if (!isHandled) view.dispatch(typed());
  event.preventDefault();
  return true;
}

/** Inserts a text at the cursor, separated from the words around it. */
function insert(view, text) {
  const { from, to } = view.state.selection.main;
  const [before, after] = [view.state.sliceDoc(Math.max(0, from - 1), from), view.state.sliceDoc(to, to + 1)];
  const written = `${/[\w')]/.test(before) ? " " : ""}${text}${/\w/.test(after) ? " " : ""}`;
  view.dispatch({ changes: { from, to, insert: written }, selection: { anchor: from + written.length }, scrollIntoView: true });
  view.focus();
}

/** Marks the word at the position of an error. Columns count characters; the editor counts UTF-16 units. */
function point(view, line, column) {
  if (line > view.state.doc.lines) return;
  const { from, to, text } = view.state.doc.line(line);
  const start = Math.min(to, from + [...text].slice(0, column - 1).join("").length);
  const word = /^(?:\w+|'[^']*'?|\S)/.exec(text.slice(start - from));
  const end = word ? start + word[0].length : start;
  const marks = end > start ? cm.Decoration.set([cm.Decoration.mark({ class: "cm-wrong" }).range(start, end)]) : cm.Decoration.none;
  view.dispatch({ effects: [setWrong.of(marks), cm.EditorView.scrollIntoView(start)], selection: { anchor: start } });
}
