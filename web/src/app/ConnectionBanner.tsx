/** Says that the service does not answer; goes when it does again. What is on the page stays. */
import { useSilence } from "@/shared/api/connection";

export function SilenceBanner() {
  const silence = useSilence();
  return (
    <div role="status" className="silence-room">
      {silence && (
        <p className="silence">
          {silence.why}{" "}
          <span className="silence-since">
            The page shows what it knew at {silence.since.toLocaleTimeString("en-GB")} and keeps asking.
          </span>
        </p>
      )}
    </div>
  );
}
