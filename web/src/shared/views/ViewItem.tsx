/** A saved view in the list: its link, and the buttons that rename, replace and delete it. */
import { useState } from "react";
import { Link } from "wouter";
import type { SavedView } from "@/shared/api/types";
import { serviceAddress } from "@/shared/page/root";
import { shownAddress, viewAddress } from "./addresses";
import type { ViewChange } from "./api/useViews";
import styles from "./ViewsMenu.module.css";

interface Props {
  view: SavedView;
  query: string; // of the page
  onChange: (change: ViewChange) => void;
  onClose: () => void;
}

export function ViewItem({ view, query, onChange, onClose }: Props) {
  const [isRenaming, setRenaming] = useState(false);
  if (isRenaming)
    return (
      <NewName
        view={view}
        onName={(name) => {
          setRenaming(false);
          if (name && name !== view.name) onChange({ id: view.id, name });
        }}
      />
    );
  return (
    <li>
      <Link href={shownAddress(view)} onClick={onClose} className={styles.viewName ?? ""}>
        {view.name}
      </Link>
      {view.owner && <span className="muted small">{view.owner}</span>}
      <ViewActions
        {...{ view, query, onChange }}
        onRename={() => {
          setRenaming(true);
        }}
      />
    </li>
  );
}

type ActionsProps = Omit<Props, "onClose"> & { onRename: () => void };

function ViewActions({ view, query, onChange, onRename }: ActionsProps) {
  const { id } = view;
  return (
    <span className={styles.viewActions}>
      <a href={serviceAddress(viewAddress(id))} title="The lasting address of the view">
        Link
      </a>
      {view.query !== query && (
        <ActionButton
          text="Replace"
          view={view}
          onClick={() => {
            onChange({ id, query });
          }}
        />
      )}
      <ActionButton text="Rename" view={view} onClick={onRename} />
      <ActionButton
        text="Delete"
        view={view}
        onClick={() => {
          onChange({ id, deleted: true });
        }}
      />
    </span>
  );
}

interface ActionProps {
  text: string;
  view: SavedView;
  onClick: () => void;
}

function ActionButton({ text, view, onClick }: ActionProps) {
  return (
    <button type="button" className="plain" aria-label={`${text} the view ${view.name}`} onClick={onClick}>
      {text}
    </button>
  );
}

function NewName({ view, onName }: { view: SavedView; onName: (name: string) => void }) {
  const [name, setName] = useState(view.name);
  return (
    <li>
      <input
        className="textInput"
        aria-label={`New name of ${view.name}`}
        value={name}
        onChange={(event) => {
          setName(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault(); // the form would save another view
          onName(name.trim());
        }}
        onBlur={() => {
          onName(name.trim());
        }}
      />
    </li>
  );
}
