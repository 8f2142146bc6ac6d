import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import { labelWithRef } from '../media/label.ts';
import type { Block } from '../model/block.ts';
import { imagesMax } from '../model/rules/media.ts';
import { thinkingTrim } from '../recovery/leave-out.ts';
import { blocksIn, type Part, partOf, placesIn } from '../recovery/parts.ts';
import { type LoadedSession, withRecord } from '../session/held-window.ts';
import { asShown, scrubOf } from '../session/overlay.ts';
import type { LogRecord } from '../session/record.ts';
import { append } from '../session/store.ts';

/** A block of the log that holds pictures, with all of its words and the names of its pictures as the replacement. */
type Holder = Part & { pictures: number };

/** The share of the most pictures that stays: the rest is room for a batch, so that a prefix is seldom rewritten. */
const LEFT_SHARE = 0.8;

/**
 * The session before a call, with at most as many pictures as the model takes. What is too much is left out for good, the
 * oldest first and many at once: left out of the request alone, the oldest would go one by one, and each would change the
 * beginning of the conversation. Contract: throws `FencedError`, or what Redis throws.
 */
export async function leaveOutOldPictures(
  turn: Turn<Env>,
  loadedSession: LoadedSession,
  windowTokens: number,
): Promise<LoadedSession> {
  const { env } = turn;
  const { records } = loadedSession.window;
  const most = imagesMax(windowTokens);
  const left = oldestPictures(asShown(records), most);
  if (left.length === 0) return loadedSession;
  const changes: LogRecord[] = [...left.map(scrubOf), ...thinkingTrim(env, records)];
  const bytes = left.reduce((sum, each) => sum + each.bytes, 0);
  await commit(turn, {
    step: '',
    changes: append(turn.keys, turn.session, changes),
    events: [{ event: 'context.scrubbed', action: 'scrub', kind: 'pictures', parts: left.length, bytes }],
  });
  return changes.reduce(withRecord, loadedSession);
}

/** The oldest pictures that have to go so that a batch more fits; none where all fit. Pure. */
function oldestPictures(shown: readonly LogRecord[], most: number): Holder[] {
  const holders = shown.flatMap(holdersIn);
  let excess = holders.reduce((sum, { pictures }) => sum + pictures, 0);
  if (excess <= most) return [];
  excess -= Math.floor(most * LEFT_SHARE);
  const left: Holder[] = [];
  for (const holder of holders) {
    if (excess <= 0) break;
    left.push(holder);
    excess -= holder.pictures;
  }
  return left;
}

function holdersIn(record: LogRecord): Holder[] {
  if (record.t !== 'user') return [];
  return placesIn(record).flatMap((place) => {
    const inside = blocksIn(place.block);
    const pictures = inside.filter(({ type }) => type === 'image').length;
    return pictures === 0 ? [] : [{ ...partOf(place, inside.map(inWords).join('\n')), pictures }];
  });
}

function inWords(block: Block): string {
  return block.type === 'text' ? String(block.text) : `[${labelWithRef(block)}]`;
}
