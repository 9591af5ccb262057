/** Objects of the service whose keys are names of users, such as "constructor", which every object seems to have. */

/** Return an object's own value of a name; undefined without one. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
