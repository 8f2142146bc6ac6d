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

/** A block with pictures in a message or a tool result. The replacement has the block's texts, and labels instead of files. */
type PictureBlock = Part & { pictures: number };

/** An omission leaves at most this share of the limit filled, so that many new pictures fit before the next omission. */
const REST_SHARE = 0.8;

/**
 * Returns the session with no more pictures than the model accepts. Omits the oldest pictures for good, and many at once,
 * because each omission invalidates the cached prefix of the conversation.
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function omitOldPictures(
  turn: Turn<Env>,
  loadedSession: LoadedSession,
  windowTokens: number,
): Promise<LoadedSession> {
  const { records } = loadedSession.window;
  const picturesMax = imagesMax(windowTokens);
  const omissions = oldestPictures(asShown(records), picturesMax);
  if (omissions.length === 0) return loadedSession;
  const changes: LogRecord[] = [...omissions.map(scrubOf), ...thinkingTrim(turn.env, records)];
  const bytes = omissions.reduce((sum, each) => sum + each.bytes, 0);
  await commit(turn, {
    step: '',
    changes: append(turn.keys, turn.session, changes),
    events: [{ event: 'context.scrubbed', action: 'scrub', kind: 'pictures', parts: omissions.length, bytes }],
  });
  return changes.reduce(withRecord, loadedSession);
}

/** The blocks with the oldest pictures to omit, so that the rest fills at most `REST_SHARE` of the limit; none if all fit. */
function oldestPictures(records: readonly LogRecord[], picturesMax: number): PictureBlock[] {
  const pictureBlocks = records.flatMap(pictureBlocksIn);
  let excess = pictureBlocks.reduce((sum, { pictures }) => sum + pictures, 0);
  if (excess <= picturesMax) return [];
  excess -= Math.floor(picturesMax * REST_SHARE);
  const omissions: PictureBlock[] = [];
  for (const block of pictureBlocks) {
    if (excess <= 0) break;
    omissions.push(block);
    excess -= block.pictures;
  }
  return omissions;
}

function pictureBlocksIn(record: LogRecord): PictureBlock[] {
  if (record.t !== 'user') return [];
  return placesIn(record).flatMap((place) => {
    const blocks = blocksIn(place.block);
    const pictures = blocks.filter(({ type }) => type === 'image').length;
    return pictures === 0 ? [] : [{ ...partOf(place, blocks.map(describe).join('\n')), pictures }];
  });
}

function describe(block: Block): string {
  return block.type === 'text' ? String(block.text) : `[${labelWithRef(block)}]`;
}
