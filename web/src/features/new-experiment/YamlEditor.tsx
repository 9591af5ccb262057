/** An editor of YAML with line numbers, highlighting, and marks at the lines of errors. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import styles from "./YamlEditor.module.css";

const HIGHLIGHTING = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--done)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--muted)" },
]);

/** The colors of the editor, from the palette of the page. */
const THEME = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: "24rem", maxHeight: "70vh" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--sunken)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-wash)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--rule)",
    borderRadius: "var(--radius)",
    color: "var(--ink)",
  },
});

interface Props {
  text: string;
  onChange: (text: string) => void;
  marks: Diagnostic[];
  selected: { from: number; to: number } | null; // a place that the reader asked for
}

export function YamlEditor({ text, onChange, marks, selected }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useView(place, text, onChange);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [view, text]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const length = editor.state.doc.length;
    const inside = marks.filter(({ from, to }) => from <= length && to <= length);
    editor.dispatch(setDiagnostics(editor.state, inside));
  }, [view, marks]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || !selected || selected.to > editor.state.doc.length) return;
    editor.dispatch({ selection: { anchor: selected.from, head: selected.to }, scrollIntoView: true });
    editor.focus();
  }, [view, selected]);
  return <div className={styles.yamlEditor} ref={place} />;
}

/** Make the editor once; later changes of the text are transactions, so that undo and the cursor remain. */
function useView(
  place: React.RefObject<HTMLDivElement | null>,
  text: string,
  onChange: (text: string) => void,
) {
  const view = useRef<EditorView | null>(null);
  const first = useRef(text);
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  }, [onChange]);
  useEffect(() => {
    if (!place.current) return;
    const report = EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current(update.state.doc.toString());
    });
    const state = EditorState.create({ doc: first.current, extensions: [...EXTENSIONS, report] });
    // in a shadow root the styles of the editor are style sheets of its own, as the security policy demands: in a
    // document the editor would add a style element
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const editor = new EditorView({ state, parent: root, root });
    view.current = editor;
    return () => {
      first.current = editor.state.doc.toString();
      editor.destroy();
    };
  }, [place]);
  return view;
}

const EXTENSIONS: Extension[] = [
  lineNumbers(),
  foldGutter(),
  lintGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  highlightActiveLine(),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": "Spec" }),
  // Escape, then Tab leaves the editor: CodeMirror's own way for keyboards
  keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
  yaml(),
  syntaxHighlighting(HIGHLIGHTING),
  THEME,
];
