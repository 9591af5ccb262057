/** The collectives that `auto` chose for a run, size by size, and the measured links. */
import type { RunDetail } from "@/shared/api/types";
import { formatBytes, formatSeconds } from "@/shared/format/number";
import { SpecNote } from "./SpecNote";

type Choices = NonNullable<RunDetail["choices"]>;

export function CollectiveChoices({ choices }: { choices: Choices }) {
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
