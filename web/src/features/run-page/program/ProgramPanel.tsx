/** The program of a run: its command, launcher, folder, environment and parameters. */
import type { ReactNode } from "react";
import type { ProgramSpec, RunDetail } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { commandText } from "@/shared/format/command";
import { EnvironmentText } from "./EnvironmentText";
import { ParameterTable } from "./ParameterTable";
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
