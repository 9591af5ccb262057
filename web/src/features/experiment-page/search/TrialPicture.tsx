/** The trials of a search in parallel coordinates: an axis for each parameter, and one for the metric. */
import type { SearchDetail, TrialView } from "@/shared/api/types";
import { formatTick } from "@/shared/format/number";
import { axisNames, valuesText, valueText } from "@/shared/format/value";
import { BOTTOM, ParallelPicture, TOP } from "@/shared/frame/ParallelPicture";
import { valueAxis } from "@/shared/frame/valueAxis";
import { useWidth } from "@/shared/page/useWidth";
import { useTheme } from "@/shared/theme/theme";
import { csvOfTrials, PictureFrame } from "./PictureFrame";
import styles from "./TrialPicture.module.css";
import { colorsOf, metricFormat, ranked } from "./trials";

const MOST_LINES = 500; // the best ones

export function TrialPicture({ search }: { search: SearchDetail }) {
  const [host, width] = useWidth();
  const theme = useTheme();
  const { title, format } = metricFormat(search.spec.metric);
  const order = ranked(search);
  const colors = colorsOf(order, theme);
  const shown = order.filter(({ value }) => value !== null).slice(0, MOST_LINES);
  const paths = Object.keys(search.spec.space);
  const names = axisNames(paths);
  const texts = { unit: () => 1, tick: formatTick, word: valueText };
  const parameters = paths.map((path) => {
    const values = shown.map(({ params }) => params[path]).filter((value) => value !== undefined);
    return { name: names.get(path) ?? path, of: ofPath(path), ...valueAxis(values, BOTTOM, TOP, texts) };
  });
  const ofMetric = (trial: TrialView): unknown => trial.value;
  const metric = {
    name: title,
    of: ofMetric,
    ...valueAxis(shown.map(ofMetric), BOTTOM, TOP, { ...texts, tick: (value) => format(value) }),
  };
  const axes = [...parameters, metric];
  if (!shown.length) return null;
  const csvOf = () => csvOfTrials(search);
  return (
    <PictureFrame {...{ search }} title="Trials" className={styles.trialPicture} csv={csvOf}>
      <div ref={host} className={styles.trialLines}>
        <ParallelPicture
          width={width}
          axes={axes}
          lines={shown.toReversed().map((trial) => ({
            id: trial.number,
            label: `Trial ${trial.number}: ${format(trial.value)} with ${valuesText(trial.params)}`,
            color: colors.get(trial.number) ?? "",
            isFaded: false,
            places: axes.map((axis) => axis.place(axis.of(trial))),
          }))}
        />
      </div>
      {search.trials.length > shown.length && shown.length === MOST_LINES && (
        <p className="small muted">The best {MOST_LINES} trials.</p>
      )}
    </PictureFrame>
  );
}

function ofPath(path: string) {
  return (trial: TrialView): unknown => trial.params[path];
}
