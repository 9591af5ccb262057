/** A spec as text and as a form, both live, and what the service would do with it. */
import { useMemo, useState } from "react";
import { ApiError } from "@/shared/api/client";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { classNames } from "@/shared/page/classNames";
import { useDraft } from "./api/useDraft";
import { useSchema } from "./api/useSchema";
import styles from "./DraftEditor.module.css";
import { DraftPanel } from "./draft/DraftPanel";
import { change, placeOf, read } from "./editor/document";
import { marksOf } from "./editor/marks";
import { YamlEditor } from "./editor/YamlEditor";
import type { Schema } from "./form/schema";
import { SpecForm } from "./form/SpecForm";
import { SubmitBar } from "./SubmitBar";

interface Props {
  text: string;
  onChange: (text: string) => void;
  origin?: number | undefined; // id of the experiment that the text was copied from
}

export function DraftEditor({ text, onChange, origin }: Props) {
  const [shown, setShown] = useState("both");
  const [selected, setSelected] = useState<{ from: number; to: number } | null>(null);
  const { data: schema } = useSchema();
  const draft = useDraft(text);
  const reading = useMemo(() => read(text), [text]);
  const errors = useMemo(() => (draft.error instanceof ApiError ? draft.error.fields : []), [draft.error]);
  const marks = useMemo(() => marksOf(text, reading.problems, errors), [text, reading, errors]);
  const isBoth = shown === "both";
  const onSelect = (path: string) => {
    if (shown === "form") setShown("both");
    setSelected(placeOf(text, path));
  };
  return (
    <>
      <SubmitBar {...{ text, draft, origin }}>
        <RadioTabs label="View" options={VIEWS} value={shown} onChange={setShown} />
      </SubmitBar>
      <div className={classNames(styles.draftColumns, isBoth && styles.both)}>
        <div className={styles.textColumn}>
          {shown !== "form" && <YamlEditor {...{ text, onChange, marks, selected }} />}
          <DraftPanel
            {...{ text, settled: draft.settled, draft: draft.data, error: draft.error, onSelect }}
          />
        </div>
        {shown !== "yaml" && schema && (
          <FormColumn
            {...{ schema, value: reading.value, errors }}
            onChange={(path, value) => {
              onChange(change(text, path, value));
            }}
          />
        )}
      </div>
    </>
  );
}

const VIEWS: [string, string][] = [
  ["both", "Both"],
  ["yaml", "YAML"],
  ["form", "Form"],
];

interface FormColumnProps {
  schema: Schema;
  value: unknown;
  errors: ApiError["fields"];
  onChange: (path: readonly (string | number)[], value: unknown) => void;
}

function FormColumn({ schema, value, errors, onChange }: FormColumnProps) {
  if (value === undefined)
    return <p className="muted">The form shows the fields again when the text can be read.</p>;
  return (
    <div className={classNames("panel", styles.formColumn)}>
      <SpecForm root={schema} value={value} errors={errors} onChange={onChange} />
    </div>
  );
}
