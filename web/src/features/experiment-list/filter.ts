/** The filter of the list of experiments, as the address of the page has it. */

export interface Filter {
  q?: string;
  tag?: string;
  owner?: string;
  project?: string;
  archived?: true;
  oldest?: true; // the oldest experiments come first
}

export const LABELS = ["tag", "owner", "project"] as const;
const FLAGS = ["archived", "oldest"] as const;

export function readFilter(search: URLSearchParams): Filter {
  const filter: Filter = {};
  for (const name of ["q", ...LABELS] as const) {
    const value = search.get(name);
    if (value) filter[name] = value;
  }
  for (const name of FLAGS) if (search.get(name) === "true") filter[name] = true;
  return filter;
}

/** Return the address of the list with a filter: "/?q=lars&archived=true". */
export function filterAddress(filter: Filter, before?: number): string {
  const search = new URLSearchParams();
  for (const name of ["q", ...LABELS, ...FLAGS] as const) {
    if (filter[name]) search.set(name, String(filter[name]));
  }
  if (before !== undefined) search.set("before", String(before));
  return search.size ? `/?${search.toString()}` : "/";
}

/** Return the filter without one of its parts. */
export function without(filter: Filter, name: keyof Filter): Filter {
  return Object.fromEntries(Object.entries(filter).filter(([other]) => other !== name));
}
