/** The environment of a program: its Python, modules and container, and below these its variables and setup lines. */
import type { ProgramSpec } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import styles from "./ProgramPanel.module.css";

type Environment = ProgramSpec["environment"];

export function EnvironmentText({ environment }: { environment: Environment }) {
  const { setup, variables } = environment;
  const parts = partsOf(environment);
  const names = Object.keys(variables);
  return (
    <>
      {parts.map(([what, text]) => (
        <p key={what}>
          {what} <code>{text}</code>
        </p>
      ))}
      <Lines
        title={pluralize(names.length, "variable")}
        lines={names.map((n) => `${n}=${variables[n] ?? ""}`)}
      />
      <Lines title={pluralize(setup.length, "setup line")} lines={setup} />
      {!parts.length && !setup.length && !names.length && "that of the job"}
    </>
  );
}

function Lines({ title, lines }: { title: string; lines: string[] }) {
  if (!lines.length) return null;
  return (
    <details>
      <summary>{title}</summary>
      <pre className={styles.environmentLines}>{lines.join("\n")}</pre>
    </details>
  );
}

function partsOf({ venv, conda, modules, container }: Environment): [string, string][] {
  const parts: [string, string | null | undefined][] = [
    ["venv", venv],
    ["conda", conda],
    ["modules", modules.join(", ")],
    [`${container?.kind ?? ""} container`, container?.image],
    ["mounts", container?.mounts.join(", ")],
  ];
  return parts.filter((part): part is [string, string] => Boolean(part[1]));
}
