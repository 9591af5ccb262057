/** A piece of a line as the chart draws it. */
interface Props {
  color: string;
  dash?: number[] | undefined;
}

export function Swatch({ color, dash = [] }: Props) {
  return (
    <svg className="swatch" viewBox="0 0 18 10" aria-hidden="true">
      <path d="M0 5h18" stroke={color} strokeWidth="2.25" strokeDasharray={dash.join(" ")} />
    </svg>
  );
}
