import { createHash } from 'node:crypto';
import { clip, counted, toolLabel } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Rules } from './words.ts';

/** Causes that concern tools, and the servers that they come from. */
export const TOOLS = {
  'tool-refused': { severity: 'attention', title: "The model's API refuses a tool", endsBy: 'fact' },
  'tools-omitted': {
    severity: 'attention',
    title: 'Tools of an MCP server are left out',
    todo: '"npm run cli -- check" says why.',
    endsBy: 'fact',
  },
  'tool-server': {
    severity: 'attention',
    title: 'A tool server is down',
    todo: 'Chats go on without its tools. Check MCP_CONFIG and the server.',
    endsBy: 'alert',
    end: 'the tool server is up again.',
  },
} satisfies Rules;

const TOOLS_NAMED_MAX = 10;
const SERVER_CHARS_MAX = 80;
const TOOL_CHARS_MAX = 64;

/** A tool that the model's API rejects. Notified once for all chats. */
export function refusedToolAlert(turn: Turn, tool: string): Alert {
  return {
    cause: 'tool-refused',
    key: tool,
    ...whereOf(turn),
    text: `The model's API refuses the tool ${toolLabel(tool)}, so it was removed until the next start; chats go on without it. Correct its definition on its server.`,
  };
}

/**
 * Tools that the model is not shown, since it would refuse every message with them. A server's words are a stranger's:
 * of a name only what cannot be a link, a mention or a command stands here, and the reason only in the log.
 */
export function omittedToolsAlert(server: string, omitted: readonly { tool: string; why: string }[]): Alert {
  const prefix = `${server}__`;
  const names = omitted
    .slice(0, TOOLS_NAMED_MAX)
    .map(({ tool }) => (tool.startsWith(prefix) ? tool.slice(prefix.length) : tool))
    .map((tool) => clip(tool.replaceAll(/[^A-Za-z0-9_-]/g, '_'), TOOL_CHARS_MAX) || '(no name)');
  const more = omitted.length > names.length ? ` and ${omitted.length - names.length} more` : '';
  const digest = createHash('sha256').update(JSON.stringify(omitted)).digest('hex').slice(0, 16);
  return {
    cause: 'tools-omitted',
    key: server,
    level: digest,
    text: `The MCP server ${JSON.stringify(clip(server, SERVER_CHARS_MAX))} has ${counted(omitted.length, 'tool')} that chats go on without: ${names.join(', ')}${more}.`,
  };
}

/**
 * A tool server that does not answer, that was cut off for a broken bound, or that is up again. What a server says of its
 * own trouble may be anything, so only the log quotes it; the words for a bound are ours.
 */
export function toolServerAlert(server: string, isUp: boolean, broken: string | undefined): Alert {
  const name = JSON.stringify(clip(server, SERVER_CHARS_MAX));
  const about = { cause: 'tool-server' as const, key: server };
  if (isUp) return { ...about, isOver: true, text: `Resolved: the MCP server ${name} is up again.` };
  if (broken !== undefined) {
    const text = `The MCP server ${name} was cut off: ${broken}. It is started again with growing waits; "limits" in MCP_CONFIG sets other bounds.`;
    return { ...about, text };
  }
  return { ...about, text: `The MCP server ${name} is down; the log and "npm run cli -- check" say why.` };
}
