/** Where a verb writes: results to `line` (standard output), progress and problems to `note` (standard error). */
export interface CliOutput {
  line(text: string): void;
  note(text: string): void;
}

/** Arguments or a configuration that a verb cannot take. The message says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
