import { clipMiddle } from '../../shared/base/text.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import type { Attempt } from '../lane/attempt.ts';
import { documentNameIn } from '../media/attachment.ts';
import { readPdfPages } from '../media/decoding.ts';
import { labelOf } from '../media/label.ts';
import { type Block, nameInBrackets, textBlock } from '../model/block.ts';
import { roomOf } from '../model/count.ts';
import { estimateContent, PER_PDF_PAGE_TOKENS } from '../model/estimate.ts';
import { asShown } from '../session/overlay.ts';
import { startsTurn, type UserRecord } from '../session/record.ts';
import type { Overflow, RecoverPorts, Recovery } from './effects.ts';
import type { LearntLimit } from './learnt-limit.ts';
import type { Part } from './oversized.ts';
import { storeScrubs } from './scrub.ts';

/** A part of a message in fewer tokens, and what its sender is told of it. */
interface Shortened extends Part {
  notice: string;
}

/** How often a message may be shortened: our count may be off. */
const SHORTENINGS_MAX = 2;
/** A message that takes less than this of the usable window is not what makes a request too long. */
const LARGE_SHARE = 0.25;
/** However long the conversation is, a message may take this much of the usable window. */
const LEAST_SHARE = 0.3;
/** Our estimate of a text may be off by so much. */
const MARGIN = 0.9;
const TEXT_CHARS_MIN = 300;
/** A count that differs more is not of this request. */
const COUNT_FACTOR_MAX = 2;
const CHARS_PER_TOKEN = 4;

/** Whether a message, with what every request holds, exceeds the usable window even without any conversation. */
export function isAloneTooLarge(overflow: Overflow, usableTokens: number): boolean {
  const { messageTokens, fixedTokens } = overflow;
  return (messageTokens + fixedTokens) * countFactor(overflow) > usableTokens;
}

/** Whether a message takes so much of the window that shortening it may spare the conversation. */
export function isLarge(overflow: Overflow, usableTokens: number): boolean {
  return overflow.messageTokens * countFactor(overflow) >= usableTokens * LARGE_SHARE;
}

/** How much more the endpoint counts of the request than we do, where it says so. */
function countFactor({ failure: { observedTokens, reason }, sentTokens }: Overflow): number {
  if (observedTokens === undefined || reason.startsWith('counted_')) return 1;
  return Math.min(COUNT_FACTOR_MAX, Math.max(1, observedTokens / Math.max(1, sentTokens)));
}

/**
 * Shortens the newest message so that the conversation can stay whole: of a text the beginning and the end are shown, of
 * a PDF the text of the pages that fit. Its sender reads which file it was and how much of it was read. Returns nothing
 * when there is nothing to shorten. Contract: throws `FencedError`, or what Redis and the blob store throw.
 */
export async function shortenMessage(
  ports: RecoverPorts,
  overflow: Overflow,
  { limitTokens }: LearntLimit,
): Promise<Recovery | undefined> {
  const { attempt, opened, sentTokens, messageTokens, fixedTokens } = overflow;
  if (attempt.turn.tried.filter((kind) => kind === 'shortened').length >= SHORTENINGS_MAX) return undefined;
  const shown = asShown(opened.window.records).findLast(startsTurn);
  const record = opened.window.records.find(({ id }) => id === shown?.id);
  if (shown?.t !== 'user' || record?.t !== 'user') return undefined;
  const factor = countFactor(overflow);
  const { usableTokens } = roomOf(limitTokens, ports.settings);
  const conversationTokens = Math.max(0, sentTokens - messageTokens - fixedTokens);
  const least = usableTokens * LEAST_SHARE;
  const wanted = Math.max(least, usableTokens - (fixedTokens + conversationTokens) * factor) * MARGIN;
  // What was shortened before is shortened anew, from the whole of it.
  const shownShare = estimateContent(shown.content) / Math.max(1, estimateContent(record.content));
  const share = Math.min(1, wanted / (messageTokens * factor)) * Math.min(1, shownShare);
  const parts = await shortenedParts(ports, attempt, record, share);
  if (parts.length === 0) return undefined;
  const told = attempt.turn.notifyReading(parts.map(({ notice }) => notice));
  // It has a bound of its own, and must not use up the one of the stages.
  const unbound = attempt.turn.freeRecovery();
  const effects = [told, ...attempt.turn.enter(attempt.stage), unbound, attempt.turn.noteTried('shortened')];
  await storeScrubs(ports, overflow, parts, effects, 'shorten');
  return { kind: 'again' };
}

async function shortenedParts(
  ports: RecoverPorts,
  attempt: Pick<Attempt, 'texts' | 'home'>,
  record: UserRecord,
  share: number,
): Promise<Shortened[]> {
  const { texts } = attempt;
  if (typeof record.content === 'string') return shortenedText(texts, record, textBlock(record.content), share);
  const parts = record.content.map(async (block, at) => {
    if (block.type === 'text') return shortenedText(texts, record, block, share, at);
    return block.type === 'document' ? [await shortenedPdf(ports, attempt, record, block, share, at)] : [];
  });
  return (await Promise.all(parts)).flat();
}

function shortenedText(texts: Texts, record: UserRecord, block: Block, share: number, at?: number): Shortened[] {
  const text = typeof block.text === 'string' ? block.text : '';
  const keptChars = Math.max(TEXT_CHARS_MIN, Math.floor(text.length * share));
  if (keptChars >= text.length) return [];
  const percent = Math.max(1, Math.floor((keptChars / text.length) * 100));
  const notice = texts.shortenedText(documentNameIn(text), percent);
  return [partOf(record, at, text.length, clipMiddle(text, keptChars), notice)];
}

/** The pages become text, which takes less than their pictures do. */
async function shortenedPdf(
  { store }: RecoverPorts,
  { texts, home }: Pick<Attempt, 'texts' | 'home'>,
  record: UserRecord,
  block: Block,
  share: number,
  at: number,
): Promise<Shortened> {
  const { sha256, pages: stated, bytes: size } = (block.source ?? {}) as Partial<Record<string, unknown>>;
  const allPages = Number(stated ?? 1);
  const charsMax = Math.floor(allPages * PER_PDF_PAGE_TOKENS * share * CHARS_PER_TOKEN);
  const bytes = typeof sha256 === 'string' ? (await store.media.load(home, [sha256])).get(sha256) : undefined;
  const reading = bytes && (await readPdfPages(bytes, charsMax));
  const pages = reading?.ok ? reading.texts : [];
  const name = typeof block.title === 'string' ? nameInBrackets(block.title) : undefined;
  const hasText = pages.some((page) => page !== '');
  const instead = hasText
    ? [
        `[${labelOf(block)}: too large to be shown; here is the text of pages 1 to ${pages.length}]`,
        ...pages.map((page, index) => `[page ${index + 1}]\n${page}`),
      ].join('\n')
    : `[${labelOf(block)}: too large to be shown, and no text could be read from its pages]`;
  const notice = hasText ? texts.shortenedPages(name, pages.length, allPages) : texts.pagesWithoutText(name);
  return partOf(record, at, Number(size ?? 0), instead, notice);
}

function partOf(
  record: UserRecord,
  block: number | undefined,
  bytes: number,
  instead: string,
  notice: string,
): Shortened {
  return { record, ...(block !== undefined && { block }), bytes, instead, name: '', notice };
}
