import type { Service } from '../../shared/base/lifecycle.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Block } from '../model/block.ts';

/** A tool as the model is shown it. */
export interface ToolSpec {
  /** Unique among the tools of a request; letters, digits, `_` and `-`, at most 64. */
  name: string;
  description: string;
  /** JSON Schema of the input, an object. */
  inputSchema: Readonly<Record<string, unknown>>;
  /** Whether a call with an unknown outcome may be made again: it only reads, or is idempotent. */
  repeatable: boolean;
  /** Whether it only reads, by its server's own word. Absent: it does not. */
  onlyReads?: boolean;
  /**
   * When a person is asked before a call is made: until somebody has granted the tool to the chat, or `always`. Absent: never.
   */
  asks?: 'until granted' | 'always' | undefined;
  /** Of a server's tool: the hash of all that the server says about it. A grant is for one definition. */
  definition?: string;
  /** Whether the operator gave it to guests of groups, and to calls from other chats if it only reads. Absent: not. */
  isForGuests?: boolean;
  /** Whether calls from chats that the bot is not part of have it, if it only reads. Absent: only with `isForGuests`. */
  isForSummons?: boolean;
}

/** A tool that the model is not shown, and why. */
export interface OmittedTool {
  tool: string;
  why: string;
}

/** A call as the model wrote it, and the attempt that makes it. */
export interface ToolCall {
  /** Unique within its message: a call that is repeated after a crash has the same id. */
  id: string;
  name: string;
  input: Readonly<Record<string, unknown>>;
  turn: Turn;
  /** Whether something was read for the message that nobody of the chat wrote: the result of a tool. Absent: not. */
  hasReadOthers?: boolean;
}

/** A piece of what a tool returned. */
export type ToolPart =
  | { type: 'text'; text: string }
  | { type: 'image'; bytes: Buffer }
  | { type: 'audio'; bytes: Buffer; mimeType: string };

/** The result of a call. The model sees an error and can try something else. */
export interface ToolOutput {
  parts: readonly ToolPart[];
  /** Pictures and documents behind them that refer to kept bytes. */
  files?: readonly Block[];
  isError: boolean;
}

/**
 * The tools that a model may call.
 *
 * Contract: nothing throws. `specs` is in a stable order and keeps a tool whose server is away, since it is part of
 * every request's prefix. `call` is idempotent only where the spec says so; it ends within its own time limit, and on
 * abort it returns an error result at once. A tool of ours that writes to Redis writes under the attempt's fencing
 * token; only then it throws, `FencedError` or what Redis throws.
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
