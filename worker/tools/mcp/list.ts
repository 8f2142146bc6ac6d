import { z } from 'zod';
import type { OmittedTool } from '../toolbox.ts';
import type { Link } from './link.ts';
import { type McpTool, readTool } from './tool.ts';

export interface ListLimits {
  /** How long a page may take. */
  connectMs: number;
  pagesMax: number;
  toolsMax: number;
}

/** The result of reading a server's list. */
export interface ToolList {
  tools: readonly McpTool[];
  omitted: readonly OmittedTool[];
  /** Names of tools whose schema was rewritten. */
  changed: readonly string[];
  /** Whether the server has more tools than are taken. */
  isCut: boolean;
}

const listForm = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional().catch(undefined) });

/** Asks a server for all its tools, page by page. Rejects when the answer is invalid or does not come. */
export async function listTools({ client }: Link, limits: ListLimits): Promise<ToolList> {
  const listed: unknown[] = [];
  let cursor: string | undefined;
  let pages = 0;
  // A server without tools says so in its capabilities, and need not support the request.
  const hasTools = client.getServerCapabilities()?.tools !== undefined;
  while (hasTools && isWanted(pages, cursor, listed.length, limits)) {
    const page: z.infer<typeof listForm> = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      listForm,
      { timeout: limits.connectMs },
    );
    listed.push(...page.tools);
    cursor = page.nextCursor;
    pages += 1;
  }
  const readings = listed.slice(0, limits.toolsMax).flatMap((entry) => readTool(entry) ?? []);
  return {
    tools: readings.flatMap((reading) => ('tool' in reading ? reading.tool : [])),
    omitted: readings.flatMap((reading) => ('omitted' in reading ? reading.omitted : [])),
    changed: readings.flatMap((reading) => ('tool' in reading && reading.changed ? reading.tool.name : [])),
    isCut: cursor !== undefined || listed.length > limits.toolsMax,
  };
}

function isWanted(pages: number, cursor: string | undefined, count: number, { pagesMax, toolsMax }: ListLimits) {
  return pages < pagesMax && count <= toolsMax && (pages === 0 || cursor !== undefined);
}
