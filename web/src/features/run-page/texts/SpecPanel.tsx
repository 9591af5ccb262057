/** The spec of a run as YAML; the values that vary over the experiment are marked. */
import type { ReactNode } from "react";
import type { RunDetail } from "@/shared/api/types";
import { formatBytes, formatSeconds } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import styles from "./SpecPanel.module.css";
import { TextPanel } from "./TextPanel";

export function SpecPanel({ run }: { run: RunDetail }) {
  return (
    <TextPanel title="Spec">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
      <pre tabIndex={0}>
        {specLines(run.spec, new Set(Object.keys(run.values))).map((line) => (
          <Line key={line.path} line={line} />
        ))}
      </pre>
      {run.choices && <CollectiveChoices choices={run.choices} />}
      {run.bindings && <RankBindings bindings={run.bindings} />}
      <p className={classNames("small muted", styles.folder)} title="the run's folder">
        {run.folder}
      </p>
    </TextPanel>
  );
}

function Line({ line }: { line: SpecLine }) {
  return (
    <div
      className={classNames(line.varied && styles.varied)}
      style={{ paddingInlineStart: `${line.depth * 2}ch` }}
    >
      <span className="muted">{line.key}:</span> {line.value}
    </div>
  );
}

/** The lines of a spec in YAML. */
interface SpecLine {
  path: string;
  depth: number;
  key: string;
  value: string; // empty: an object follows
  varied: boolean;
}

/** `varied` holds the dotted paths along which the experiment varies. */
export function specLines(spec: object, varied: ReadonlySet<string>, parents: string[] = []): SpecLine[] {
  return Object.entries(spec).flatMap(([key, value]: [string, unknown]) => {
    const path = [...parents, key].join(".");
    const line = { path, depth: parents.length, key: scalar(key), varied: varied.has(path) };
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return [{ ...line, value: "" }, ...specLines(value, varied, [...parents, key])];
    }
    return [{ ...line, value: scalar(value) }];
  });
}

/** Return a value in YAML: a text that YAML reads as a number or a truth value has quotes. */
function scalar(value: unknown): string {
  return typeof value === "string" && PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}

const PLAIN = /^[A-Za-z_/][\w.+/-]*$/; // a text that begins otherwise may be a number
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

type Choices = NonNullable<RunDetail["choices"]>;

/** The collectives that `auto` chose for a run, size by size, and the measured links. */
function CollectiveChoices({ choices }: { choices: Choices }) {
  const links = [linkText("inside a host", choices.inside), linkText("between hosts", choices.between)];
  return (
    <SpecNote title="Collectives that auto chose">
      <ul>
        {choices.choices.map(({ from_bytes, collective }) => (
          <li key={from_bytes}>
            <span className="muted">{from_bytes ? `from ${formatBytes(from_bytes)}` : "small"}:</span>{" "}
            {collectiveText(collective)}
          </li>
        ))}
      </ul>
      <p className="muted">{links.filter(Boolean).join("; ") || "The run measured no links."}</p>
    </SpecNote>
  );
}

function linkText(where: string, link: Choices["inside"]): string {
  return link ? `${where} ${formatBytes(link.rate)}/s, latency ${formatSeconds(link.latency_s)}` : "";
}

/** Return the collective as in a spec: "torus rows=2". */
function collectiveText(collective: Choices["choices"][number]["collective"]): string {
  const shape = Object.entries(collective).filter(([name, value]) => SHAPE.has(name) && value !== null);
  return [collective.kind, ...shape.map(([name, value]) => `${name}=${String(value)}`)].join(" ");
}

const SHAPE = new Set(["rows", "k", "group", "servers", "wire"]);

type Bindings = NonNullable<RunDetail["bindings"]>;
type Rank = Bindings["ranks"][number];

const MAX_HOSTS = 8; // the run's folder has the bindings of all hosts

/** The bindings of a run's ranks on many-core chips, host by host. */
function RankBindings({ bindings: { constraint, ranks } }: { bindings: Bindings }) {
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

interface Props {
  title: string;
  children: ReactNode;
}

/** A note below the spec: a choice that was made when the run started. */
function SpecNote({ title, children }: Props) {
  return (
    <section className={classNames("small", styles.specNote)} aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
