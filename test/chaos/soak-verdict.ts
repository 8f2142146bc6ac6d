/** Judges what a long run uses: what is flat must be flat, and what grows must grow by little, and for a reason. Pure. */
import type { Census, Family, Size } from './census.ts';
import type { Sample } from './sample.ts';

/** What a long run used, over time. */
export interface Use {
  samples: readonly Sample[];
  /** Before the first message, after the first few, in the middle, and when all was settled. */
  censuses: readonly Census[];
  chats: number;
}

/** The bounds that a long run is held to. */
export const BOUNDS = {
  /**
   * What is kept of a message in all: its conversation, its turn for an hour with its answer as text and as layout, its
   * update id, the ledger and the audit trail.
   */
  bytesPerMessage: 8_000,
  /** How much more a message of the second half may leave than one of the first. */
  shareOfHalves: 1.25,
  /** The keys of the shard itself, BullMQ's own log of its last 10,000 events included. */
  singleBytes: 4_000_000,
  /** How much more the gateway may use in the last third of the run than in the first. */
  shareOfMemory: 1.1,
  /** What the windows that it holds may take besides (`worker/session/held-window.ts`). */
  windowsMb: 32,
  shareOfHandles: 1.2,
  /** Samples before that are of a gateway that warms up. */
  warmUpSeconds: 20,
} as const;

/** An empty stream that was used once is that much larger than one that never was. */
const SLACK_BYTES = 512;

/** What grows although it should not. */
export function growing({ samples, censuses, chats }: Use): string[] {
  const [first, early, middle] = censuses;
  const last = censuses.at(-1);
  if (first === undefined || early === undefined || middle === undefined || last === undefined)
    return ['Redis was not looked at'];
  return [
    ...notBack(first, last),
    ...last.sizes.flatMap((size) => lastingTooLong(size, chats)),
    ...tooMuchKept(first, early, middle, last),
    ...gatewayGrowth(samples),
  ];
}

/** What belongs to messages under way is as large as before the first message. */
function notBack(first: Census, last: Census): string[] {
  return last.sizes
    .filter(({ family }) => family.purpose === 'under way')
    .flatMap(({ family, keys, bytes }) => {
      const before = first.sizes.find((size) => size.family.name === family.name);
      if (keys <= (before?.keys ?? 0) && bytes <= (before?.bytes ?? 0) + SLACK_BYTES) return [];
      return [
        `${family.name}: ${keys} keys of ${bytes} bytes are left, ${before?.keys ?? 0} of ${before?.bytes ?? 0} before`,
      ];
    });
}

/** A key without a TTL is of a family that lasts, and of sessions only those that a chat uses now. */
function lastingTooLong({ family, withoutTtl }: Size, chats: number): string[] {
  if (family.purpose === 'unknown') return [`${family.name}: nobody knows this key`];
  if (!family.lasts && withoutTtl > 0) return [`${family.name}: ${withoutTtl} keys have no TTL`];
  if (family.purpose === 'kept of a session' && withoutTtl > chats)
    return [`${family.name}: ${withoutTtl} keys have no TTL, and there are ${chats} chats`];
  return [];
}

function tooMuchKept(first: Census, early: Census, middle: Census, last: Census): string[] {
  const each = bytesPerMessage(first, last);
  const [before, after] = [bytesPerMessage(early, middle), bytesPerMessage(middle, last)];
  const single = bytesOf(last, isSingle);
  return [
    ...(each > BOUNDS.bytesPerMessage
      ? [`${each} bytes are kept of a message, more than ${BOUNDS.bytesPerMessage}`]
      : []),
    ...(after > before * BOUNDS.shareOfHalves
      ? [`a message of the second half leaves ${after} bytes, and one of the first ${before}`]
      : []),
    ...(single > BOUNDS.singleBytes ? [`the keys of the shard itself have ${single} bytes`] : []),
  ];
}

/** Bytes that a message left behind between two looks: of all that is kept of messages, or of what `which` names. */
export function bytesPerMessage(
  from: Census,
  to: Census,
  which = ({ family }: Size): boolean => isKept(family),
): number {
  return Math.round((bytesOf(to, which) - bytesOf(from, which)) / Math.max(1, to.settled - from.settled));
}

/** Whether it is kept of messages that are done. */
export const isKept = ({ purpose }: Family): boolean => purpose === 'kept' || purpose === 'kept of a session';

const isSingle = ({ family }: Size): boolean => family.purpose === 'single';

function bytesOf({ sizes }: Census, which: (size: Size) => boolean): number {
  return sizes.filter(which).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The last third of the run is held against the first, once the gateway is warm. */
function gatewayGrowth(samples: readonly Sample[]): string[] {
  const warm = samples.filter(({ seconds }) => seconds >= BOUNDS.warmUpSeconds);
  const third = Math.floor(warm.length / 3);
  if (third === 0) return ['the gateway was not looked at often enough'];
  const grown = (what: string, share: number, of: (sample: Sample) => number, more = 0): string[] => {
    const [before, after] = [mean(warm.slice(0, third).map(of)), mean(warm.slice(-third).map(of))];
    return after > before * share + more
      ? [`the gateway's ${what} went from ${before.toFixed(1)} to ${after.toFixed(1)}`]
      : [];
  };
  return [
    ...grown('memory (MB)', BOUNDS.shareOfMemory, ({ gatewayMb }) => gatewayMb, BOUNDS.windowsMb),
    ...grown('handles', BOUNDS.shareOfHandles, ({ gatewayHandles }) => gatewayHandles),
  ];
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
