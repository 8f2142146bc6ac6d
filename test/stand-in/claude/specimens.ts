/** Small parts to build requests from, and the smallest files that pass for pictures and PDFs. */
import type { Block, Message } from './request.ts';

const asBlock = (part: Block | string): Block => (typeof part === 'string' ? { type: 'text', text: part } : part);

/** A text block. */
export const text = (value: string, more: object = {}): Block => ({ type: 'text', text: value, ...more });

/** A user turn; strings become text blocks. */
export const user = (...parts: (Block | string)[]): Message => ({ role: 'user', content: parts.map(asBlock) });

/** An assistant turn; strings become text blocks. */
export const assistant = (...parts: (Block | string)[]): Message => ({
  role: 'assistant',
  content: parts.map(asBlock),
});

/** A tool call. */
export const call = (id: string, more: object = {}): Block => ({
  type: 'tool_use',
  id,
  name: 'look',
  input: {},
  ...more,
});

/** A tool's result. */
export const result = (id: string, content: unknown = 'found'): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});

/** A tool's definition. */
export const tool = (name: string, more: object = {}): Record<string, unknown> => ({
  name,
  description: 'Looks.',
  input_schema: { type: 'object' },
  ...more,
});

/** A thinking block, not signed unless a signature is given. */
export const thinking = (thought: string, more: object = {}): Block => ({
  type: 'thinking',
  thinking: thought,
  ...more,
});

/** A cache breakpoint, to spread into a block. */
export const marked = { cache_control: { type: 'ephemeral' } };

/** A PNG's header in base64, padded with nothing up to `bytes`. */
export function png(width: number, height: number, bytes = 64): string {
  const data = Buffer.alloc(bytes);
  data.writeUInt32BE(0x89504e47, 0);
  data.writeUInt32BE(width, 16);
  data.writeUInt32BE(height, 20);
  return data.toString('base64');
}

/** A JPEG's headers in base64, with a preview in front of the frame. */
export function jpeg(width: number, height: number): string {
  const preview = Buffer.concat([Buffer.from([0xff, 0xe1, 0x01, 0x02]), Buffer.alloc(0x100)]);
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 0, 0, 0]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), preview, frame]).toString('base64');
}

/** A GIF's header in base64. */
export function gif(width: number, height: number): string {
  const data = Buffer.alloc(12);
  data.write('GIF89a', 'latin1');
  data.writeUInt16LE(width, 6);
  data.writeUInt16LE(height, 8);
  return data.toString('base64');
}

/** A WebP's headers in base64. */
export function webp(width: number, height: number): string {
  const data = Buffer.alloc(33);
  data.write('RIFF', 0, 'latin1');
  data.write('WEBPVP8X', 8, 'latin1');
  data.writeUIntLE(width - 1, 24, 3);
  data.writeUIntLE(height - 1, 27, 3);
  return data.toString('base64');
}

/** An image block. */
export const image = (data: string, mediaType = 'image/png'): Block => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
});

/** A document block with a PDF of that body. */
export const pdf = (body: string): Block => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: Buffer.from(`%PDF-1.7\n${body}`).toString('base64') },
});

/** A document block with a PDF of so many pages. */
export const pages = (count: number): Block => pdf(`/Type /Pages\n${'/Type /Page\n'.repeat(count)}`);
