/** A text in Markdown. Its library is loaded when the first text is shown: few pages have one. */
import { lazy, Suspense } from "react";
import styles from "./Markdown.module.css";

const MarkdownText = lazy(async () => {
  const { MarkdownText } = await import("./MarkdownText");
  return { default: MarkdownText };
});

export function Markdown({ text }: { text: string }) {
  return (
    <div className={styles.markdown}>
      <Suspense fallback={<p className={styles.plainText}>{text}</p>}>
        <MarkdownText text={text} />
      </Suspense>
    </div>
  );
}
