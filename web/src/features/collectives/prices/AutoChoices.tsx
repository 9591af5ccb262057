/** The collective that `auto` chooses on this network for each size. */
import type { PriceList } from "@/shared/api/types";
import { formatBytes } from "@/shared/format/number";
import { nameOf, shapeOf } from "@/shared/format/collectives";

export function AutoChoices({ choices }: { choices: PriceList["auto"] }) {
  const texts = choices.flatMap(({ from_bytes, collective }, index) => {
    if (collective.kind === "native") return [];
    const next = choices[index + 1]?.from_bytes;
    const sizes = next
      ? `below ${formatBytes(next)}`
      : from_bytes
        ? `from ${formatBytes(from_bytes)}`
        : "for every size";
    return [`${[nameOf(collective), shapeOf(collective)].filter(Boolean).join(", ")} ${sizes}`];
  });
  return (
    <p className="small muted">
      A run with <code>collective: {"{kind: auto}"}</code> would take: {texts.join("; ")}.
    </p>
  );
}
