/** The list of experiments, newest first or oldest first, in pages. */
import { Link } from "wouter";
import { formatCount } from "@/shared/format/number";
import { useLive } from "@/shared/live/useLive";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { Announcement } from "@/shared/page/Announcement";
import { useTitle } from "@/shared/page/PageHeader";
import { hasEnded } from "@/shared/state/state";
import { useExperiments } from "./api/useExperiments";
import styles from "./ExperimentList.module.css";
import { ExperimentRow } from "./ExperimentRow";
import { type Filter, filterAddress, readFilter } from "./filter";
import { FilterBar } from "./FilterBar";
import { NoExperiments } from "./NoExperiments";

interface Props {
  search: URLSearchParams;
}

export function ExperimentList({ search }: Props) {
  const before = Number(search.get("before")) || undefined;
  const filter = readFilter(search);
  useLive({});
  const { data, error } = useExperiments(filter, before);
  const active = data?.items.filter((item) => !hasEnded(item.state)).length ?? 0;
  useTitle(active ? `${active} active · Experiments` : "Experiments");

  if (!data) return <QueryStatus error={error} />;
  const isWhole = before === undefined && !Object.keys(filter).length;
  if (!data.items.length && isWhole) return <NoExperiments />;
  return (
    <section aria-labelledby="experiments">
      <ListHeader active={active} />
      <FilterBar filter={filter} />
      <ul className={styles.experimentList}>
        {data.items.map((experiment) => (
          <ExperimentRow key={experiment.id} experiment={experiment} filter={filter} />
        ))}
      </ul>
      {!data.items.length && <NoMatch filter={filter} />}
      <Pages filter={filter} before={before} next={data.next} />
    </section>
  );
}

function ListHeader({ active }: { active: number }) {
  return (
    <header className={styles.listHeader}>
      <h1 id="experiments">Experiments</h1>
      <p className="muted">{active ? `${formatCount(active)} active` : "none active"}</p>
      <Announcement text={`${active} active experiments`} />
      <Link href="/new" className={`button primary ${styles.newButton ?? ""}`}>
        New experiment
      </Link>
    </header>
  );
}

function NoMatch({ filter }: { filter: Filter }) {
  const archive = filter.archived ? "in the archive " : "";
  return (
    <p className={styles.noMatch}>
      <span className="muted">No experiment {archive}matches.</span> <Link href="/">All experiments</Link>
    </p>
  );
}

interface PagesProps {
  filter: Filter;
  before: number | undefined;
  next: number | null;
}

/** Links to both ends of the list, and to the next page in the order of the list. */
function Pages({ filter, before, next }: PagesProps) {
  const { oldest, ...others } = filter;
  if (before === undefined && next === null && !oldest) return null;
  return (
    <nav className={styles.pages} aria-label="Pages of experiments">
      {(oldest ?? before !== undefined) && <Link href={filterAddress(others)}>Newest</Link>}
      {next !== null && <Link href={filterAddress(filter, next)}>{oldest ? "Newer" : "Older"}</Link>}
      {(!oldest || before !== undefined) && (
        <Link href={filterAddress({ ...others, oldest: true })}>Oldest</Link>
      )}
    </nav>
  );
}
