/** What `auto` chose for the run, size by size, and by which links. */
import type { RunDetail } from "@/shared/api/types";
import { bytes, seconds } from "@/shared/format/quantities";

type Choices = NonNullable<RunDetail["choices"]>;

export function Chosen({ choices }: { choices: Choices }) {
  return (
    <div className="beside-spec small">
      <h3>What auto chose</h3>
      <ul>
        {choices.choices.map(({ from_bytes, collective }) => (
          <li key={from_bytes}>
            <span className="muted">{from_bytes ? `from ${bytes(from_bytes)}` : "small"}:</span>{" "}
            {wordsOf(collective)}
          </li>
        ))}
      </ul>
      <p className="muted">
        {[told("inside a host", choices.inside), told("between hosts", choices.between)]
          .filter(Boolean)
          .join("; ") || "No links were measured."}
      </p>
    </div>
  );
}

function told(where: string, link: Choices["inside"]): string {
  return link ? `${where} ${bytes(link.rate)}/s after ${seconds(link.latency_s)}` : "";
}

/** As a spec has it: "torus rows=2". */
function wordsOf(collective: Choices["choices"][number]["collective"]): string {
  const shape = Object.entries(collective).filter(([name, value]) => SHAPE.has(name) && value !== null);
  return [collective.kind, ...shape.map(([name, value]) => `${name}=${String(value)}`)].join(" ");
}

const SHAPE = new Set(["rows", "k", "group", "servers", "wire"]);
