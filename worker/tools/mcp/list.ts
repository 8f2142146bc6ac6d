import { z } from 'zod';
import type { OmittedTool } from '../toolbox.ts';
import type { Link } from './link.ts';
import { type McpTool, readTool, type ToolReading } from './tool.ts';

export interface ListLimits {
  /** How long a page may take. */
  connectMs: number;
  pagesMax: number;
  toolsMax: number;
}

/** The result of reading a server's list. */
export interface ToolList {
  tools: readonly McpTool[];
  /** What is wrong with the others; the last entry stands for those beyond `toolsMax`. */
  omitted: readonly OmittedTool[];
}

const listForm = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional().catch(undefined) });

/**
 * Asks a server for all its tools, page by page; of each page only what is taken is kept. Rejects when the answer is
 * invalid or does not come.
 */
export async function listTools({ client }: Link, limits: ListLimits): Promise<ToolList> {
  const { pagesMax, toolsMax, connectMs } = limits;
  const readings: NonNullable<ToolReading>[] = [];
  let cursor: string | undefined;
  let listed = 0;
  // A server without tools says so in its capabilities, and need not support the request.
  const hasTools = client.getServerCapabilities()?.tools !== undefined;
  for (let pages = 0; hasTools && (pages === 0 || (cursor !== undefined && pages < pagesMax)); pages++) {
    const page: z.infer<typeof listForm> = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      listForm,
      { timeout: connectMs },
    );
    readings.push(...page.tools.slice(0, Math.max(0, toolsMax - listed)).flatMap((entry) => readTool(entry) ?? []));
    listed += page.tools.length;
    cursor = page.nextCursor;
    if (listed > toolsMax) break;
  }
  const more = cursor !== undefined || listed > toolsMax;
  const rest = more ? [{ tool: 'the_rest', why: `at most ${toolsMax} tools on ${pagesMax} pages are taken` }] : [];
  return {
    tools: readings.flatMap((reading) => ('tool' in reading ? reading.tool : [])),
    omitted: [...readings.flatMap((reading) => ('omitted' in reading ? reading.omitted : [])), ...rest],
  };
}
