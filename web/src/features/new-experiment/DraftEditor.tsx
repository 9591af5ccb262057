/** A spec as text and as a form, both live, and what the service would do with it. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ApiError, body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { ExperimentDraft } from "@/shared/api/types";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { yamlBody } from "@/shared/lifecycle/create";
import { classNames } from "@/shared/page/classNames";
import { change, marksOf, placeOf, read } from "./document";
import styles from "./DraftEditor.module.css";
import { DraftPanel } from "./DraftPanel";
import type { Schema } from "./form/schema";
import { SpecForm } from "./form/SpecForm";
import { SubmitBar } from "./SubmitBar";
import { YamlEditor } from "./YamlEditor";

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

const PAUSE_MS = 400; // without a change of the text, before the service checks it

/** POST /experiments?dry_run=true: the runs that a text describes, or its errors. */
function useDraft(text: string) {
  const settled = useSettled(text);
  const draft = useQuery({
    queryKey: keys.draft(settled),
    queryFn: async ({ signal }) => {
      const request = { params: { query: { dry_run: true } }, ...yamlBody(settled), signal };
      return (await body(client.POST("/api/v1/experiments", request))) as ExperimentDraft;
    },
    enabled: settled.trim() !== "",
    retry: false, // the same text has the same errors
    gcTime: 60_000,
  });
  return { ...draft, settled, isCurrent: settled === text && !draft.isFetching };
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(text);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return settled;
}

/** GET /schema: the fields of an experiment. */
function useSchema() {
  return useQuery({
    queryKey: keys.specSchema(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/schema", { signal })),
    staleTime: Infinity, // another version of the service serves another page
  });
}
