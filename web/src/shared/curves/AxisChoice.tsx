/** The choice of the x axis of curves, among those for which the runs report what they need. */
import { offeredAxes, readAxis, type XAxis } from "@/shared/curves/xAxis";
import { Choice } from "@/shared/controls/Choice";

interface Props {
  axis: XAxis;
  names: Iterable<string>; // of the series that the runs report
  onChange: (axis: XAxis) => void;
}

export function AxisChoice({ axis, names, onChange }: Props) {
  const options = offeredAxes(names, axis);
  if (options.length < 2) return null;
  return (
    <Choice
      label="by"
      value={axis}
      options={options}
      onChange={(chosen) => {
        onChange(readAxis(chosen));
      }}
    />
  );
}
