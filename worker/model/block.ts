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
