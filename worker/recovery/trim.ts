import { clipMiddle } from '../../shared/base/text.ts';
import type { Verdict } from '../lane/verdict.ts';
import { documentNameIn } from '../media/attachment.ts';
import { readPdfPages } from '../media/decoding.ts';
import { labelWithRef } from '../media/label.ts';
import { nameInBrackets } from '../model/block.ts';
import { estimateContent } from '../model/estimate.ts';
import { asShown } from '../session/overlay.ts';
import { resultText, textOf, type UserRecord } from '../session/record.ts';
import { changesOfStep, type FailedCall } from './effects.ts';
import { learnLimit } from './learnt-limit.ts';
import { storeParts } from './leave-out.ts';
import { limitFromCall } from './observe.ts';
import { containsMedia, type Part, type Place, partOf, placesIn, replacementFor } from './parts.ts';

/** A trimmed part. `notice` tells the person about a trimmed text or document; absent for a tool result and a picture. */
interface TrimResult {
  part: Part;
  notice?: string;
}

const TEXT_CHARS_MIN = 300;
/** The largest plausible factor between the endpoint's count of a request and ours. */
const COUNT_FACTOR_MAX = 2;
const CHARS_PER_TOKEN = 4;

/**
 * Trims the newest round to about `tokens`, and lets the message run again. Cuts the middle out of long texts and results,
 * replaces a document with the text of its leading pages, and omits pictures. A note in each place says how `recall` shows the
 * original. The session stores the cuts, so that later requests begin with the same bytes. Returns `undefined` if there is
 * nothing to cut.
 */
export async function trimRound(call: FailedCall, tokens: number): Promise<Verdict | undefined> {
  const { turn, loadedSession, roundTokens } = call;
  const round = loadedSession.window.records.findLast((record) => record.t === 'user');
  const visibleRound = asShown(loadedSession.window.records).findLast((record) => record.t === 'user');
  if (round?.t !== 'user' || visibleRound?.t !== 'user') return undefined;
  // `trim` uses plain estimates, without the factor that turns them into the model's tokens.
  const estimatedPerToken = estimateContent(visibleRound.content) / Math.max(1, roundTokens);
  // A round that was trimmed before is trimmed again from its original.
  const excesses = trim(round, (tokens * estimatedPerToken) / countFactor(call));
  const results = await Promise.all(excesses.map((excess) => trimPart(call, excess)));
  if (results.length === 0) return undefined;
  const notices = results.flatMap(({ notice }) => notice ?? []);
  const parts = results.map(({ part }) => part);
  const limit = learnLimit(turn, call.turn.env.settings, limitFromCall(call.turn.env.settings, call));
  const reading = notices.length > 0 ? [turn.notifyReading(notices)] : [];
  const effects = [...reading, ...changesOfStep(call, 'trim'), ...limit];
  await storeParts(call, parts, effects, 'shorten');
  return { kind: 'again' };
}

/** The factor by which the endpoint's count of the request exceeds ours, within bounds; 1 if the endpoint states no count. */
function countFactor({ failure: { observedTokens, reason }, sentTokens }: FailedCall): number {
  if (observedTokens === undefined || reason.startsWith('counted_')) return 1;
  return Math.min(COUNT_FACTOR_MAX, Math.max(1, observedTokens / Math.max(1, sentTokens)));
}

async function trimPart(call: FailedCall, { place, tokens, share }: Excess): Promise<TrimResult> {
  const { block } = place;
  if (block.type === 'document') return trimDocument(call, place, share);
  const text = block.type === 'tool_result' ? resultText(block.content) : textOf([block]);
  if (block.type === 'image' || text === '') return { part: partOf(place, `[${labelWithRef(block)}, left out]`) };
  const keptChars = Math.max(TEXT_CHARS_MIN, Math.floor((text.length * share) / tokens));
  const ref = await call.turn.env.media.keep(call.turn.currentChat, Buffer.from(text));
  const marker = `the middle left out; the tool "recall" reads it with {"ref":"${ref}"}`;
  const replacement = containsMedia(block)
    ? replacementFor(block, keptChars, marker)
    : clipMiddle(text, keptChars, marker);
  const part = partOf(place, replacement);
  if (block.type === 'tool_result') return { part };
  const percent = Math.max(1, Math.floor((keptChars / text.length) * 100));
  return { part, notice: call.turn.texts.shortenedText(documentNameIn(text), percent) };
}

/** Replaces a document with the text of its leading pages, since text costs less than pages; without text, with a note. */
async function trimDocument({ turn }: FailedCall, place: Place, share: number): Promise<TrimResult> {
  const { currentChat, texts, env } = turn;
  const { block } = place;
  const { sha256, pages: statedPages } = (block.source ?? {}) as Partial<Record<string, unknown>>;
  const allPages = Number(statedPages ?? 1);
  const bytes = typeof sha256 === 'string' ? (await env.media.load(currentChat, [sha256])).get(sha256) : undefined;
  const reading = bytes && (await readPdfPages(bytes, Math.floor(share * CHARS_PER_TOKEN)));
  const pages = reading?.ok ? reading.texts : [];
  const name = typeof block.title === 'string' ? nameInBrackets(block.title) : undefined;
  const label = labelWithRef(block);
  if (pages.every((page) => page === ''))
    return {
      part: partOf(place, `[${label}: too large to be shown, and no text could be read from its pages]`),
      notice: texts.pagesWithoutText(name),
    };
  const replacement = [
    `[${label}: too large to be shown; here is the text of pages 1 to ${pages.length}]`,
    ...pages.map((page, index) => `[page ${index + 1}]\n${page}`),
  ].join('\n');
  return { part: partOf(place, replacement), notice: texts.shortenedPages(name, pages.length, allPages) };
}

/** A part of a round that takes more than its share of the room, in estimated tokens. */
interface Excess {
  place: Place;
  tokens: number;
  /** The tokens that the part may take. */
  share: number;
}

/**
 * Divides room among the parts of a round (a message with its files, or a batch of tool results), and returns the parts that
 * exceed their share. Small parts stay whole, and the large parts get equal shares of the remaining room. `tokens` is the
 * room in estimated tokens. Pure.
 */
export function trim(round: UserRecord, tokens: number): Excess[] {
  const parts = placesIn(round)
    .map((place) => ({ place, tokens: estimateContent([place.block]) }))
    .sort((a, b) => a.tokens - b.tokens);
  let restTokens = tokens;
  return parts.flatMap((part, at) => {
    const share = Math.max(0, Math.floor(restTokens / (parts.length - at)));
    restTokens -= Math.min(part.tokens, share);
    return part.tokens > share ? [{ ...part, share }] : [];
  });
}
