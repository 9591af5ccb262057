/** A menu that saves a picture as SVG or PNG, and its data as CSV. */
import { useState } from "react";
import { Menu } from "@/shared/controls/Menu";
import { type CsvValue, csvText } from "@/shared/files/csv";
import { saveText } from "@/shared/files/save";
import { AddToReportDialog } from "@/shared/reports/AddToReport";
import { type Block, pictureBlock } from "@/shared/reports/blocks";
import { type LegendEntry, savePng, saveSvg } from "@/shared/files/picture";

interface Props {
  picture: () => SVGSVGElement | null; // as it is now
  runs: readonly number[]; // that it shows
  title: string;
  legend: readonly LegendEntry[];
  csv: () => CsvValue[][];
  isSmall?: boolean; // next to the heading of a small chart
}

const KINDS = ["svg", "png", "csv"] as const;

export function DownloadMenu(props: Props) {
  const [error, setError] = useState("");
  const [isAdding, setAdding] = useState(false);
  const save = async (kind: (typeof KINDS)[number]) => {
    setError("");
    try {
      await saveAs(kind, props);
    } catch {
      setError("The browser cannot save this picture.");
    }
  };
  const files = KINDS.map((kind) => ({
    label: kind === "csv" ? "Data as CSV" : `Picture as ${kind.toUpperCase()}`,
    onSelect: () => void save(kind),
  }));
  const add = {
    label: "Add to a report…",
    onSelect: () => {
      setAdding(true);
    },
  };
  return (
    <>
      <Menu label="Download" items={[...files, add]} isSmall={props.isSmall ?? false} />
      {isAdding && (
        <AddToReportDialog
          blocks={() => blocksOf(props)}
          onClose={() => {
            setAdding(false);
          }}
        />
      )}
      {error && <p role="alert">{error}</p>}
    </>
  );
}

async function saveAs(kind: (typeof KINDS)[number], { picture, title, legend, csv }: Props): Promise<void> {
  const name = nameOf(title);
  const drawn = picture();
  if (kind === "csv") saveText(`${name}.csv`, csvText(csv()));
  else if (drawn && kind === "svg") saveSvg(name, drawn, { title, legend });
  else if (drawn) await savePng(name, drawn, { title, legend });
}

function blocksOf({ picture, title, legend, csv, runs }: Props): Block[] {
  const drawn = picture();
  return drawn ? [pictureBlock(drawn, { title, legend, csv: csvText(csv()), runs })] : [];
}

/** Return the name of a file: "training-loss-by-step". */
function nameOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}
