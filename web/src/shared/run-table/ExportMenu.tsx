/** A menu that saves runs or all their points as a file, which the service writes while the browser stores it. */
import { useState } from "react";
import { body, client, errorText } from "@/shared/api/client";
import { Menu } from "@/shared/controls/Menu";
import { saveAddress } from "@/shared/files/save";
import type { Asked } from "./useRunTable";
import { exportAddress, type ExportFormat, FORMATS, type What } from "./addresses";

export function ExportMenu({ asked }: { asked: Asked }) {
  const [error, setError] = useState("");
  const save = async (what: What, format: ExportFormat) => {
    setError("");
    try {
      if (format === "parquet") await mustWriteParquet();
      saveAddress(exportAddress(what, format, asked));
    } catch (refused) {
      setError(`Nothing was saved: ${errorText(refused as Error)}.`);
    }
  };
  const items = (["runs", "points"] as const).flatMap((what) =>
    FORMATS.map(([format, title]) => ({
      label: `${what === "runs" ? "Runs" : "Points"} as ${title}`,
      onSelect: () => void save(what, format),
    })),
  );
  return (
    <>
      <Menu label="Export" items={items} />
      {error && <span role="alert">{error}</span>}
    </>
  );
}

/** Throw the service's reason if it cannot write Parquet: a download that the browser makes has no message. */
async function mustWriteParquet(): Promise<void> {
  const query = { format: "parquet" as const, run: [0] }; // a table without rows
  await body(client.GET("/api/v1/export/runs", { params: { query }, parseAs: "blob" }));
}
