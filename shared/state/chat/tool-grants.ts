/** Permission for a chat to use a tool without an approval, as long as the tool's definition does not change. */
export interface ToolGrant {
  /** The tool's name in requests. */
  tool: string;
  /** The hash of the tool's definition at the time of the grant. */
  definition: string;
  /** The person who gave the permission. */
  by: { id: number; name?: string | undefined };
  /** The end of the grant, in ms since the epoch. */
  untilMs: number;
}

/** How long a grant lasts. */
export const GRANT_MS = 90 * 24 * 3_600_000;
