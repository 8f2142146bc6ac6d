import type { ConfigReading, Role } from '../../shared/base/config.ts';

/** The process that runs a verb, as the verb sees it. */
export interface Terminal {
  /** The settings as a role needs them. Contract: never throws; says what is wrong with unusable ones. */
  readConfig(role: Role): ConfigReading;
  /** Standard input. */
  readonly input: NodeJS.ReadableStream;
  /** Whether somebody still reads the result. A verb that only reads ends when nobody does. */
  isRead(): boolean;
  /** Writes a line of the result, to standard output. */
  line(text: string): void;
  /** Writes a line about progress or a problem, to standard error. */
  note(text: string): void;
}

/** Invalid arguments, or an invalid configuration. The message says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The settings as a role needs them. Throws `UsageError` with all problems of unusable ones. */
export function usableConfig(terminal: Terminal, role: Role): Extract<ConfigReading, { ok: true }> {
  const reading = terminal.readConfig(role);
  if (!reading.ok) throw new UsageError(reading.problems.join('\n'));
  return reading;
}

/** The result of a check of one part. */
export interface Finding {
  part: string;
  ok: boolean;
  /** All works, and something should be otherwise. */
  isAdvice?: true;
  /** Text for the operator; never a secret. */
  detail: string;
}

export const fine = (part: string, detail: string): Finding => ({ part, ok: true, detail });
export const advised = (part: string, detail: string): Finding => ({ part, ok: true, isAdvice: true, detail });
export const failed = (part: string, detail: string): Finding => ({ part, ok: false, detail });
