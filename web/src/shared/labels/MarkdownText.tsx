/** The elements of a text in GitHub's Markdown. HTML in the text is shown as text, and no address runs a script. */
import { type ComponentProps, useId } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Link } from "wouter";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import styles from "./Markdown.module.css";

// "~10 minutes, ~20 at most" is not struck through
const PLUGINS = [[remarkGfm, { singleTilde: false }]] satisfies ComponentProps<
  typeof ReactMarkdown
>["remarkPlugins"];

const COMPONENTS: Components = {
  // the page has headings above its texts
  ...{ h1: "h3", h2: "h3", h4: "h3", h5: "h3", h6: "h3" },
  a: TextLink,
  // the page shows no pictures of other hosts
  img: ({ src, alt }) => <TextLink href={src}>{alt ? alt : src}</TextLink>,
  table: ({ children }) => (
    <ScrollRegion className={styles.textTable} label="Table">
      <table>{children}</table>
    </ScrollRegion>
  ),
  input: ({ checked }) => (
    <span role="img" aria-label={checked ? "done" : "not done"}>
      {checked ? "☑" : "☐"}
    </span>
  ),
};

export function MarkdownText({ text }: { text: string }) {
  const id = useId(); // of its footnotes: a page may have several texts
  return (
    <ReactMarkdown
      remarkPlugins={PLUGINS}
      remarkRehypeOptions={{ clobberPrefix: id }}
      components={COMPONENTS}
    >
      {text}
    </ReactMarkdown>
  );
}

/** A link to a page of the dashboard, to a place in the text, or to another site, which opens in a new tab. */
function TextLink({ href, children }: Pick<ComponentProps<"a">, "href" | "children">) {
  if (!href) return children;
  if (/^\/(?!\/)/.test(href)) return <Link href={href}>{children}</Link>;
  if (href.startsWith("#")) return <a href={href}>{children}</a>;
  return (
    <a href={href} rel="noreferrer noopener" target="_blank">
      {children}
    </a>
  );
}
