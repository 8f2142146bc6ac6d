/** The limits of tool servers that `MCP_CONFIG` cannot set. */
export const LIMITS = {
  /** How long the start waits for servers. Slower servers keep connecting in the background. */
  startMs: 10_000,
  /** How long a connection may take to become usable, and how long each page of a list of tools may take. */
  connectMs: 60_000,
  /** A server that does not answer a ping for this long is lost. */
  probeMs: 30_000,
  /** The longest wait before the first reconnect. Doubles with each try, up to `retryMaxMs`. */
  retryMs: 1_000,
  retryMaxMs: 60_000,
  /** A connection that lasted this long counts as stable: the next wait is `retryMs` again. */
  steadyMs: 60_000,
  /** The shortest time between two reads of a list of tools that keeps changing. */
  relistMs: 1_000,
  /** A message longer than this ends the connection. The SDK's transport needs half a second to read a line of this size. */
  messageBytesMax: 10 * 1024 * 1024,
  pagesMax: 50,
  toolsMax: 500,
  /** The maximum size of all tool definitions: some 200 tools, or 50,000 tokens, a quarter of a window of 200,000 tokens. */
  toolsCharsMax: 200_000,
};
/** The limits, and the time that a call may take. */
export type McpLimits = typeof LIMITS & { timeoutMs: number };
