/** The default limits of a tool server, besides those that MCP_CONFIG sets. */
export const LIMITS = {
  /** How long the start waits for servers; the others keep connecting in the background. */
  startMs: 10_000,
  /** How long the handshake, and each page of the list of tools, may take. */
  connectMs: 60_000,
  /** A server that does not answer a ping for this long is lost. */
  probeMs: 30_000,
  /** The wait before the first reconnect; doubles with each try, up to `retryMaxMs`. */
  retryMs: 1_000,
  retryMaxMs: 60_000,
  /** A connection that lasted this long was sound, and resets the waits. */
  steadyMs: 60_000,
  /** The least time between two reads of a list of tools that keeps changing. */
  relistMs: 1_000,
  /** A longer message ends the connection. A line of this size takes the SDK's transport half a second to gather. */
  messageBytesMax: 10 * 1024 * 1024,
  pagesMax: 50,
  toolsMax: 500,
  /**
   * How large the definitions of all tools may be together: about 50,000 tokens, a quarter of the smallest window of
   * current models. Some 200 tools of ordinary size fit.
   */
  toolsCharsMax: 200_000,
};
/** The limits, with the time that a call may take. */
export type McpLimits = typeof LIMITS & { timeoutMs: number };
