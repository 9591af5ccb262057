/** What the ranks of a run on many-core chips were bound to, host by host, as each read it of itself. */
import type { RunDetail } from "@/shared/api/types";

type Bindings = NonNullable<RunDetail["bindings"]>;
type Rank = Bindings["ranks"][number];

const MOST_HOSTS = 8; // more are a number, and are in the run's folder

export function Bound({ bindings: { constraint, ranks } }: { bindings: Bindings }) {
  const hosts = [...byHost(ranks)];
  const hidden = hosts.length - MOST_HOSTS;
  return (
    <div className="beside-spec small">
      <h3>What the ranks are bound to</h3>
      {constraint && <p className="muted">on nodes with the features {constraint}</p>}
      <ul>
        {hosts.slice(0, MOST_HOSTS).map(([host, mine]) => (
          <li key={host}>
            <span className="muted">{host}:</span> {mine.map(inWords).join("; ")}
          </li>
        ))}
      </ul>
      {hidden > 0 && <p className="muted">and {hidden} more hosts</p>}
      {notes(ranks).map((note) => (
        <p key={note} className="muted">
          {note}
        </p>
      ))}
    </div>
  );
}

function byHost(ranks: Rank[]): Map<string, Rank[]> {
  const hosts = new Map<string, Rank[]>();
  for (const rank of ranks) hosts.set(rank.host, [...(hosts.get(rank.host) ?? []), rank]);
  return hosts;
}

/** "rank 3 on cpus 4-7, 4 threads, memory prefer:1"; a policy of nobody's making goes without saying. */
function inWords({ rank, cpus, threads, memory }: Rank): string {
  const policy = memory === "default" ? "" : `, memory ${memory}`;
  return `rank ${rank} on cpus ${cpus}, ${threads} thread${threads === 1 ? "" : "s"}${policy}`;
}

/** What was asked and not done, each with how many ranks say so. */
function notes(ranks: Rank[]): string[] {
  const counts = new Map<string, number>();
  for (const note of ranks.flatMap((rank) => rank.notes)) counts.set(note, (counts.get(note) ?? 0) + 1);
  return [...counts].map(([note, count]) => `${note} (${count} of ${ranks.length} ranks)`);
}
