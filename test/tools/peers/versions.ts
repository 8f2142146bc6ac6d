/** The software that nobody here wrote, at the versions that were tried. Raise one and run `npm run verify:peers`. */

/** The newest LiteLLM that a plain `pip` on Python 3.11 resolved when this was written. */
export const LITELLM = 'litellm[proxy]==1.106.2';

/** The reference servers of the Model Context Protocol. */
export const MCP_SERVERS = {
  '@modelcontextprotocol/server-everything': '2026.8.31',
  '@modelcontextprotocol/server-filesystem': '2026.8.31',
  '@modelcontextprotocol/server-memory': '2026.8.31',
} as const;
