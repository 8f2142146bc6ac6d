import { createHmac } from 'node:crypto';
import { clip } from '../../shared/base/text.ts';
import { wallOf, wallText } from '../../shared/base/wall-time.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Elsewhere, HeaderFacts, SelfEntered } from '../feature.ts';

const NAME_CHARS = 64;
const CODE_CHARS = 6;
/** A message that waited longer than this shows both times. */
const LATE_MS = 5 * 60_000;

/**
 * The line before a message: its time, and its author where several people share a chat. The log keeps it as written,
 * so no later request changes it. `by` says it of a message that the gateway entered itself, or answers elsewhere. Pure.
 */
export function headerOf(
  message: InboundMessage,
  facts: HeaderFacts,
  by?: Pick<SelfEntered, 'header'> | Pick<Elsewhere, 'writer'>,
): string {
  const { timeZone, code, nowMs } = facts;
  if (by && 'header' in by)
    return `[${code} ${timeIn(timeZone, message.sentAtMs)} ${timeZone}, ${by.header(message, facts)}]`;
  const sent = timeIn(timeZone, message.sentAtMs);
  const isLate = nowMs - message.sentAtMs > LATE_MS;
  const time = isLate ? `sent ${sent}, read ${timeIn(timeZone, nowMs)}` : sent;
  const { id, name } = message.from;
  const alone = message.chatType === 'private' ? '' : `, ${plainName(name)} (id ${id}) writes`;
  const writer = by ? `, ${by.writer(message)}` : alone;
  const own = `[${code} ${time} ${timeZone}${writer}${reference(message)}]`;
  const quoted = message.answers === undefined ? [] : marked(message.answers.text);
  return [...before(message, code), own, ...quoted].join('\n');
}

/** The remarks that were made here and not to the bot, each on lines of its own. */
function before({ overheard = [] }: InboundMessage, code: string): string[] {
  if (overheard.length === 0) return [];
  const lines = overheard.flatMap(({ by, text }) => marked(`${plainName(by)}: ${text}`));
  return [`[${code} before that, this was said here and not to you:]`, ...lines];
}

function reference({ answers, forwardedFrom }: InboundMessage): string {
  const forwarded = forwardedFrom === undefined ? '' : `, forwarded from ${plainName(forwardedFrom)}`;
  if (answers === undefined) return forwarded;
  const whose = answers.isOurs ? 'your own message' : `a message of ${plainName(answers.by)}`;
  return `${forwarded}, in answer to ${whose}, of which ${answers.isQuote ? 'this part is quoted' : 'this is the beginning'}:`;
}

/** The words of somebody else, marked on each line so that they can be mistaken for nothing else. */
function marked(text: string): string[] {
  return text.split('\n').map((line) => `> ${line}`);
}

/**
 * The code of the lines that the gateway adds to a message. It cannot be guessed without the secret, and no text in the
 * message is newer than the entry that it is made of, so nothing in it can hold the code, whatever became known of earlier
 * ones. Messages that are answered together are shown with the code of the first: see `spoken`.
 */
export function messageCode(secret: string, entry: EntryId): string {
  const digest = createHmac('sha256', secret).update(entry).digest('base64url');
  return `#${digest.slice(0, CODE_CHARS)}`;
}

const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long', timeZone: 'UTC' });

/** "Sunday 2026-11-22 15:20". */
export function timeIn(timeZone: string, ms: number): string {
  const wallMs = wallOf(ms, timeZone);
  return `${WEEKDAY.format(wallMs)} ${wallText(wallMs)}`;
}

/** A name within quotes within our brackets, on one line: nothing in it can close either. */
export function plainName(name: string | undefined): string {
  const plain = (name ?? '')
    .toWellFormed()
    .replace(/[\s[\]"“”\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return plain === '' ? 'somebody' : `"${clip(plain, NAME_CHARS)}"`;
}
