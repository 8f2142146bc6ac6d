/** Where a verb writes: results to `line` (standard output), progress and problems to `note` (standard error). */
export interface CliOutput {
  line(text: string): void;
  note(text: string): void;
}

/** Invalid arguments, or an invalid configuration. The message says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
