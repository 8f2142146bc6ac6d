import { createHash } from 'node:crypto';
import { clip, counted, toolLabel } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Rules } from './words.ts';

/** Causes about tools and their servers. */
export const TOOLS = {
  'tool-refused': { severity: 'attention', title: "A tool was turned off: the model's API rejects it", endsBy: 'fact' },
  'tools-omitted': {
    severity: 'attention',
    title: 'Tools of an MCP server cannot be used',
    todo: '"npm run cli -- check" says why.',
    endsBy: 'fact',
  },
  'tool-server': {
    severity: 'attention',
    title: 'Tools are missing: an MCP server is down',
    todo: 'Check the server and MCP_CONFIG. Chats continue without its tools.',
    endsBy: 'alert',
    end: 'the MCP server is up again.',
  },
} satisfies Rules;

const TOOLS_NAMED_MAX = 10;
const SERVER_CHARS_MAX = 80;
const TOOL_CHARS_MAX = 64;

/** The alert that the model's API rejects a tool. One incident for each tool. */
export function refusedToolAlert(turn: Turn, tool: string): Alert {
  return {
    cause: 'tool-refused',
    key: tool,
    ...whereOf(turn),
    text: `The model's API rejects the tool ${toolLabel(tool)}. Chats continue without it until Spillway restarts. Correct the tool's definition on its server, then restart Spillway.`,
  };
}

/**
 * The alert that requests omit some tools of a server, because the model's API would refuse every request with them. The
 * names of the tools come from a foreign server, so each character that could form a link, a mention or a command becomes
 * `_`. Only the log has the reasons.
 */
export function omittedToolsAlert(server: string, tools: readonly { tool: string; why: string }[]): Alert {
  const prefix = `${server}__`;
  const names = tools
    .slice(0, TOOLS_NAMED_MAX)
    .map(({ tool }) => (tool.startsWith(prefix) ? tool.slice(prefix.length) : tool))
    .map((tool) => clip(tool.replaceAll(/[^A-Za-z0-9_-]/g, '_'), TOOL_CHARS_MAX) || '(no name)');
  const more = tools.length > names.length ? ` and ${tools.length - names.length} more` : '';
  const digest = createHash('sha256').update(JSON.stringify(tools)).digest('hex').slice(0, 16);
  return {
    cause: 'tools-omitted',
    key: server,
    level: digest,
    text: `The MCP server ${JSON.stringify(clip(server, SERVER_CHARS_MAX))} has ${counted(tools.length, 'tool')} that cannot be used: ${names.join(', ')}${more}.`,
  };
}

/**
 * The alert that a tool server is down, was cut off for exceeding a limit, or is up again. The server's own error text may
 * contain anything, so only the log quotes it; `exceededLimit` is Spillway's own text.
 */
export function toolServerAlert(server: string, isUp: boolean, exceededLimit: string | undefined): Alert {
  const name = JSON.stringify(clip(server, SERVER_CHARS_MAX));
  const about = { cause: 'tool-server' as const, key: server };
  if (isUp) return { ...about, isOver: true, text: `Resolved: the MCP server ${name} is up again.` };
  if (exceededLimit !== undefined) {
    const text = `The MCP server ${name} was cut off: ${exceededLimit}. Spillway restarts it, waiting longer each time. To change the limit, set "limits" in MCP_CONFIG.`;
    return { ...about, text };
  }
  return { ...about, text: `The MCP server ${name} is down; the log and "npm run cli -- check" say why.` };
}
