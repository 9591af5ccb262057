/** An announcement for screen readers each time a text changes; the initial text is not announced. */
import { useState } from "react";

export function Announcement({ text }: { text: string }) {
  const [initial] = useState(text);
  const [announced, setAnnounced] = useState("");
  if (text !== initial && text !== announced) setAnnounced(text);
  return (
    <p className="visually-hidden" role="status">
      {announced}
    </p>
  );
}
