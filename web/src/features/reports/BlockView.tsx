/** A part of a report: a text, a table of runs, or a picture with its data; with the buttons that change it. */
import { useState } from "react";
import { Link } from "wouter";
import { useNow } from "@/shared/api/clock";
import { usePollInterval } from "@/shared/api/polling";
import type { ReportDetail } from "@/shared/api/types";
import { saveText } from "@/shared/files/save";
import { Markdown } from "@/shared/labels/Markdown";
import { classNames } from "@/shared/page/classNames";
import { columnOf, RunLink } from "@/shared/run-table/cells";
import { isKnown } from "@/shared/run-table/columns";
import { RunTable } from "@/shared/run-table/RunTable";
import { useFieldNames } from "@/shared/run-table/useFieldNames";
import styles from "./ReportPage.module.css";
import { useReplaceText } from "./useReport";

type ReportBlock = ReportDetail["content"][number];
type Picture = Extract<ReportBlock["content"], { kind: "picture" }>;

interface Props {
  reportId: number;
  block: ReportBlock;
  onUp: (() => void) | null;
  onDown: (() => void) | null;
  onRemove: () => void;
}

export function BlockView({ reportId, block, ...moves }: Props) {
  const [isEditing, setEditing] = useState(false);
  const { content } = block;
  return (
    <section className={styles.part} aria-label={content.kind === "text" ? "Text" : `Part ${content.title}`}>
      <div className={styles.partButtons}>
        {content.kind === "text" && !isEditing && (
          <button
            className="plain"
            onClick={() => {
              setEditing(true);
            }}
          >
            Edit
          </button>
        )}
        <MoveButtons {...moves} name={content.kind === "text" ? "the text" : content.title} />
      </div>
      {isEditing && content.kind === "text" ? (
        <TextEditor
          {...{ reportId, blockId: block.id, markdown: content.markdown }}
          onClose={() => {
            setEditing(false);
          }}
        />
      ) : (
        <Content content={content} />
      )}
    </section>
  );
}

function Content({ content }: { content: ReportBlock["content"] }) {
  if (content.kind === "runs") return <RunsTable block={content} />;
  if (content.kind === "picture") return <PictureView picture={content} />;
  return <Markdown text={content.markdown} />;
}

type MoveProps = Pick<Props, "onUp" | "onDown" | "onRemove"> & { name: string };

function MoveButtons({ name, onUp, onDown, onRemove }: MoveProps) {
  const buttons = [
    { text: "↑", label: `Move ${name} up`, act: onUp },
    { text: "↓", label: `Move ${name} down`, act: onDown },
    { text: "×", label: `Remove ${name}`, act: onRemove },
  ];
  return buttons.map(({ text, label, act }) => (
    <button
      key={text}
      className="plain"
      aria-label={label}
      title={label}
      disabled={!act}
      onClick={() => act?.()}
    >
      {text}
    </button>
  ));
}

function PictureView({ picture }: { picture: Picture }) {
  const { title, image, csv, run_ids, address } = picture;
  return (
    <figure className={styles.reportPicture}>
      <img src={image} alt={title} />
      <figcaption className={classNames("small", "muted")}>
        {title}
        {address && (
          <>
            {" · "}
            <Link href={address}>the page today</Link>
          </>
        )}
        {run_ids.length > 0 && (
          <>
            {" · "}
            <Link href={`/compare?runs=${run_ids.join(",")}`}>
              {run_ids.length === 1 ? `run ${run_ids[0] ?? ""}` : `its ${run_ids.length} runs`}
            </Link>
          </>
        )}
        {csv && (
          <>
            {" · "}
            <button
              className={classNames("plain", styles.dataButton)}
              onClick={() => {
                saveText("data.csv", csv);
              }}
            >
              data as CSV
            </button>
          </>
        )}
      </figcaption>
    </figure>
  );
}

type Runs = Extract<ReportDetail["content"][number]["content"], { kind: "runs" }>;

/** The table of a report's runs, with their figures of today. */
function RunsTable({ block }: { block: Runs }) {
  const { title, run_ids, columns } = block;
  const { names } = useFieldNames();
  const [sort, setSort] = useState("id");
  const pollInterval = usePollInterval();
  const now = useNow(10_000);
  const known = columns.filter((column) => isKnown(column, names));
  if (!run_ids.length) return <p className="muted">{title}: no runs.</p>;
  return (
    <>
      <h2>{title}</h2>
      <RunTable
        label={title}
        asked={{ where: "", q: "", sort, columns: known, archived: false, runs: run_ids }}
        columns={known.map((column) => columnOf(column, names, now))}
        every={pollInterval(false)}
        selection={null}
        onSort={setSort}
        renderRun={(row) => <RunLink row={row} />}
      />
    </>
  );
}

interface TextEditorProps {
  reportId: number;
  blockId: number;
  markdown: string;
  onClose: () => void;
}

/** The editor of a text of a report, in Markdown. */
function TextEditor({ reportId, blockId, markdown, onClose }: TextEditorProps) {
  const [draft, setDraft] = useState(markdown);
  const replace = useReplaceText(reportId);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        replace.mutate({ block: blockId, markdown: draft }, { onSuccess: onClose });
      }}
    >
      <textarea
        className="textInput"
        aria-label="Text in Markdown"
        rows={10}
        value={draft}
        onChange={(event) => {
          setDraft(event.target.value);
        }}
      />
      {replace.error && <p role="alert">The text was not stored: {replace.error.message}</p>}
      <p className={styles.textButtons}>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button className="button primary" disabled={replace.isPending}>
          Save
        </button>
      </p>
    </form>
  );
}
