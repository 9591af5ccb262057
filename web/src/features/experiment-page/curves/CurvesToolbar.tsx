/** The toolbar of the overlaid curves: the series, and the switches that apply to it. */
import type { ReactNode } from "react";
import { AxisChoice } from "@/shared/curves/AxisChoice";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { Switch } from "@/shared/controls/Switch";
import { type SeriesKind, titleWithUnit } from "@/shared/series/catalog";
import type { Choices, CurveOptions } from "./useCurveOptions";
import styles from "./CurvesToolbar.module.css";

interface Props {
  kinds: SeriesKind[];
  options: CurveOptions;
  onChange: (change: Partial<Choices>) => void;
  reported: ReadonlySet<string>; // series of the runs
  children: ReactNode; // after the switches
  hasRange: boolean; // the chart shows a part of the range of y
}

export function CurvesToolbar({ kinds, options, onChange, reported, hasRange, children }: Props) {
  const { kind, axis, smoothed, logarithmic, whole } = options;
  const set = (name: "smoothed" | "logarithmic" | "whole") => (on: boolean) => {
    onChange({ [name]: on });
  };
  return (
    <header className={styles.toolbar}>
      <RadioTabs
        label="Series"
        options={kinds.map((each) => [each.name, titleWithUnit(each)])}
        value={kind.name}
        onChange={(name) => {
          onChange({ name });
        }}
      />
      <div className={styles.switches}>
        <AxisChoice
          axis={axis}
          names={reported}
          onChange={(chosen) => {
            onChange({ axis: chosen });
          }}
        />
        {kind.noisy && (
          <Switch on={smoothed} onChange={set("smoothed")}>
            smooth
          </Switch>
        )}
        {hasRange && (
          <Switch on={whole} onChange={set("whole")}>
            whole range
          </Switch>
        )}
        {kind.logarithmic && (
          <Switch on={logarithmic} onChange={set("logarithmic")}>
            log scale
          </Switch>
        )}
        {children}
      </div>
    </header>
  );
}
