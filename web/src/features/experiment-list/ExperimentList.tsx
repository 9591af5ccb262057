/** All experiments, newest first, a page at a time. */
import { Link } from "wouter";
import { count } from "@/shared/format/number";
import { Pending } from "@/shared/messages/QueryStatus";
import { Announce } from "@/shared/page/Announcement";
import { useTitle } from "@/shared/page/useTitle";
import { hasEnded } from "@/shared/state/state";
import { useExperiments } from "./api/useExperiments";
import { ExperimentRow } from "./ExperimentRow";
import { FirstExperiment } from "./NoExperiments";
import "@/features/experiments/experiments.css";

interface Props {
  before: number | undefined;
}

export function ExperimentList({ before }: Props) {
  const { data, error } = useExperiments(before);
  const underWay = data?.items.filter((item) => !hasEnded(item.state)).length ?? 0;
  useTitle(underWay ? `${underWay} under way · Experiments` : "Experiments");

  if (!data) return <Pending error={error} />;
  if (!data.items.length && before === undefined) return <FirstExperiment />;
  return (
    <section aria-labelledby="experiments">
      <header className="list-head">
        <h1 id="experiments">Experiments</h1>
        <p className="muted">{underWay ? `${count(underWay)} under way` : "nothing under way"}</p>
      </header>
      <Announce text={`${underWay} experiments under way`} />
      <ul className="experiments">
        {data.items.map((experiment) => (
          <ExperimentRow key={experiment.id} experiment={experiment} />
        ))}
      </ul>
      {(before !== undefined || data.next !== null) && (
        <nav className="pages" aria-label="Pages of the list">
          {before !== undefined && <Link href="/">Newest</Link>}
          {data.next !== null && <Link href={`/?before=${data.next}`}>Older</Link>}
        </nav>
      )}
    </section>
  );
}
