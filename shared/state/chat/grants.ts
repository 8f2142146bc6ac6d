import { z } from 'zod';
import { jsonValue } from '../../base/fields.ts';

/** A tool that a chat may use without asking: one tool of one server, as long as its definition is the same. */
export interface ToolGrant {
  /** Its name among the tools of a request. */
  tool: string;
  /** The hash of its definition when it was granted. */
  definition: string;
  /** Who granted it. */
  by: { id: number; name: string };
  /** When it ends, in ms since the epoch. */
  untilMs: number;
}

/** The grants of a chat, and the field that they were read from, which a write can expect. */
export interface ToolGrants {
  readonly stored: string;
  readonly list: readonly ToolGrant[];
}

/** How long a grant lasts. */
export const GRANT_MS = 90 * 24 * 3_600_000;

const form = z.array(
  z.object({
    tool: z.string(),
    definition: z.string(),
    by: z.object({ id: z.number(), name: z.string() }),
    untilMs: z.number(),
  }),
);

/** Reads the stored grants; of anything else there are none, so that it is asked again. Pure. */
export function grantsIn(stored = ''): ToolGrants {
  const read = form.safeParse(jsonValue(stored));
  return { stored, list: read.success ? read.data : [] };
}

/** Whether a tool with this definition may be used without asking. Pure. */
export function isGranted(
  { list }: ToolGrants,
  { name, definition }: { name: string; definition?: string | undefined },
  nowMs: number,
): boolean {
  return list.some((grant) => grant.tool === name && grant.definition === definition && grant.untilMs > nowMs);
}
