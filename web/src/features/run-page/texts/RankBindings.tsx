/** The bindings of a run's ranks on many-core chips, host by host. */
import type { RunDetail } from "@/shared/api/types";
import { SpecNote } from "./SpecNote";

type Bindings = NonNullable<RunDetail["bindings"]>;
type Rank = Bindings["ranks"][number];

const MAX_HOSTS = 8; // the run's folder has the bindings of all hosts

export function RankBindings({ bindings: { constraint, ranks } }: { bindings: Bindings }) {
  const hosts = [...groupByHost(ranks)];
  const hidden = hosts.length - MAX_HOSTS;
  return (
    <SpecNote title="Bindings of the ranks">
      {constraint && <p className="muted">on nodes with the features {constraint}</p>}
      <ul>
        {hosts.slice(0, MAX_HOSTS).map(([host, mine]) => (
          <li key={host}>
            <span className="muted">{host}:</span> {mine.map(bindingText).join("; ")}
          </li>
        ))}
      </ul>
      {hidden > 0 && <p className="muted">and {hidden} more hosts</p>}
      {noteTexts(ranks).map((note) => (
        <p key={note} className="muted">
          {note}
        </p>
      ))}
    </SpecNote>
  );
}

function groupByHost(ranks: Rank[]): Map<string, Rank[]> {
  const hosts = new Map<string, Rank[]>();
  for (const rank of ranks) hosts.set(rank.host, [...(hosts.get(rank.host) ?? []), rank]);
  return hosts;
}

/** Return "rank 3 on cpus 4-7, 4 threads, memory prefer:1"; omit the default memory policy. */
function bindingText({ rank, cpus, threads, memory }: Rank): string {
  const policy = memory === "default" ? "" : `, memory ${memory}`;
  return `rank ${rank} on cpus ${cpus}, ${threads} thread${threads === 1 ? "" : "s"}${policy}`;
}

/** Return each request that ranks could not fulfil, with the number of these ranks. */
function noteTexts(ranks: Rank[]): string[] {
  const counts = new Map<string, number>();
  for (const note of ranks.flatMap((rank) => rank.notes)) counts.set(note, (counts.get(note) ?? 0) + 1);
  return [...counts].map(([note, count]) => `${note} (${count} of ${ranks.length} ranks)`);
}
