/** The toolbar of the overlaid curves: the series, and the switches that apply to it. */
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { Switch } from "@/shared/controls/Switch";
import { seriesKind, type SeriesKind } from "@/shared/series/catalog";
import styles from "./CurvesToolbar.module.css";

/** The choices of the reader. */
export interface CurveOptions {
  kind: SeriesKind;
  byEpoch: boolean;
  smoothed: boolean;
  logarithmic: boolean;
}

interface Props {
  kinds: SeriesKind[];
  options: CurveOptions;
  onChange: (change: Partial<CurveOptions>) => void;
}

export function CurvesToolbar({ kinds, options, onChange }: Props) {
  const { kind, byEpoch, smoothed, logarithmic } = options;
  return (
    <header className={styles.toolbar}>
      <RadioTabs
        label="Series"
        options={kinds.map((each) => [each.name, each.title])}
        value={kind.name}
        onChange={(name) => {
          onChange({ kind: seriesKind(name) });
        }}
      />
      <div className={styles.switches}>
        <Switch
          on={byEpoch}
          onChange={(on) => {
            onChange({ byEpoch: on });
          }}
        >
          by epoch
        </Switch>
        {kind.noisy && (
          <Switch
            on={smoothed}
            onChange={(on) => {
              onChange({ smoothed: on });
            }}
          >
            smooth
          </Switch>
        )}
        {kind.logarithmic && (
          <Switch
            on={logarithmic}
            onChange={(on) => {
              onChange({ logarithmic: on });
            }}
          >
            log scale
          </Switch>
        )}
      </div>
    </header>
  );
}
