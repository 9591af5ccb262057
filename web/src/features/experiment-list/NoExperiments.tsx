/** The empty list of experiments, with the command that submits the first one. */
import { Link } from "wouter";
import { CopyCommand } from "@/shared/controls/CopyCommand";
import { classNames } from "@/shared/page/classNames";
import curves from "./CurveThumbnail.module.css";
import styles from "./NoExperiments.module.css";

const COMMAND = "bigbatch submit recipes/first-run.yaml";

export function NoExperiments() {
  return (
    <section className={styles.noExperiments} aria-labelledby="no-experiments">
      <svg className={classNames(curves.thumbnail, styles.drawing)} viewBox="0 0 320 96" aria-hidden="true">
        <path d="M0 95.5h320" className={curves.baseline} />
        <path d="M2 92C50 60 70 34 120 26s120-14 198-16" className={curves.runCurve} />
        <path d="M2 92C30 80 60 58 110 46s130-22 208-24" className={curves.runCurve} />
        <path d="M2 92C26 40 60 16 110 10s150-6 208-6" className={curves.bestCurve} />
      </svg>
      <h1 id="no-experiments">No experiment yet</h1>
      <p className="muted">
        An experiment is a run or a grid of runs, described in one YAML file. After you submit the first
        experiment, this page shows its curves.
      </p>
      <CopyCommand command={COMMAND} />
      <p>
        <Link href="/new">Choose a recipe, or write a spec here</Link>
      </p>
      <p className="small muted">
        The recipe trains a small network on handwritten digits, on this machine, in less than a minute. If
        the shell does not find the command, run <code>. .venv/bin/activate</code> in the repository.
      </p>
    </section>
  );
}
