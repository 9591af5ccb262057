/** The result of a search for near-duplicate images: how many images stay, and the pictures of the groups. */
import type { ProgramSpec, RunDetail } from "@/shared/api/types";
import { formatCount, formatPercent } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { serviceAddress } from "@/shared/page/root";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { hasEnded } from "@/shared/state/state";
import { useArtifacts } from "./artifacts/useArtifacts";
import { Metric } from "./summary/RunMetrics";
import styles from "./DedupPanel.module.css";

type Dedup = NonNullable<ProgramSpec["dedup"]>;

interface Props {
  run: RunDetail;
  dedup: Dedup;
}

const REPORT = "dedup/report.html";

export function DedupPanel({ run, dedup }: Props) {
  return (
    <section className={classNames("panel", styles.dedupPanel)} aria-label="Near-duplicates">
      <PanelHeader>
        <h2>Near-duplicates</h2>
        <span className="muted small">{settingsText(dedup)}</span>
      </PanelHeader>
      <Result run={run} />
    </section>
  );
}

function Result({ run }: { run: RunDetail }) {
  const { images, kept: remaining, left_out: leftOut, groups, unreadable } = run.latest;
  if (typeof images !== "number" || typeof remaining !== "number" || typeof leftOut !== "number")
    return <p className="muted">{missingText(run)}</p>;
  return (
    <>
      <dl className={styles.figures}>
        <Metric name="Images" value={formatCount(images)} note={unreadableText(unreadable ?? 0)} />
        <Metric name="Stay" value={formatCount(remaining)} />
        <Metric name="Left out" value={formatCount(leftOut)} note={formatPercent(leftOut / images, 1)} />
        <Metric name="Groups" value={formatCount(groups ?? 0)} />
      </dl>
      <ReportLink run={run} />
    </>
  );
}

/** The page with pictures of the groups; the service sends artifacts as downloads. */
function ReportLink({ run }: { run: RunDetail }) {
  const { artifacts } = useArtifacts(run);
  const report = artifacts?.items.find(({ path, removed_at }) => path === REPORT && removed_at === null);
  if (!report) return null;
  return (
    <p className="small">
      <a href={serviceAddress(`/api/v1/runs/${run.id}/artifacts/${report.name}`)} download>
        Download the pictures of the groups
      </a>{" "}
      as one page.
    </p>
  );
}

/** Return "perceptual hash of 256 bits, similar up to 48 bits". */
function settingsText({ hash, bits, threshold, exact }: Dedup): string {
  const similar = typeof threshold === "number" ? `similar up to ${threshold} bits` : "default threshold";
  return `${hash} hash of ${bits} bits, ${similar}${exact ? ", exact" : ""}`;
}

/** Return why there is no result. */
function missingText({ state, latest }: RunDetail): string {
  if (hasEnded(state)) return "The run has no result.";
  const share = latest.hashed_share;
  return typeof share !== "number"
    ? "No image has been hashed."
    : `${formatPercent(share, 0)} of the images are hashed.`;
}

function unreadableText(count: number): string {
  return count > 0 ? `${formatCount(count)} unreadable` : "";
}
