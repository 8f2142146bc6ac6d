import { hash } from 'node:crypto';
import { type Block, blocksOf, isObject, type MessagesRequest } from './request.ts';

export type Lifetime = '5m' | '1h';

/** One step of the prefix that prompt caching and bound thinking look at: a tool, or a block of prompt or message. */
export interface Segment {
  readonly role: string;
  readonly block: Record<string, unknown>;
  /** The index of the message, -1 for tools and system prompt. */
  readonly messageIndex: number;
  /** The index of the block in its message, tool list or system prompt. */
  readonly blockIndex: number;
  /** How long the prefix that ends here is kept; undefined where no breakpoint is. */
  readonly lifetime: Lifetime | undefined;
}

/** Works something out once for each object: nothing changes a request, or a part of it, once it has arrived. */
export function rememberFor<Key extends object, Value>(work: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? work(key);
    known.set(key, value);
    return value;
  };
}

export const segmentsOf = rememberFor((request: MessagesRequest): readonly Segment[] => {
  const part = (role: string, messageIndex: number) => (block: Record<string, unknown>, blockIndex: number) => {
    const marker = block.cache_control;
    const lifetime = isObject(marker) ? (marker.ttl === '1h' ? '1h' : '5m') : undefined;
    return { role, block, messageIndex, blockIndex, lifetime } as const;
  };
  return [
    ...(request.tools ?? []).map(part('tools', -1)),
    ...blocksOf(request.system ?? []).map(part('system', -1)),
    ...request.messages.flatMap((message, index) => blocksOf(message.content).map(part(message.role, index))),
  ];
});

/** The same blocks after the same prefix need no new hash. */
const extendedByBlock = new WeakMap<Record<string, unknown>, { start: string; print: string }>();

/** Continues a prefix's fingerprint by one segment. Cache markers and null fields do not count as a change. */
export function extendFingerprint(before: string, role: string, block: Record<string, unknown>): string {
  const start = `${before}${role}`;
  const known = extendedByBlock.get(block);
  if (known?.start === start) return known.print;
  const print = hash('sha1', `${start}${canonical(block)}`, 'base64');
  extendedByBlock.set(block, { start, print });
  return print;
}

/** The fingerprint of the prefix up to and including each segment. */
export const fingerprints = rememberFor((segments: readonly Segment[]): readonly string[] => {
  let before = '';
  return segments.map(({ role, block }) => {
    before = extendFingerprint(before, role, block);
    return before;
  });
});

/** A block as text, whatever its key order, cache markers, null fields, and the file that a citation names. */
export const canonical: (block: Record<string, unknown>) => string = rememberFor((block) => {
  const isCitation = String((block as Block).type).endsWith('_location');
  const entries = Object.entries(block)
    .filter(([key, value]) => key !== 'cache_control' && value !== null && value !== undefined)
    .filter(([key]) => !(isCitation && key === 'file_id'))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const plain = (value: unknown): unknown => (isObject(value) ? canonical(value) : value);
  return JSON.stringify(entries.map(([key, value]) => [key, Array.isArray(value) ? value.map(plain) : value]));
});
