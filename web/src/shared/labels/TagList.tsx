/** The tags of a run or an experiment, each with a button that removes it, and a line that adds one. */
import { useState } from "react";
import { Link } from "wouter";
import type { Target } from "@/shared/api/target";
import { useLabels } from "@/shared/lifecycle/changes";
import { classNames } from "@/shared/page/classNames";
import styles from "./TagList.module.css";

interface Props {
  target: Target;
  tags: string[];
  refresh: () => Promise<unknown>;
}

export function TagList({ target, tags, refresh }: Props) {
  const [isAdding, setAdding] = useState(false);
  const labels = useLabels(target, refresh);
  return (
    <div className={classNames("small", styles.tagList)}>
      <ul aria-label="Tags">
        {tags.map((tag) => (
          <Tag
            key={tag}
            tag={tag}
            isLink={target.kind === "experiment"}
            busy={labels.isPending}
            onRemove={() => {
              labels.mutate({ remove_tags: [tag] });
            }}
          />
        ))}
      </ul>
      {isAdding ? (
        <NewTag
          onAdd={(tag) => {
            labels.mutate({ add_tags: [tag] });
          }}
          onClose={() => {
            setAdding(false);
          }}
        />
      ) : (
        <button
          className={classNames("plain", styles.addTag)}
          onClick={() => {
            setAdding(true);
          }}
        >
          add tag
        </button>
      )}
      {labels.error && <span role="alert">{labels.error.message}</span>}
    </div>
  );
}

interface TagProps {
  tag: string;
  isLink: boolean; // to the experiments with the tag
  busy: boolean;
  onRemove: () => void;
}

function Tag({ tag, isLink, busy, onRemove }: TagProps) {
  return (
    <li className={styles.tag}>
      {isLink ? <Link href={`/?tag=${encodeURIComponent(tag)}`}>{tag}</Link> : tag}
      <button
        className={classNames("plain", styles.removeTag)}
        aria-label={`Remove the tag ${tag}`}
        disabled={busy}
        onClick={onRemove}
      >
        ×
      </button>
    </li>
  );
}

function NewTag({ onAdd, onClose }: { onAdd: (tag: string) => void; onClose: () => void }) {
  const [text, setText] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) onAdd(text.trim());
        onClose();
      }}
    >
      <input
        className={classNames("textInput", styles.newTag)}
        aria-label="New tag"
        placeholder="tag, Enter"
        // eslint-disable-next-line jsx-a11y/no-autofocus -- the reader has just asked for this line
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
        }}
        onBlur={onClose}
      />
    </form>
  );
}
