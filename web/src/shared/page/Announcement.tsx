/** Says aloud (to screen readers) when a text changes; what it was at first is no news. */
import { useState } from "react";

export function Announce({ text }: { text: string }) {
  const [first] = useState(text);
  const [news, setNews] = useState("");
  if (text !== first && text !== news) setNews(text);
  return (
    <p className="visually-hidden" role="status">
      {news}
    </p>
  );
}
