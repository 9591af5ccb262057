/** A button that adds what a part of the page shows to a report. */
import { useState } from "react";
import { AddToReportDialog } from "./AddToReportDialog";
import type { Block } from "./blocks";

export function AddToReport({ blocks }: { blocks: () => Block[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        className="button"
        onClick={() => {
          setOpen(true);
        }}
      >
        Add to report
      </button>
      {isOpen && (
        <AddToReportDialog
          blocks={blocks}
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </>
  );
}
