/** The controls of a panel of curves: metric, axes, smoothing, and lines or means. */
import type { RunComparison } from "@/shared/api/types";
import { AxisChoice } from "@/shared/curves/AxisChoice";
import { Choice } from "@/shared/controls/Choice";
import { Switch } from "@/shared/controls/Switch";
import { seriesKind } from "@/shared/series/catalog";
import { metricNames } from "../groups/fields";
import { LogSwitches } from "../panels/PanelOptions";
import { type CurveOptions, SMOOTHINGS } from "./options";

interface Props {
  options: CurveOptions;
  comparison: RunComparison;
  isCut: boolean; // values far out are not shown
  onOptions: (change: Record<string, string>) => void;
}

export function CurveControls({ options, comparison, isCut, onOptions }: Props) {
  const names = metricNames(comparison);
  const metrics = names.includes(options.metric) ? names : [options.metric, ...names];
  const set = (name: string) => (value: string) => {
    onOptions({ [name]: value });
  };
  return (
    <>
      <Choice
        label="Metric"
        value={options.metric}
        options={metrics.map((name) => [name, seriesKind(name).title])}
        onChange={set("metric")}
      />
      <AxisChoice
        axis={options.axis}
        names={comparison.metrics.map(({ name }) => name)}
        onChange={(axis) => {
          onOptions({ x: axis === "step" ? "" : axis, from: "", to: "" });
        }}
      />
      <Choice
        label="Lines"
        value={options.isMean ? "mean" : "each"}
        options={[
          ["each", "each run"],
          ["mean", "mean and band"],
        ]}
        onChange={set("lines")}
      />
      <Choice
        label="Smoothing"
        value={options.smoothing}
        options={SMOOTHINGS.map((name) => [name, name])}
        onChange={set("smooth")}
      />
      <Switches {...{ options, isCut, onOptions }} />
    </>
  );
}

function Switches({ options, isCut, onOptions }: Omit<Props, "comparison">) {
  return (
    <>
      <LogSwitches options={options} onOptions={onOptions} />
      {options.zoom && (
        <button
          className="button small"
          onClick={() => {
            onOptions({ from: "", to: "" });
          }}
        >
          Reset zoom
        </button>
      )}
      {(isCut || options.isWhole) && (
        <Switch
          on={options.isWhole}
          onChange={(isOn) => {
            onOptions({ whole: isOn ? "on" : "" });
          }}
        >
          whole range
        </Switch>
      )}
    </>
  );
}
