/** A tool that a chat may use without asking: one tool of one server, as long as its definition is the same. */
export interface ToolGrant {
  /** Its name among the tools of a request. */
  tool: string;
  /** The hash of its definition when it was granted. */
  definition: string;
  /** Who granted it. */
  by: { id: number; name?: string | undefined };
  /** When it ends, in ms since the epoch. */
  untilMs: number;
}

/** How long a grant lasts. */
export const GRANT_MS = 90 * 24 * 3_600_000;
