import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { UsageError } from './terminal.ts';

/** What stood behind a verb. */
export interface Options {
  values: Readonly<Record<string, string | boolean | undefined>>;
  positionals: readonly string[];
}

export const FLAG = { type: 'boolean' } as const;
export const TEXT = { type: 'string' } as const;

/**
 * Reads what stands behind a verb: `--help`, `--json` and the verb's own options. The id of a group begins with a minus
 * sign, and is no option. Throws `UsageError` with the help for an unknown option, or for too many words.
 */
export function readOptions(
  args: readonly string[],
  help: string,
  { words = 0, ...options }: { words?: number; options?: ParseArgsOptionsConfig } = {},
): Options {
  const config = { help: FLAG, json: FLAG, ...options.options };
  try {
    const parsed = parseArgs({ args: args.map(escaped), options: config, allowPositionals: true });
    const positionals = parsed.positionals.map(plain);
    const values = Object.fromEntries(Object.entries(parsed.values).map(([name, value]) => [name, plainValue(value)]));
    if (positionals.length <= words) return { values, positionals };
  } catch {
    // The message of parseArgs about an option says less than the help.
  }
  throw new UsageError(help);
}

/** No argument begins with a zero byte. */
const MARK = '\0';

function escaped(arg: string): string {
  return /^-\d/.test(arg) ? MARK + arg : arg;
}

function plain(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}

function plainValue(value: unknown): string | boolean | undefined {
  if (typeof value === 'string') return plain(value);
  return value === true ? true : undefined;
}
