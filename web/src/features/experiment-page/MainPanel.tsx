/** What an experiment's page opens with: the answer, and the curves behind a second tab; the address holds the choice. */
import type { ComponentProps } from "react";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { changeAddress, useAddress } from "@/shared/page/address";
import { hasDistributions } from "./axes";
import { CurvesPanel } from "./curves/CurvesPanel";
import type { ShownExperiment } from "./shownExperiment";
import { AnswerPanel } from "./answer/AnswerPanel";
import styles from "./MainPanel.module.css";

const TABS: [string, string][] = [
  ["answer", "Answer"],
  ["curves", "Curves"],
];

type Props = Omit<ComponentProps<typeof CurvesPanel>, "experiment"> & { experiment: ShownExperiment };

export function MainPanel(props: Props) {
  const address = useAddress();
  const { experiment } = props;
  // each run would be a picture of its own: the search's panel above draws the answer
  if (hasDistributions(experiment))
    return (
      <div className={styles.mainPanel}>
        <CurvesPanel {...props} />
      </div>
    );
  // one run has nothing to be compared with: its curves stand below its answer
  if (experiment.runs < 2)
    return (
      <div className={styles.mainPanel}>
        <AnswerPanel experiment={experiment} />
        <CurvesPanel {...props} />
      </div>
    );
  const tab = address.get("tab") === "curves" ? "curves" : "answer";
  return (
    <div className={styles.mainPanel}>
      <RadioTabs
        label="View"
        options={TABS}
        value={tab}
        onChange={(name) => {
          changeAddress({ tab: name === "answer" ? "" : name }, true);
        }}
      />
      {tab === "answer" ? <AnswerPanel experiment={experiment} /> : <CurvesPanel {...props} />}
    </div>
  );
}
