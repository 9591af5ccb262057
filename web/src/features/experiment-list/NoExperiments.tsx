/** The list before there is anything in it: how to get the first experiment there. */
import { useState } from "react";

const COMMAND = "bigbatch submit recipes/first-run.yaml";

export function FirstExperiment() {
  const [copied, setCopied] = useState(false);
  async function copy() {
    await navigator.clipboard.writeText(COMMAND);
    setCopied(true);
  }
  return (
    <section className="first" aria-labelledby="first">
      <svg className="first-drawing" viewBox="0 0 320 96" aria-hidden="true">
        <path d="M0 95.5h320" className="thumbnail-floor" />
        <path d="M2 92C50 60 70 34 120 26s120-14 198-16" className="thumbnail-run" />
        <path d="M2 92C30 80 60 58 110 46s130-22 208-24" className="thumbnail-run" />
        <path d="M2 92C26 40 60 16 110 10s150-6 208-6" className="thumbnail-best" />
      </svg>
      <h1 id="first">No experiment yet</h1>
      <p className="muted">
        An experiment is a run, or a whole grid of runs, described in one YAML file. Submit the first one, and
        its curves will draw themselves here.
      </p>
      <div className="command">
        <code>{COMMAND}</code>
        {/* browsers keep the clipboard from pages that came over plain http, but for this machine's own */}
        {"clipboard" in navigator && (
          <button className="button" onClick={() => void copy()}>
            {copied ? "Copied" : "Copy"}
          </button>
        )}
      </div>
      <p className="small muted">
        It trains a small net on handwritten digits, on this machine, in well under a minute. Where the
        command is not installed yet: <code>pip install -e .</code> in the repository.
      </p>
    </section>
  );
}
