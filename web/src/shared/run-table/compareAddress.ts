/** The address of the page that compares chosen runs. */

export const MOST_COMPARED = 500; // runs of one comparison

export function compareAddress(ids: readonly number[]): string {
  return `/compare?runs=${ids.join(",")}`;
}
