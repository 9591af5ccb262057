/** A picture of a search with its heading and its downloads. */
import { type ReactNode, type RefObject, useRef } from "react";
import type { SearchDetail } from "@/shared/api/types";
import type { CsvValue } from "@/shared/files/csv";
import { DownloadMenu } from "@/shared/files/DownloadMenu";
import { pictureIn } from "@/shared/files/htmlPicture";
import { PanelHeader } from "@/shared/page/PanelHeader";

interface Props {
  title: string;
  search: SearchDetail;
  csv: (() => CsvValue[][]) | null; // null: there is no picture
  className?: string | undefined;
  children: ReactNode;
}

export function PictureFrame({ title, search, csv, className, children }: Props) {
  const host: RefObject<HTMLDivElement | null> = useRef(null);
  return (
    <div className={className}>
      <PanelHeader
        actions={
          csv && (
            <DownloadMenu
              picture={() => pictureIn(host.current)}
              title={title}
              runs={search.trials.flatMap(({ run_ids }) => run_ids)}
              legend={[]}
              csv={csv}
              isSmall
            />
          )
        }
      >
        <h3 className="small">{title}</h3>
      </PanelHeader>
      <div ref={host}>{children}</div>
    </div>
  );
}

/** Return a line for each trial: its number, value and parameters. */
export function csvOfTrials({ trials, spec }: SearchDetail): CsvValue[][] {
  const paths = Object.keys(spec.space);
  return [
    ["trial", "runs", spec.metric, ...paths],
    ...trials.map(({ number, run_ids, value, params }) => [
      ...[number, run_ids.join(" "), value],
      ...paths.map((path) => cellOf(params[path])),
    ]),
  ];
}

function cellOf(value: unknown): CsvValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return value === undefined || value === null ? null : JSON.stringify(value);
}
