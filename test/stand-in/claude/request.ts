/** A content block as it came over the wire: the rules decide which keys are legal, not the type. */
export interface Block {
  type: string;
  [key: string]: unknown;
}

/** One message as it came over the wire. */
export interface Message {
  role: string;
  content: string | Block[];
}

/** A Messages API request whose shape was checked. Other top-level keys are kept as they came. */
export interface MessagesRequest {
  model: string;
  max_tokens: number;
  messages: Message[];
  system?: string | Block[];
  tools?: Record<string, unknown>[];
  stream?: boolean;
  thinking?: { type: string; [key: string]: unknown };
  tool_choice?: { type: string; [key: string]: unknown };
  [key: string]: unknown;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A message's content as blocks: a plain string is one text block, as the API reads it. */
export function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

export function isThinking({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

export function isServerResult({ type }: Block): boolean {
  return type !== 'tool_result' && type.endsWith('_tool_result');
}

/** Whether a block is the server's own work: the call of its tool, or the result. */
export function isServerSide(block: Block): boolean {
  return block.type === 'server_tool_use' || isServerResult(block);
}

/** The blocks nested in a tool_result, none for a plain string or no content. */
export function nestedBlocks(block: Block): Block[] {
  return block.type === 'tool_result' && Array.isArray(block.content) ? (block.content as Block[]) : [];
}

/** The system prompt's text, blocks joined by a line break. Tolerates a malformed request. */
export function systemText({ system }: Partial<MessagesRequest>): string {
  if (typeof system === 'string') return system;
  return Array.isArray(system) ? system.map((block) => String(block?.text ?? '')).join('\n') : '';
}

/** The last text block of the last user message: where a turn's pending text stands. Tolerates a malformed request. */
export function pendingText({ messages }: Partial<MessagesRequest>): string {
  const last = Array.isArray(messages) ? messages.findLast((message) => message?.role === 'user') : undefined;
  if (!Array.isArray(last?.content)) return typeof last?.content === 'string' ? last.content : '';
  return String(last.content.findLast((each) => each?.type === 'text')?.text ?? '');
}
