/** What a user starts. */
export declare const PROGRAMS: readonly string[];

/** The file to run in place of each program, up to date with the sources and the lock. */
export declare function bundle(
  root: string,
  programs?: readonly string[],
  folder?: string,
  external?: readonly string[],
): Promise<Record<string, string>>;
