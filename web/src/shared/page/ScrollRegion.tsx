/** A part of a page that scrolls by itself: it has a name, and the keyboard reaches it. */
import type { HTMLAttributes, Ref } from "react";

interface Props extends Omit<HTMLAttributes<HTMLDivElement>, "role" | "tabIndex"> {
  label: string;
  ref?: Ref<HTMLDivElement>;
}

export function ScrollRegion({ label, ...more }: Props) {
  // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls
  return <div role="region" aria-label={label} tabIndex={0} {...more} />;
}
