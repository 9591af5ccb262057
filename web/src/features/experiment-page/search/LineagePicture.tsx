/** A population: the value of each member by generation, and whose weights it copied. */
import type { SearchDetail, TrialView } from "@/shared/api/types";
import type { CsvValue } from "@/shared/files/csv";
import { axisOf, extentOf, padded } from "@/shared/frame/axis";
import { boxOf, Frame } from "@/shared/frame/Frame";
import { useWidth } from "@/shared/page/useWidth";
import styles from "./LineagePicture.module.css";
import { PictureFrame } from "./PictureFrame";
import { metricFormat } from "./trials";

const HEIGHT = 260;

export function LineagePicture({ search }: { search: SearchDetail }) {
  const [host, width] = useWidth();
  const generations = generationsOf(search);
  return (
    <PictureFrame
      title="Generations of the members"
      className={styles.lineage}
      search={search}
      csv={generations.size ? () => csvOf(generations, search) : null}
    >
      <div ref={host} />
      {generations.size > 0 ? (
        <>
          <LineageCurves {...{ generations, width }} metric={search.spec.metric} />
          <p className="small muted">
            A gray line: a member trains on with its own weights. A colored line: it copies the weights of
            another member.
          </p>
        </>
      ) : (
        <p className="small muted">No generation has a value yet.</p>
      )}
    </PictureFrame>
  );
}

interface CurvesProps {
  generations: ReadonlyMap<number, Generation>;
  width: number;
  metric: string;
}

function LineageCurves({ generations, width, metric }: CurvesProps) {
  const { title, format } = metricFormat(metric);
  const all = [...generations.values()];
  const box = boxOf(width, HEIGHT, 64);
  const high = Math.max(1, ...all.map(({ generation }) => generation));
  const x = axisOf({ low: -0.1, high: high + 0.1 }, false, box.left, box.right, {
    count: Math.min(high + 1, width / 80),
  });
  const extent = extentOf(all.map(({ value }) => value)) ?? { low: 0, high: 1 };
  const y = axisOf(padded(extent, false), false, box.bottom, box.top, { count: 5 });
  return (
    <Frame
      {...{ width, box }}
      height={HEIGHT}
      label="Values of the members by generation, and which member copied which"
      x={{ axis: x, title: "generation", tick: (value) => (Number.isInteger(value) ? String(value) : "") }}
      y={{ axis: y, title, tick: (value) => format(value) }}
    >
      <LineageLines {...{ generations }} atX={x.at} atY={y.at} />
      {all.map((one) => (
        <circle
          key={one.number}
          className={styles.generationDot}
          cx={x.at(one.generation)}
          cy={y.at(one.value)}
          r={4}
        >
          <title>{`${lineageText(one, generations)}: ${format(one.value)}`}</title>
        </circle>
      ))}
    </Frame>
  );
}

interface LinesProps {
  generations: ReadonlyMap<number, Generation>;
  atX: (generation: number) => number;
  atY: (value: number) => number;
}

/** A line to each trial from the one whose weights it began with. */
function LineageLines({ generations, atX, atY }: LinesProps) {
  return [...generations.values()].map((one) => {
    const parent = one.parent === null ? undefined : generations.get(one.parent);
    return (
      parent && (
        <line
          key={one.number}
          className={one.copied ? styles.copyLine : styles.ownLine}
          x1={atX(parent.generation)}
          y1={atY(parent.value)}
          x2={atX(one.generation)}
          y2={atY(one.value)}
        />
      )
    );
  });
}

interface Generation extends NonNullable<TrialView["lineage"]> {
  number: number; // of the trial
  value: number;
}

function generationsOf({ trials }: SearchDetail): Map<number, Generation> {
  return new Map(
    trials.flatMap(({ number, value, lineage }) =>
      lineage && value !== null ? [[number, { ...lineage, number, value }]] : [],
    ),
  );
}

function csvOf(generations: ReadonlyMap<number, Generation>, { spec }: SearchDetail): CsvValue[][] {
  const heads = [
    "trial",
    "member",
    "generation",
    spec.metric,
    "trial with its first weights",
    "of another member",
  ];
  const rows = [...generations.values()].map(({ number, member, generation, value, parent, copied }) => [
    ...[number, member, generation],
    ...[value, parent, copied],
  ]);
  return [heads, ...rows];
}

function lineageText(
  { number, member, generation, parent, copied }: Generation,
  generations: ReadonlyMap<number, Generation>,
): string {
  const donor = copied && parent !== null ? generations.get(parent)?.member : undefined;
  const from = donor === undefined ? "" : `, weights of member ${donor}`;
  return `Trial ${number}, member ${member}, generation ${generation}${from}`;
}
