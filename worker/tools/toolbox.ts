import type { Service } from '../../shared/base/lifecycle.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Block } from '../model/block.ts';

/** The definition of a tool for the model. */
export interface ToolSpec {
  /** Unique among the tools of a request; letters, digits, `_` and `-`, at most 64. */
  name: string;
  description: string;
  /** JSON Schema of the input, an object. */
  inputSchema: Readonly<Record<string, unknown>>;
  /** Whether a call with an unknown outcome may be made again: it only reads, or is idempotent. */
  repeatable: boolean;
  /** Whether the tool only reads, as its server claims. Absent: it may write. */
  onlyReads?: boolean;
  /** When a call needs a person's approval: until somebody has granted the tool to the chat, or always. Absent: never. */
  asks?: 'until granted' | 'always' | undefined;
  /** For the tool of an MCP server: the hash of its whole description there. A grant is for one definition. */
  definition?: string;
  /** Whether guests of groups may use the tool, and calls from other chats if it only reads. Absent: no. */
  isForGuests?: boolean;
  /** Whether calls from chats without the bot may use the tool, if it only reads. Absent: only with `isForGuests`. */
  isForSummons?: boolean;
}

/** A tool that the model does not get, and why. */
export interface OmittedTool {
  tool: string;
  why: string;
}

/** A call as the model wrote it, and the attempt that makes it. */
export interface ToolCall {
  /** Unique within its message. A repeat after a crash has the same id. */
  id: string;
  name: string;
  input: Readonly<Record<string, unknown>>;
  turn: Turn;
  /** Whether the model may have read text of strangers for the message, in a tool result. Absent: no. */
  hasReadOthers?: boolean;
}

/** A piece of the output of a tool. */
export type ToolPart =
  | { type: 'text'; text: string }
  | { type: 'image'; bytes: Buffer }
  | { type: 'audio'; bytes: Buffer; mimeType: string };

/** The result of a call. The model sees an error and can try something else. */
export interface ToolOutput {
  parts: readonly ToolPart[];
  /** Pictures and documents after the parts, which refer to stored bytes. */
  files?: readonly Block[];
  isError: boolean;
}

/**
 * The tools that a model may call.
 *
 * Contract: nothing else throws. `specs` is in a stable order and keeps a tool whose server is away, since it is part of
 * every request's prefix. `call` is idempotent only where the spec says so; it ends within its own time limit, and on
 * abort it returns an error result at once. An own tool of the gateway writes to Redis under the attempt's fencing token;
 * only this write throws, `FencedError` or what Redis throws.
 */
export interface Toolbox {
  specs(): readonly ToolSpec[];
  call(call: ToolCall, signal: AbortSignal): Promise<ToolOutput>;
}

const NOTHING: readonly ToolSpec[] = [];

/** A toolbox without tools. */
export const NO_TOOLS: Toolbox & Service = {
  name: 'no tools',
  specs: () => NOTHING,
  call: async () => toolError('There is no tool of this name.'),
  stop: async () => {},
};

/** A result in words. */
export function toolText(text: string): ToolOutput {
  return { parts: [{ type: 'text', text }], isError: false };
}

/** A result that only says what went wrong, as text for the model. */
export function toolError(text: string): ToolOutput {
  return { parts: [{ type: 'text', text }], isError: true };
}
