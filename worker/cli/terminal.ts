import type { Role, SettingsReading } from '../../shared/base/settings.ts';

/** The process that runs a verb, as the verb sees it. */
export interface Terminal {
  /** The settings as a role needs them. Contract: never throws; says what is wrong with unusable ones. */
  readConfig(role: Role): SettingsReading;
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
