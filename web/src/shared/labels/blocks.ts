/** The blocks of a text in Markdown. */
export interface Block {
  kind: "heading" | "code" | "bullets" | "numbers" | "paragraph";
  lines: string[]; // of a list: its items
}

const FENCE = /^\s*```/;
const HEADING = /^#{1,6}\s+(.*)$/;
const BULLET = /^\s*[-*+]\s+(.*)$/;
const NUMBER = /^\s*\d+[.)]\s+(.*)$/;

export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let isOpen = false; // the next line may continue the last block
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (FENCE.test(line)) {
      const end = lines.findIndex((other, index) => index > at && FENCE.test(other));
      const last = end < 0 ? lines.length : end;
      blocks.push({ kind: "code", lines: lines.slice(at + 1, last) });
      at = last;
      isOpen = false;
      continue;
    }
    isOpen = addLine(blocks, line, isOpen);
  }
  return blocks;
}

/** Add a line to the last block, or as a new one; return whether the next line may continue it. */
function addLine(blocks: Block[], line: string, isOpen: boolean): boolean {
  if (!line.trim()) return false;
  const [kind, content] = lineKind(line);
  const last = blocks.at(-1);
  if (isOpen && last && last.kind === kind && kind !== "heading") last.lines.push(content);
  else blocks.push({ kind, lines: [content] });
  return true;
}

function lineKind(line: string): [Block["kind"], string] {
  const kinds: [Block["kind"], RegExp][] = [
    ["heading", HEADING],
    ["bullets", BULLET],
    ["numbers", NUMBER],
  ];
  for (const [kind, pattern] of kinds) {
    const found = pattern.exec(line);
    if (found) return [kind, found[1] ?? ""];
  }
  return ["paragraph", line.trim()];
}
