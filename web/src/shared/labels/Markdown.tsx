/** A text in Markdown: headings, lists, code, emphasis and links. HTML in the text is shown as text. */
import type { ReactNode } from "react";
import { type Block, blocksOf } from "./blocks";
import styles from "./Markdown.module.css";

export function Markdown({ text }: { text: string }) {
  return (
    <div className={styles.markdown}>
      {blocksOf(text).map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
}

function BlockView({ block }: { block: Block }) {
  const lines = block.lines.map((line, index) => <Inline key={index} text={line} />);
  switch (block.kind) {
    case "heading":
      return <h3>{lines}</h3>;
    case "code":
      return <pre>{block.lines.join("\n")}</pre>;
    case "bullets":
      return <ul>{lines.map(asItem)}</ul>;
    case "numbers":
      return <ol>{lines.map(asItem)}</ol>;
    case "paragraph":
      return <p>{lines.flatMap((line, index) => (index ? [" ", line] : [line]))}</p>;
  }
}

function asItem(line: ReactNode, index: number) {
  return <li key={index}>{line}</li>;
}

// code, bold, italic, a link with a text, a bare link
const INLINE =
  /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>)]+)/;

function Inline({ text }: { text: string }): ReactNode {
  const found = INLINE.exec(text);
  if (!found) return text;
  const [whole, code, bold, italic, label, target, bare] = found;
  const link = target ?? bare;
  return (
    <>
      {text.slice(0, found.index)}
      {code && <code>{code}</code>}
      {bold && (
        <strong>
          <Inline text={bold} />
        </strong>
      )}
      {italic && (
        <em>
          <Inline text={italic} />
        </em>
      )}
      {link && (
        <a href={link} rel="noreferrer noopener" target="_blank">
          {label ?? link}
        </a>
      )}
      <Inline text={text.slice(found.index + whole.length)} />
    </>
  );
}
