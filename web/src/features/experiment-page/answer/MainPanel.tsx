/** What an experiment's page opens with: the answer, and the curves behind a second tab; the address holds the choice. */
import type { ComponentProps } from "react";
import { useSearchParams } from "wouter";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { CurvesPanel } from "../curves/CurvesPanel";
import { AnswerPanel } from "./AnswerPanel";
import styles from "./MainPanel.module.css";

const TABS: [string, string][] = [
  ["answer", "Answer"],
  ["curves", "Curves"],
];

export function MainPanel(props: ComponentProps<typeof CurvesPanel>) {
  const [search, setSearch] = useSearchParams();
  const { experiment } = props;
  // one run has nothing to be compared with: its curves stand below its answer
  if (experiment.runs < 2)
    return (
      <div className={styles.mainPanel}>
        <AnswerPanel experiment={experiment} />
        <CurvesPanel {...props} />
      </div>
    );
  const tab = search.get("tab") === "curves" ? "curves" : "answer";
  return (
    <div className={styles.mainPanel}>
      <RadioTabs
        label="View"
        options={TABS}
        value={tab}
        onChange={(name) => {
          setSearch((before) => withTab(before, name), { replace: true });
        }}
      />
      {tab === "answer" ? <AnswerPanel experiment={experiment} /> : <CurvesPanel {...props} />}
    </div>
  );
}

function withTab(before: URLSearchParams, name: string): URLSearchParams {
  const next = new URLSearchParams(before);
  if (name === "answer") next.delete("tab");
  else next.set("tab", name);
  return next;
}
