/** The list of experiments, newest first, in pages. */
import { Link } from "wouter";
import { formatCount } from "@/shared/format/number";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { Announcement } from "@/shared/page/Announcement";
import { useTitle } from "@/shared/page/useTitle";
import { hasEnded } from "@/shared/state/state";
import { useExperiments } from "./api/useExperiments";
import styles from "./ExperimentList.module.css";
import { ExperimentRow } from "./ExperimentRow";
import { NoExperiments } from "./NoExperiments";

interface Props {
  before: number | undefined;
}

export function ExperimentList({ before }: Props) {
  const { data, error } = useExperiments(before);
  const active = data?.items.filter((item) => !hasEnded(item.state)).length ?? 0;
  useTitle(active ? `${active} active · Experiments` : "Experiments");

  if (!data) return <QueryStatus error={error} />;
  if (!data.items.length && before === undefined) return <NoExperiments />;
  return (
    <section aria-labelledby="experiments">
      <header className={styles.listHeader}>
        <h1 id="experiments">Experiments</h1>
        <p className="muted">{active ? `${formatCount(active)} active` : "none active"}</p>
      </header>
      <Announcement text={`${active} active experiments`} />
      <ul className={styles.experimentList}>
        {data.items.map((experiment) => (
          <ExperimentRow key={experiment.id} experiment={experiment} />
        ))}
      </ul>
      <Pages before={before} next={data.next} />
    </section>
  );
}

function Pages({ before, next }: Props & { next: number | null }) {
  if (before === undefined && next === null) return null;
  return (
    <nav className={styles.pages} aria-label="Pages of experiments">
      {before !== undefined && <Link href="/">Newest</Link>}
      {next !== null && <Link href={`/?before=${next}`}>Older</Link>}
    </nav>
  );
}
