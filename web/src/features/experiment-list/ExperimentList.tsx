/** The list of experiments, newest first or oldest first, in pages. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import { CopyCommand } from "@/shared/controls/CopyCommand";
import { formatCount } from "@/shared/format/number";
import { useLive } from "@/shared/live/useLive";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { Announcement } from "@/shared/page/Announcement";
import { classNames } from "@/shared/page/classNames";
import { useTitle } from "@/shared/page/PageHeader";
import { hasEnded } from "@/shared/state/state";
import curves from "./CurveThumbnail.module.css";
import styles from "./ExperimentList.module.css";
import { ExperimentRow } from "./ExperimentRow";
import { type Filter, filterAddress, readFilter } from "./filter";
import { FilterBar } from "./FilterBar";

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

const COMMAND = "bigbatch submit recipes/first-run.yaml";

/** The empty list of experiments, with the command that submits the first one. */
function NoExperiments() {
  return (
    <section className={styles.noExperiments} aria-labelledby="no-experiments">
      <svg className={classNames(curves.thumbnail, styles.drawing)} viewBox="0 0 320 96" aria-hidden="true">
        <path d="M0 95.5h320" className={curves.baseline} />
        <path d="M2 92C50 60 70 34 120 26s120-14 198-16" className={curves.runCurve} />
        <path d="M2 92C30 80 60 58 110 46s130-22 208-24" className={curves.runCurve} />
        <path d="M2 92C26 40 60 16 110 10s150-6 208-6" className={curves.bestCurve} />
      </svg>
      <h1 id="no-experiments">No experiment yet</h1>
      <p className="muted">
        An experiment is a run or a grid of runs, described in one YAML file. After you submit the first
        experiment, this page shows its curves.
      </p>
      <CopyCommand command={COMMAND} />
      <p>
        <Link href="/new">Choose a recipe, or write a spec here</Link>
      </p>
      <p className="small muted">
        The recipe trains a small network on handwritten digits, on this machine, in less than a minute. If
        the shell does not find the command, run <code>. .venv/bin/activate</code> in the repository.
      </p>
    </section>
  );
}

const PER_PAGE = 20;

/** GET /experiments: a page of experiments, newest first or oldest first. */
function useExperiments(filter: Filter, before: number | undefined) {
  const pollInterval = usePollInterval();
  const { oldest, ...which } = filter;
  const place = { ...(oldest ? { sort: "id" as const } : {}), ...(before === undefined ? {} : { before }) };
  const query = { ...which, ...place, limit: PER_PAGE };
  return useQuery({
    queryKey: keys.experimentList(query),
    queryFn: ({ signal }) => {
      const params = { query };
      return body(client.GET("/api/v1/experiments", { params, signal }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      pollInterval(state.data?.items.some((item) => !hasEnded(item.state)) ?? false),
  });
}
