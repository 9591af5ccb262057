/** The command of a program as a line for a shell, with the parameters in place of their placeholders. */
import type { ProgramSpec } from "@/shared/api/types";

type Values = Record<string, unknown>;

const PLACEHOLDER = /\{\{[A-Za-z_][A-Za-z0-9_.]*\}\}|\{([A-Za-z_][A-Za-z0-9_.]*)\}/g;
const QUOTING = /["'`\\$#<]/; // what may begin another quoting in a line for bash
const SAFE_WORD = /^[\w@%+=:,./{}-]+$/; // a shell leaves such a word as it is; {x} is no expansion of braces

/**
 * Return the command of `spec`, which every stored one has; a placeholder without a value stays as it is. In a line for bash a value
 * that needs quotes stays a placeholder behind other quotes: its own ones depend on its place (agent/program/shell_line.py).
 */
export function commandText({ command = "", parameters }: ProgramSpec, files: Values = {}): string {
  const values = { ...flatten(parameters), ...files };
  if (typeof command === "string") return fill(command, values, true);
  return command.map((word) => quote(fill(word, values, false))).join(" ");
}

/** Return the command as the spec has it, with its placeholders. */
export function commandTemplate({ command = "" }: ProgramSpec): string {
  return typeof command === "string" ? command : command.map(quote).join(" ");
}

/** Return every parameter by its dotted name, objects themselves too. */
function flatten(parameters: Values, prefix = ""): Values {
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]): [string, unknown][] => [
      [`${prefix}${name}`, value],
      ...(isObject(value) ? Object.entries(flatten(value, `${prefix}${name}.`)) : []),
    ]),
  );
}

function fill(text: string, values: Values, isShell: boolean): string {
  return text.replace(PLACEHOLDER, (found: string, name: string | undefined, at: number) => {
    if (name === undefined) return found.slice(1, -1);
    if (!Object.hasOwn(values, name) || (isShell && text[at - 1] === "$")) return found; // ${lr} is a variable of bash
    const value = values[name];
    const written = typeof value === "number" ? inDigits(value) : asText(value);
    if (!isShell) return written;
    return SAFE_WORD.test(written) || !QUOTING.test(text.slice(0, at)) ? quote(written) : found;
  });
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return a number without an exponent, as the agent writes it: argparse takes -1e-5 for an option. */
function inDigits(value: number): string {
  const [, sign = "", whole = "", fraction = "", exponent] =
    /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value)) ?? [];
  if (exponent === undefined) return String(value);
  const shift = Number(exponent);
  if (shift < 0) return `${sign}0.${"0".repeat(-shift - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(shift, "0")}.0`;
}

function quote(word: string): string {
  return SAFE_WORD.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
