import { createHmac } from 'node:crypto';
import { clip } from '../../shared/base/text.ts';
import { wallOf, wallText } from '../../shared/base/wall-time.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Elsewhere, HeaderFacts, SelfEntered } from '../feature.ts';

const NAME_CHARS = 64;
const CODE_CHARS = 6;
/** If a message waited longer than this, its header states when it was sent and when it was read. */
const LATE_MS = 5 * 60_000;

/**
 * The gateway's lines before a message: earlier messages of the chat that were not for the bot; then a line with the time, the
 * author if several people share the chat, and the origin of a forwarded message; then, for an answer, a quotation of the
 * message answered. The log stores the lines, so they are the same in all later requests. `by` is for a summons, to name its
 * author, or for a message that a feature added, e.g. a reminder: only the time and the feature's text come before it. Pure.
 */
export function headerOf(
  message: InboundMessage,
  facts: HeaderFacts,
  by?: Pick<SelfEntered, 'header'> | Pick<Elsewhere, 'writer'>,
): string {
  const { timeZone, code, nowMs } = facts;
  if (by && 'header' in by)
    return `[${code} ${timeIn(timeZone, message.sentAtMs)} ${timeZone}, ${by.header(message, facts)}]`;
  const sentTime = timeIn(timeZone, message.sentAtMs);
  const isLate = nowMs - message.sentAtMs > LATE_MS;
  const time = isLate ? `sent ${sentTime}, read ${timeIn(timeZone, nowMs)}` : sentTime;
  const { id, name } = message.from;
  const groupAuthor = message.chatType === 'private' ? '' : `, ${plainName(name)} (id ${id}) writes`;
  const writer = by ? `, ${by.writer(message)}` : groupAuthor;
  const headerLine = `[${code} ${time} ${timeZone}${writer}${reference(message)}]`;
  const quoteLines = message.answers === undefined ? [] : markLines(message.answers.text);
  return [...overheardLines(message, code), headerLine, ...quoteLines].join('\n');
}

/** The lines that quote earlier messages of the chat that were not for the bot; none without such messages. */
function overheardLines({ overheard = [] }: InboundMessage, code: string): string[] {
  if (overheard.length === 0) return [];
  const lines = overheard.flatMap(({ by, text }) => markLines(`${plainName(by)}: ${text}`));
  return [`[${code} before that, this was said here and not to you:]`, ...lines];
}

function reference({ answers, forwardedFrom }: InboundMessage): string {
  const origin = forwardedFrom === undefined ? '' : `, forwarded from ${plainName(forwardedFrom)}`;
  if (answers === undefined) return origin;
  const whose = answers.isOurs ? 'your own message' : `a message of ${plainName(answers.by)}`;
  return `${origin}, in answer to ${whose}, of which ${answers.isQuote ? 'this part is quoted' : 'this is the beginning'}:`;
}

/** Quotes a text: each line begins with `> `, so that no line can pass for one of the gateway's own lines. */
function markLines(text: string): string[] {
  return text.split('\n').map((line) => `> ${line}`);
}

/**
 * The code that marks the lines which the gateway adds to a message, so that a user cannot imitate them. Nobody can guess
 * the code without the secret, and it depends on the entry id, which is assigned only after the user has sent the text. In a
 * request, messages that are answered together all have the code of the first message.
 */
export function messageCode(secret: string, entry: EntryId): string {
  const digest = createHmac('sha256', secret).update(entry).digest('base64url');
  return `#${digest.slice(0, CODE_CHARS)}`;
}

const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long', timeZone: 'UTC' });

/** The day and the time in a time zone, such as "Sunday 2026-11-22 15:20". */
export function timeIn(timeZone: string, ms: number): string {
  const wallMs = wallOf(ms, timeZone);
  return `${WEEKDAY.format(wallMs)} ${wallText(wallMs)}`;
}

/** A name in quotation marks, on one line, without quotation marks or brackets of its own; `somebody` for an empty name. */
export function plainName(name: string | undefined): string {
  const plain = (name ?? '')
    .toWellFormed()
    .replace(/[\s[\]"“”\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return plain === '' ? 'somebody' : `"${clip(plain, NAME_CHARS)}"`;
}
