import type { Service } from '../../shared/base/lifecycle.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Block } from '../model/block.ts';

/** The definition of a tool for the model. */
export interface ToolSpec {
  /** Unique among the tools of a request; letters, digits, `_` and `-`, at most 64. */
  name: string;
  description: string;
  /** The JSON Schema of the input. Every input is an object. */
  inputSchema: Readonly<Record<string, unknown>>;
  /** Whether a call whose outcome is unknown may be made again, because the tool only reads or is idempotent. */
  repeatable: boolean;
  /** Whether the tool only reads; for the tool of an MCP server, as the server claims. Absent: the tool may write. */
  onlyReads?: boolean;
  /** When a call needs a person's approval: until somebody has granted the tool to the chat, or always. Absent: never. */
  asks?: 'until granted' | 'always' | undefined;
  /** For the tool of an MCP server: the hash of the server's definition of the tool. A grant holds for one definition only. */
  definition?: string;
  /** Whether the tool is for guests of groups, and for summonses if it only reads and never asks. Absent: no. */
  isForGuests?: boolean;
  /** Whether the tool is for summonses if it only reads and never asks. Absent: only if `isForGuests` is set. */
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
  /** Whether a tool result may have shown the model text of strangers while the model answered the message. Absent: no. */
  hasReadOthers?: boolean;
}

/** A piece of the output of a tool. */
export type ToolPart =
  | { type: 'text'; text: string }
  | { type: 'image'; bytes: Buffer }
  | { type: 'audio'; bytes: Buffer; mimeType: string };

/** The result of a call. The model sees an error, too, and can try something else. */
export interface ToolOutput {
  parts: readonly ToolPart[];
  /** Blocks of pictures and documents that refer to stored bytes. They come after the parts. */
  files?: readonly Block[];
  isError: boolean;
}

/**
 * The tools that a model may call.
 *
 * Contract: `specs` never throws. Its order is stable, and it keeps the tools of a server that is no longer available, because
 * the list is part of every request's prefix. `call` is idempotent only where the spec says so. A call of `recall` or of an MCP
 * server's tool ends within its own time limit, and returns an error result at once on abort. `call` throws only for a built-in
 * tool: `FencedError` if another attempt took over, or an error of Redis or the blob store.
 */
export interface Toolbox {
  specs(): readonly ToolSpec[];
  call(call: ToolCall, signal: AbortSignal): Promise<ToolOutput>;
}

/** Whether the model gave a value for a field. An empty text counts as absent, because models fill in optional fields. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

const NOTHING: readonly ToolSpec[] = [];

/** A toolbox without tools. */
export const NO_TOOLS: Toolbox & Service = {
  name: 'no tools',
  specs: () => NOTHING,
  call: async () => toolError('There is no tool of this name.'),
  stop: async () => {},
};

/** A successful result that is only a text. */
export function toolText(text: string): ToolOutput {
  return { parts: [{ type: 'text', text }], isError: false };
}

/** A result that only says what went wrong, as text for the model. */
export function toolError(text: string): ToolOutput {
  return { parts: [{ type: 'text', text }], isError: true };
}
