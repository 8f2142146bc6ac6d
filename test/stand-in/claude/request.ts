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
  [key: string]: unknown;
}

/** Whether a value is a JSON object (neither null nor a list). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A message's content as blocks: a plain string is one text block, as the API reads it. */
export function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/** The blocks nested in a tool_result, none for a plain string or no content. */
export function nestedBlocks(block: Block): Block[] {
  return block.type === 'tool_result' && Array.isArray(block.content) ? (block.content as Block[]) : [];
}

/** The system prompt's text, blocks joined by a line break. Tolerates a malformed request. */
export function systemText(request: Partial<MessagesRequest>): string {
  const { system } = request;
  if (typeof system === 'string') return system;
  return Array.isArray(system) ? system.map((block) => String(block?.text ?? '')).join('\n') : '';
}

/** The last text block of the last user message: where a turn's pending text stands. Tolerates a malformed request. */
export function pendingText(request: Partial<MessagesRequest>): string {
  const messages = Array.isArray(request.messages) ? request.messages : [];
  const last = messages.findLast((message) => message?.role === 'user');
  if (last === undefined) return '';
  if (typeof last.content === 'string') return last.content;
  const block = Array.isArray(last.content) ? last.content.findLast((each) => each?.type === 'text') : undefined;
  return typeof block?.text === 'string' ? block.text : '';
}

/** Every text that a person or the model wrote, oldest first: what a summary is made from. */
export function conversationTexts(request: MessagesRequest): string[] {
  return request.messages
    .flatMap((message) => blocksOf(message.content))
    .flatMap((block) => (block.type === 'text' && typeof block.text === 'string' ? [block.text] : []));
}
