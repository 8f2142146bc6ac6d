/** A block of a message's content, in the Messages API's shape. */
export interface Block {
  type: string;
  [key: string]: unknown;
}

/** A block of plain text. */
export function textBlock(text: string): Block {
  return { type: 'text', text };
}

const KB = 1024;
const MB = 1024 * KB;

/** A name for use in square brackets: on one line, and without brackets that could close those around it. */
export function nameInBrackets(name: string): string {
  return name.replace(/[\s[\]]+/g, ' ').trim();
}

/** A size in human-readable form. */
export function sizeInWords(bytes: number): string {
  return bytes < MB ? `${Math.ceil(bytes / KB)} KB` : `${(bytes / MB).toFixed(1)} MB`;
}

/** Whether a block is the result of a provider's tool. Such a result is part of the model's answer. */
export function isServerResult({ type }: Block): boolean {
  return type !== 'tool_result' && type.endsWith('_tool_result');
}

/** Whether a block is a call or a result of a provider's tool. A turn that such a tool paused ends with such a block. */
export function isServerSide(block: Block): boolean {
  return isServerResult(block) || (block.type !== 'tool_use' && block.type.endsWith('tool_use'));
}

/** Whether no key or text in a value has a lone surrogate. False for a value that is nested too deeply to be read. */
export function isWellFormed(value: unknown): boolean {
  try {
    return everyText(value);
  } catch {
    return false;
  }
}

function everyText(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(everyText);
  for (const key in value) if (!key.isWellFormed() || !everyText(value[key as keyof typeof value])) return false;
  return true;
}

/** Replaces each lone surrogate in a JSON value, keys included. Returns the same object if nothing is to be replaced. */
export function wellFormed<Value>(value: Value): Value {
  if (isWellFormed(value)) return value;
  return JSON.parse(JSON.stringify(value), (_, each) => {
    if (typeof each === 'string') return each.toWellFormed();
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).map(([key, inner]) => [key.toWellFormed(), inner]));
  });
}

/** The size to which the omission of the largest parts should reduce a history, so that the chat can go on for a while. */
export const TRIMMED_HISTORY_BYTES_MAX = 24 * MB;
/** The maximum size of a history in a request. The API refuses bodies over 32 MB; 4 MB are reserved for prompt and tools. */
export const HISTORY_BYTES_MAX = 28 * MB;
