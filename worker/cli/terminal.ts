import type { Role, SettingsReading } from '../../shared/base/settings.ts';

/** The parts of the process that a verb uses. */
export interface Terminal {
  /** Reads the settings for a role. Contract: never throws; returns the problems of unusable settings. */
  readConfig(role: Role): SettingsReading;
  readonly input: NodeJS.ReadableStream;
  /** Whether standard output still has a reader. Without a reader, a verb that changes nothing may end. */
  hasReader(): boolean;
  /** Writes a line of the result, to standard output. */
  line(text: string): void;
  /** Writes a line about progress or a problem, to standard error. */
  note(text: string): void;
}

/** Thrown for invalid arguments or settings. The message states the problem, the usage, or both. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
