/** The program of a run: its command, launcher, folder, environment and parameters. */
import type { ReactNode } from "react";
import type { ProgramSpec, RunDetail } from "@/shared/api/types";
import { commandText } from "@/shared/format/command";
import { pluralize } from "@/shared/format/number";
import { valueText } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import styles from "./ProgramPanel.module.css";

interface Props {
  run: RunDetail;
  spec: ProgramSpec;
}

export function ProgramPanel({ run, spec }: Props) {
  return (
    <section className={classNames("panel", styles.programPanel)} aria-label="Program">
      <PanelHeader>
        <h2>Program</h2>
      </PanelHeader>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
      <pre className={styles.commandLine} tabIndex={0} aria-label="Command">
        {commandText(spec, filesOf(run, spec))}
      </pre>
      <div className={styles.programParts}>
        <dl className={styles.facts}>
          <Fact name="Launcher">{launcherText(spec, run)}</Fact>
          <Fact name="Folder">
            <FolderText run={run} spec={spec} />
          </Fact>
          <Fact name="Environment">
            <EnvironmentText environment={spec.environment} />
          </Fact>
        </dl>
        <ParameterTable parameters={spec.parameters} varied={new Set(Object.keys(run.values))} />
      </div>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function FolderText({ run, spec }: Props) {
  const { code, subfolder, working_folder: folder } = spec;
  if (code)
    return (
      <>
        a copy of code snapshot <code title={code}>{code.slice(0, 12)}</code>
        {subfolder && (
          <>
            , in <code>{subfolder}</code>
          </>
        )}
      </>
    );
  return <code>{folder ?? run.folder}</code>;
}

/** Return the paths that stand for placeholders of the command. */
function filesOf({ folder }: RunDetail, { inputs, outputs }: ProgramSpec): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(inputs).map(([name, path]) => [`inputs.${name}`, path])),
    ...Object.fromEntries(
      Object.entries(outputs).map(([name, path]) => [`outputs.${name}`, `${folder}/${path}`]),
    ),
    parameters_json: `${folder}/parameters.json`,
    parameters_yaml: `${folder}/parameters.yaml`,
    run_folder: folder,
    checkpoint_folder: `${folder}/checkpoints`,
  };
}

/** Return "torchrun, 8 ranks on 2 nodes"; on this machine nothing starts by srun, and a program by hand has no ranks. */
function launcherText({ launcher, resources }: ProgramSpec, { world }: RunDetail): string {
  const processes = launcher === "plain" ? "1 process" : pluralize(world, "rank");
  if (resources.kind === "slurm") return `${launcher}, ${processes} on ${pluralize(resources.nodes, "node")}`;
  const here = `${processes} on this machine`;
  return launcher === "srun" ? here : `${launcher}, ${here}`;
}

type Environment = ProgramSpec["environment"];

/** The environment of a program: its Python, modules and container, and below these its variables and setup lines. */
function EnvironmentText({ environment }: { environment: Environment }) {
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

interface ParameterTableProps {
  parameters: Record<string, unknown>;
  varied: ReadonlySet<string>; // dotted paths of the spec
}

/** The parameters of a program by dotted name; those that vary over the experiment are marked. */
function ParameterTable({ parameters, varied }: ParameterTableProps) {
  const rows = leaves(parameters);
  if (!rows.length) return <p className="muted">The program has no parameters.</p>;
  return (
    <div className={styles.parameters}>
      <table aria-label="Parameters">
        <thead className="visually-hidden">
          <tr>
            <th scope="col">Parameter</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name} className={classNames(isVaried(name, varied) && styles.variedParameter)}>
              <th scope="row">{name}</th>
              <td>{typeof value === "string" ? value : valueText(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Return whether an axis is this parameter, or an object that contains it. */
function isVaried(name: string, varied: ReadonlySet<string>): boolean {
  const parts = name.split(".");
  return parts.some((_, index) => varied.has(["parameters", ...parts.slice(0, index + 1)].join(".")));
}

/** Return the parameters by dotted names, without the objects that contain others. */
function leaves(parameters: Record<string, unknown>, prefix = ""): [string, unknown][] {
  return Object.entries(parameters).flatMap(([name, value]): [string, unknown][] => {
    const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isGroup || !Object.keys(value).length) return [[`${prefix}${name}`, value]];
    return leaves(value as Record<string, unknown>, `${prefix}${name}.`);
  });
}
