/** A part of a report: a text, a table of runs, or a picture with its data; with the buttons that change it. */
import { useState } from "react";
import { Link } from "wouter";
import type { ReportDetail } from "@/shared/api/types";
import { saveText } from "@/shared/files/save";
import { Markdown } from "@/shared/labels/Markdown";
import { classNames } from "@/shared/page/classNames";
import styles from "./ReportPage.module.css";
import { RunsTable } from "./RunsTable";
import { TextEditor } from "./TextEditor";

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
