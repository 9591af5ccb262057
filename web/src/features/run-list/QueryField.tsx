/** The field of a query: names and values are completed, and an error is shown at its place. */
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { ApiError } from "@/shared/api/client";
import { classNames } from "@/shared/page/classNames";
import { type Choice, choicesAt, complete, placeAt } from "@/shared/run-table/completion";
import { useFieldNames, useFieldValues } from "@/shared/run-table/useFieldNames";
import styles from "./QueryField.module.css";

interface Props {
  query: string;
  error: Error | null;
  onQuery: (query: string) => void;
}

export function QueryField({ query, error, onQuery }: Props) {
  const field = useQueryText(query, onQuery);
  const { text, isOpen, input } = field;
  const list = useId();
  const { choices, active, choose, onKeyDown } = useCompletion(field);
  return (
    <div className={styles.queryField}>
      <input
        ref={input}
        className={classNames("textInput", styles.queryInput)}
        role="combobox"
        aria-label="Query"
        aria-expanded={choices.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={choices[active] ? `${list}-${active}` : undefined}
        aria-invalid={Boolean(error)}
        placeholder='state = failed and batch > 256 and tag = "lars"'
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          field.write(event.target.value, event.target.selectionStart ?? event.target.value.length);
        }}
        onSelect={field.followCursor}
        onFocus={field.open}
        onBlur={field.submit}
        onKeyDown={onKeyDown}
      />
      <Choices {...{ list, choices, active }} onChoose={choose} />
      {error instanceof ApiError && !isOpen && <ErrorPlace query={query} error={error} />}
    </div>
  );
}

/** The choices at the cursor and the keys that choose one. */
function useCompletion(field: ReturnType<typeof useQueryText>) {
  const { text, cursor, isOpen } = field;
  const { names } = useFieldNames();
  const [at, setAt] = useState(-1);
  const place = placeAt(text, cursor);
  const values = useFieldValues(isOpen && place.kind === "value" ? place.field : null);
  const choices = isOpen ? choicesAt(place, names, values) : [];
  const active = Math.min(at, choices.length - 1);
  const choose = (choice: Choice) => {
    setAt(-1);
    field.write(...complete(text, place, choice));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const choice = choices[active];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      field.open();
      setAt(choices.length ? (Math.max(active, by > 0 ? -1 : 0) + by + choices.length) % choices.length : -1);
    } else if (event.key === "Enter" || (event.key === "Tab" && choice)) {
      if (choice) choose(choice);
      else field.submit();
    } else {
      if (event.key === "Escape") field.close();
      return;
    }
    event.preventDefault();
  };
  return { choices, active, choose, onKeyDown };
}

/** The text while the reader types; the query follows at Enter, when the field loses the focus, and on a choice. */
function useQueryText(query: string, onQuery: (query: string) => void) {
  const [text, setText] = useState(query);
  const [followed, setFollowed] = useState(query);
  const [cursor, setCursor] = useState(query.length);
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const [wanted, setWanted] = useState<number | null>(null);
  if (query !== followed) {
    setFollowed(query);
    setText(query);
  }
  useEffect(() => {
    if (wanted !== null) input.current?.setSelectionRange(wanted, wanted);
  }, [wanted, text]);
  const submit = () => {
    setOpen(false);
    setFollowed(text.trim());
    if (text.trim() !== query) onQuery(text.trim());
  };
  const write = (changed: string, at: number) => {
    setText(changed);
    setCursor(at);
    setWanted(at);
    setOpen(true);
  };
  const open = () => {
    setOpen(true);
  };
  const close = () => {
    setOpen(false);
  };
  const followCursor = () => {
    const start = input.current?.selectionStart ?? text.length;
    setCursor(start);
    setWanted(null);
  };
  return { text, cursor, isOpen, input, write, submit, open, close, followCursor };
}

interface ChoicesProps {
  list: string; // its id
  choices: Choice[];
  active: number;
  onChoose: (choice: Choice) => void;
}

function Choices({ list, choices, active, onChoose }: ChoicesProps) {
  return (
    <div
      id={list}
      className={styles.choices}
      role="listbox"
      aria-label="Completions"
      hidden={!choices.length}
    >
      {choices.map((choice, index) => (
        // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the focus and its keys
        <div
          key={choice.text}
          id={`${list}-${index}`}
          className={styles.completion}
          role="option"
          aria-selected={index === active}
          tabIndex={-1}
          onMouseDown={(event) => {
            event.preventDefault(); // the focus stays in the field
          }}
          onClick={() => {
            onChoose(choice);
          }}
        >
          <code>{choice.label}</code>
          <span className="small muted">{choice.hint}</span>
        </div>
      ))}
    </div>
  );
}

/** The error of a query below its field: the text with its wrong part marked, and what was expected there. */
function ErrorPlace({ query, error }: { query: string; error: ApiError }) {
  const issue = error.fields.find(({ path }) => path === "where");
  if (!issue)
    return (
      <p className={styles.queryError} role="alert">
        {error.message}
      </p>
    );
  const [start, end] = [issue.start ?? 0, issue.end ?? 0];
  return (
    <p className={styles.queryError} role="alert">
      <code aria-hidden="true">
        {query.slice(0, start)}
        <mark>{query.slice(start, end) || " "}</mark>
        {query.slice(end)}
      </code>
      <span>{issue.message}</span>
    </p>
  );
}
