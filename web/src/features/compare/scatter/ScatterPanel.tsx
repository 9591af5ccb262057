/** A panel with any two figures of the runs against each other, and the runs that no other one beats in both. */
import { Switch } from "@/shared/controls/Switch";
import { pluralize } from "@/shared/format/number";
import { Choice } from "@/shared/controls/Choice";
import { fieldHead, fieldTitle, numberFields } from "../groups/fields";
import type { PanelProps } from "../panels/panels";
import { FieldChoice, LogSwitches } from "../panels/PanelOptions";
import { PanelFrame } from "../panels/PanelFrame";
import { paretoFront } from "./pareto";
import { extentsOf, type ScatterOptions, scatterOptions, scatterPoints } from "./scatter";
import { ScatterPicture } from "./ScatterPicture";

export function ScatterPanel({ panel, place, onOptions, ids, comparison, data, groups }: PanelProps) {
  const options = scatterOptions(panel, comparison);
  const points = scatterPoints(data, groups.visible, options);
  const extents = extentsOf(points);
  const front = paretoFront(
    points.map(({ x, y }) => [x, y] as const),
    options,
  );
  const title = `${fieldHead(options.y)} against ${fieldTitle(options.x)}`;
  const runs = groups.visible.reduce((sum, { ids }) => sum + ids.length, 0);
  return (
    <PanelFrame
      title={title}
      place={place}
      runs={ids}
      legend={groups.visible}
      csv={() => [
        ["run", "group", options.x, options.y, "on the front"],
        ...points.map(({ id, group, x, y }, at) => [id, group.label, x, y, front.includes(at)]),
      ]}
      options={<Controls {...{ options, onOptions }} fields={numberFields(comparison)} />}
      note={
        runs > points.length &&
        `${pluralize(runs - points.length, "run")} without both values ${runs - points.length === 1 ? "is" : "are"} left out.`
      }
      empty={extents ? null : "No visible run has both values."}
    >
      {(width) =>
        extents && (
          <ScatterPicture
            {...{ width, points, extents, options, title, data }}
            front={options.hasFront ? front : []}
            pointed={groups.pointed}
          />
        )
      }
    </PanelFrame>
  );
}

interface ControlsProps {
  options: ScatterOptions;
  fields: readonly string[];
  onOptions: (change: Record<string, string>) => void;
}

function Controls({ options, fields, onOptions }: ControlsProps) {
  const set = (name: "x" | "y") => (field: string) => {
    onOptions({ [name]: field, [`${name}goal`]: "" }); // the goal follows from the field
  };
  return (
    <>
      <FieldChoice label="x" value={options.x} fields={fields} onChange={set("x")} />
      <FieldChoice label="y" value={options.y} fields={fields} onChange={set("y")} />
      <LogSwitches options={options} onOptions={onOptions} />
      <FrontControls options={options} onOptions={onOptions} />
    </>
  );
}

function FrontControls({ options, onOptions }: Omit<ControlsProps, "fields">) {
  const { hasFront, isHighX, isHighY } = options;
  const set = (name: string) => (goal: string) => {
    onOptions({ [name]: goal });
  };
  return (
    <>
      <Switch
        on={hasFront}
        onChange={(isOn) => {
          onOptions({ front: isOn ? "" : "off" });
        }}
      >
        Pareto front
      </Switch>
      {hasFront && (
        <>
          <Goal label="better x" isHigh={isHighX} onChange={set("xgoal")} />
          <Goal label="better y" isHigh={isHighY} onChange={set("ygoal")} />
        </>
      )}
    </>
  );
}

interface GoalProps {
  label: string;
  isHigh: boolean;
  onChange: (goal: string) => void;
}

function Goal({ label, isHigh, onChange }: GoalProps) {
  return (
    <Choice
      label={label}
      value={isHigh ? "high" : "low"}
      options={[
        ["low", "lower"],
        ["high", "higher"],
      ]}
      onChange={onChange}
    />
  );
}
