/** The saved views of a page: open, save, rename, replace, delete with undo. */
import { useState } from "react";
import { useSearch } from "wouter";
import type { SavedView } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { useChangeView, useSaveView, useViews, type ViewPage } from "./api/useViews";
import { ViewItem } from "./ViewItem";
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
