/** The saved views of a page: open, save, rename, replace, delete with undo. */
import { useState } from "react";
import { Link, useSearch } from "wouter";
import type { SavedView } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { serviceAddress } from "@/shared/page/root";
import {
  shownAddress,
  useChangeView,
  useSaveView,
  useViews,
  viewAddress,
  type ViewChange,
  type ViewPage,
} from "./views";
import styles from "./ViewsMenu.module.css";

export function ViewsMenu({ page }: { page: ViewPage }) {
  const [isOpen, setOpen] = useState(false);
  const query = useSearch();
  const views = useViews().views.filter((view) => view.page === page);
  const shown = query ? views.find((view) => view.query === query) : undefined;
  return (
    <>
      <button
        className="button"
        aria-haspopup="dialog"
        onClick={() => {
          setOpen(true);
        }}
      >
        {shown ? `View: ${shown.name}` : "Views"}
      </button>
      {isOpen && (
        <ViewsDialog
          {...{ page, query, views }}
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </>
  );
}

interface DialogProps {
  page: ViewPage;
  query: string;
  views: SavedView[];
  onClose: () => void;
}

function ViewsDialog({ page, query, views, onClose }: DialogProps) {
  const [name, setName] = useState("");
  const save = useSaveView();
  const change = useChangeView();
  const submit = () => {
    if (!name.trim()) return;
    const onSuccess = () => {
      setName("");
    };
    save.mutate({ name: name.trim(), page, query }, { onSuccess });
  };
  return (
    <Dialog
      title="Views"
      cancelLabel="Close"
      error={save.error ?? change.error}
      onCancel={onClose}
      onSubmit={submit}
      buttons={
        <button className="button primary" disabled={!name.trim() || save.isPending}>
          Save the view
        </button>
      }
    >
      {views.length ? (
        <ul className={styles.views} aria-label="Saved views">
          {views.map((view) => (
            <ViewItem key={view.id} {...{ view, query, onClose }} onChange={change.mutate} />
          ))}
        </ul>
      ) : (
        <p className="muted">A view stores what this page shows now: its query, columns, order and groups.</p>
      )}
      <Undo change={change} />
      <TextField label="Save what the page shows as" value={name} onChange={setName} placeholder="Name" />
    </Dialog>
  );
}

function Undo({ change }: { change: ReturnType<typeof useChangeView> }) {
  const deleted = change.data?.deleted_at ? change.data : null;
  return (
    <p role="status">
      {deleted && (
        <>
          The view {deleted.name} is deleted.{" "}
          <button
            type="button"
            className="button"
            onClick={() => {
              change.mutate({ id: deleted.id, deleted: false });
            }}
          >
            Undo
          </button>
        </>
      )}
    </p>
  );
}

interface Props {
  view: SavedView;
  query: string; // of the page
  onChange: (change: ViewChange) => void;
  onClose: () => void;
}

/** A saved view in the list: its link, and the buttons that rename, replace and delete it. */
function ViewItem({ view, query, onChange, onClose }: Props) {
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
