/** Join CSS class names. */

/** Return the names with spaces between them; a condition that does not hold leaves its name out. */
export function classNames(...names: (string | false | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}
