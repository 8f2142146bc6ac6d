import { hash } from 'node:crypto';
import { type Block, blocksOf, isObject, type MessagesRequest, nestedBlocks } from './request.ts';

/** How long a cache entry lives. */
export type Lifetime = '5m' | '1h';

/**
 * One step of the request's prefix, in the order in which the API reads it: tools, system prompt, then the
 * blocks of the messages. Prompt caching and bound thinking both look at such prefixes.
 */
export interface Segment {
  readonly role: string;
  readonly block: Record<string, unknown>;
  /** The index of the message, -1 for tools and system prompt. */
  readonly messageIndex: number;
  /** The index of the block in its message, tool list or system prompt. */
  readonly blockIndex: number;
  readonly breakpoint: boolean;
  /** How long what ends at this breakpoint is kept. */
  readonly lifetime?: Lifetime;
}

/** The cache marker of a block, or of what is nested in it. */
function markerOf(block: Record<string, unknown>): Record<string, unknown> | undefined {
  const holders = [block, ...nestedBlocks(block as Block)];
  return holders.map(({ cache_control }) => cache_control).findLast(isObject);
}

const breakpointOf = (marker: Record<string, unknown> | undefined): Pick<Segment, 'breakpoint' | 'lifetime'> =>
  marker === undefined ? { breakpoint: false } : { breakpoint: true, lifetime: marker.ttl === '1h' ? '1h' : '5m' };

/** Several rules look at the prefixes of one request, which nothing changes once it has arrived. */
const segmentsByRequest = new WeakMap<MessagesRequest, readonly Segment[]>();
const printsBySegments = new WeakMap<readonly Segment[], readonly string[]>();

/** Splits a request into its segments. A top-level `cache_control` marks the last of them. */
export function segmentsOf(request: MessagesRequest): readonly Segment[] {
  const segments = segmentsByRequest.get(request) ?? split(request);
  segmentsByRequest.set(request, segments);
  return segments;
}

function split(request: MessagesRequest): readonly Segment[] {
  const part = (role: string, messageIndex: number) => (block: Record<string, unknown>, blockIndex: number) => ({
    role,
    block,
    messageIndex,
    blockIndex,
    ...breakpointOf(markerOf(block)),
  });
  const segments: Segment[] = [
    ...(request.tools ?? []).map(part('tools', -1)),
    ...blocksOf(request.system ?? []).map(part('system', -1)),
    ...request.messages.flatMap((message, index) => blocksOf(message.content).map(part(message.role, index))),
  ];
  const last = segments.at(-1);
  if (last !== undefined && isObject(request.cache_control))
    segments[segments.length - 1] = { ...last, ...breakpointOf(request.cache_control) };
  return segments;
}

interface Extended {
  readonly start: string;
  readonly print: string;
}

/** Whoever sends the same blocks again, after the same prefix, needs no new hash. */
const extendedByBlock = new WeakMap<Record<string, unknown>, Extended>();

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
export function fingerprints(segments: readonly Segment[]): readonly string[] {
  let before = '';
  const prints =
    printsBySegments.get(segments) ??
    segments.map(({ role, block }) => {
      before = extendFingerprint(before, role, block);
      return before;
    });
  printsBySegments.set(segments, prints);
  return prints;
}

const canonicalByBlock = new WeakMap<Record<string, unknown>, string>();

/**
 * A block as text that does not depend on key order, cache markers, null fields, or the file that a citation names,
 * which is never sent back. The block may not change any more.
 */
export function canonical(block: Record<string, unknown>): string {
  const text = canonicalByBlock.get(block) ?? writeCanonical(block);
  canonicalByBlock.set(block, text);
  return text;
}

function writeCanonical(block: Record<string, unknown>): string {
  const isCitation = String(block.type).endsWith('_location');
  const kept = Object.entries(block)
    .filter(([key, value]) => key !== 'cache_control' && value !== null && value !== undefined)
    .filter(([key]) => !(isCitation && key === 'file_id'))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(
    kept.map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map((each) => (isObject(each) ? canonical(each) : each)) : value,
    ]),
  );
}
