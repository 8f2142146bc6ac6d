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

/** A writer's name inside brackets of ours: on one line, and without brackets that could close them. */
export function nameInBrackets(name: string): string {
  return name.replace(/[\s[\]]+/g, ' ').trim();
}

/**
 * Whether a text is empty or only white space by every definition: JavaScript, Python and Rust each count some control
 * characters as white space that the others do not.
 */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}]*$/u.test(text);
}

/** A size in human-readable form. */
export function sizeInWords(bytes: number): string {
  return bytes < MB ? `${Math.ceil(bytes / KB)} KB` : `${(bytes / MB).toFixed(1)} MB`;
}

/** The result of a tool that ran on the server: the model sends it, and nobody answers it. */
export function isServerResult({ type }: Block): boolean {
  return type !== 'tool_result' && type.endsWith('_tool_result');
}

/** A turn that a server's tool paused ends with that tool's call or result. */
export function isServerSide(block: Block): boolean {
  return isServerResult(block) || (block.type !== 'tool_use' && block.type.endsWith('tool_use'));
}

/** Any escape of a JSON text, lone surrogates apart: `JSON.stringify` escapes a surrogate only when it is alone. */
const ESCAPES = /\\(?:ud[89a-f][0-9a-f]{2}|[\s\S])/g;

/** A value as JSON, or undefined when it has none: a cycle, a bigint, a nesting too deep. Never throws. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Whether a text that `JSON.stringify` wrote holds half a surrogate pair, in a key or in a value. Linear. */
export function hasLoneSurrogate(json: string): boolean {
  if (!json.includes('\\ud')) return false;
  for (const [found] of json.matchAll(ESCAPES)) if (found.length > 2) return true;
  return false;
}

/** Whether no text in a value, key or not, holds half a surrogate pair. Much faster than writing the value down. */
export function isWellFormed(value: unknown): boolean {
  try {
    return everyText(value);
  } catch {
    // Nested too deep to be walked: let it be written down, and be judged there.
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

/** The value of a JSON text, with every half of a surrogate pair replaced, in keys too and at any depth. */
export function wellFormedValue(json: string): unknown {
  return JSON.parse(json.replace(ESCAPES, (found) => (found.length > 2 ? '\\ufffd' : found)));
}

/** The size of a value on the wire in bytes; 0 when it cannot be written. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(jsonOf(value) ?? '');
}

/*
 * The API refuses a body of 32 MB. What we allow grows from the history to the request, since each step adds what the
 * one before it does not weigh.
 */

/**
 * The most bytes of a history after its largest parts were removed, so that the chat can continue for a while.
 */
export const TRIMMED_HISTORY_BYTES_MAX = 24 * MB;
/** The most bytes of a history that is sent. System prompt and tools, which are added to it, have the other 4 MB. */
export const HISTORY_BYTES_MAX = 28 * MB;
