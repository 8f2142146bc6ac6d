import { z } from 'zod';
import { jsonValue } from '../base/fields.ts';
import { chatKey, commandLaneOf, deskLaneOf, type EntryId, type LaneKey, summonsKey } from '../redis/keys.ts';
import { commandOf, laneOfCommand } from '../telegram/commands.ts';

/** How a message ended. Every accepted message gets exactly one of these, and the user or the operator is notified. */
export type Outcome = 'answered' | 'command' | 'merged' | 'refused' | 'cancelled' | 'failed' | 'undeliverable';

const sender = z.object({
  id: z.int(),
  name: z.string().optional(),
  /** Somebody in an allowed group who is not on the allow list as a person, or in a chat that the bot is not part of. */
  isGuest: z.literal(true).optional(),
  /** An operator, in the chat of alerts, who does there what only operators do. */
  isOperator: z.literal(true).optional(),
  /** The language of the person's app, as a code of IETF's kind. */
  language: z.string().optional(),
});

/** A file that Telegram stores for us. What its sender states about it may be wrong. */
const file = z.object({
  what: z.enum(['photo', 'document']),
  fileId: z.string().min(1),
  name: z.string().optional(),
  mediaType: z.string().optional(),
  bytes: z.int().positive().optional(),
  /** The kind of media that it is only the thumbnail of, such as a `video`; that itself cannot be shown. */
  thumbnailOf: z
    .object({ what: z.string(), seconds: z.int().positive().optional(), name: z.string().optional() })
    .optional(),
});

/** Something in which somebody may speak, which Telegram stores for us. */
const repeat = z.union([z.object({ cron: z.string() }), z.object({ everyMinutes: z.int() })]);

const sound = z.object({
  /** Its kind, where the message does not say it: `voice`, `audio` or `video_note`. */
  kind: z.string().optional(),
  fileId: z.string().min(1),
  name: z.string().optional(),
  mediaType: z.string().optional(),
  bytes: z.int().positive().optional(),
  seconds: z.int().positive().optional(),
});

/** Telegram's are far shorter. */
const QUERY_ID_CHARS_MAX = 256;
/** A message of a later version is left to a worker that knows that version. */
const VERSION = 3;
/** The versions of messages that a worker of an earlier version cannot read: it then leaves them alone. */
const VERSION_OF_REMINDERS = 2;
export const VERSION_OF_SUMMONS = 3;

const schema = z
  .object({
    v: z.union([z.literal(1), z.literal(VERSION_OF_REMINDERS), z.literal(VERSION_OF_SUMMONS)]),
    updateId: z.int(),
    chatId: z.int(),
    topicId: z.int().optional(),
    chatType: z.enum(['private', 'group', 'supergroup', 'channel']),
    chatTitle: z.string().optional(),
    messageId: z.int(),
    from: sender,
    /** When Telegram got it, in ms since the epoch. */
    sentAtMs: z.int(),
    /** Telegram sends the files of an album one by one, each with the album's id. */
    album: z.string().min(1).optional(),
    /**
     * The message that this one answers: whose it was, its words, or those of them that were picked as a quote, and its
     * picture or file.
     */
    answers: z
      .object({
        by: z.string().optional(),
        isOurs: z.literal(true).optional(),
        isQuote: z.literal(true).optional(),
        text: z.string().min(1),
        file: file.optional(),
      })
      .optional(),
    /** The remarks in its group before it that were not made to the bot; oldest first. */
    overheard: z.array(z.object({ by: z.string(), text: z.string() })).optional(),
    /** The message of ours whose button gave this command. */
    pressed: z.int().optional(),
    /**
     * Somebody called the bot in a chat that it is not part of (Telegram's guest mode), where it has one answer. `chatId`
     * is then the person's own chat, in which nothing of this is said; all else is of the other chat.
     */
    summons: z.object({ chatId: z.int(), queryId: z.string().min(1).max(QUERY_ID_CHARS_MAX) }).optional(),
    /** Who wrote it first, where it was forwarded. */
    forwardedFrom: z.string().optional(),
    content: z.discriminatedUnion('kind', [
      /** The files and the recording of a rich message are named in its text, too: an earlier worker reads that alone. */
      z.object({
        kind: z.literal('text'),
        text: z.string().min(1),
        files: z.array(file).optional(),
        sound: sound.optional(),
      }),
      /** A photo or a file, with its caption, which may be empty. It is downloaded only when it is answered. */
      z.object({ kind: z.literal('file'), text: z.string(), file, sound: sound.optional() }),
      /**
       * A message of a kind that cannot be read, e.g. `story`; it is accepted so that the user is notified. With a
       * sound it can be heard, where there is an endpoint for that.
       */
      z.object({
        kind: z.literal('unsupported'),
        what: z.string(),
        text: z.string().optional(),
        sound: sound.optional(),
      }),
      /** A reminder that is due, which the model set while it answered the message `messageId` of `from`. */
      z.object({
        kind: z.literal('reminder'),
        id: z.string().min(1),
        text: z.string().min(1),
        dueAtMs: z.int(),
        /** How that message began. */
        answering: z.string().optional(),
        /** It became a message well after its time. */
        isLate: z.literal(true).optional(),
        /** Absent for a reminder that comes once, and in what an earlier version entered. */
        repeats: z.object({ firstMs: z.int(), timeZone: z.string(), repeat }).optional(),
      }),
    ]),
  })
  .refine(({ v, content }) => content.kind !== 'reminder' || v === VERSION_OF_REMINDERS, 'a reminder of version 1')
  .refine(({ v, summons }) => (v === VERSION_OF_SUMMONS) === (summons !== undefined), 'a summons of another version');

/** An update that was accepted, normalised. Versioned: a reader refuses a version that it does not know. */
export type InboundMessage = Readonly<z.infer<typeof schema>>;

/** A reminder that is due. */
export type DueReminder = Extract<InboundMessage['content'], { kind: 'reminder' }>;

/** A photo or a file that a message brings. */
export type InboundFile = Readonly<z.infer<typeof file>>;

/** Something in which somebody may speak. */
export type Sound = Readonly<z.infer<typeof sound>>;

/** The result of decoding. `problem` names the field and what was expected, never the content. */
export type Decoded<T> =
  | { ok: true; value: T }
  /** `isNewer`: written by a newer version, which may be running side by side with this one. */
  | { ok: false; problem: string; isNewer?: boolean };

/**
 * The command that a message gives, in its text or its caption. What somebody else wrote, and was forwarded, is none, nor is
 * a summons. Pure.
 */
export function commandIn({
  content,
  forwardedFrom,
  summons,
}: Pick<InboundMessage, 'content' | 'forwardedFrom' | 'summons'>) {
  const isOwn = !isSelfEntered({ content }) && forwardedFrom === undefined && summons === undefined;
  return isOwn ? commandOf(content.text ?? '') : undefined;
}

/**
 * The lane that a message belongs to: that of its chat, unless it is a command that does not wait for what is answered.
 */
export function laneOf(message: InboundMessage): LaneKey {
  if (message.summons) return summonsKey(message.from.id, message.summons.chatId);
  const chat = chatKey(message.chatId, message.topicId);
  const command = commandIn(message);
  const lane = command === undefined ? 'chat' : laneOfCommand(command);
  return { chat, commands: commandLaneOf(chat), desk: deskLaneOf(chat) }[lane];
}

/** A message that its own reader would refuse: it must not get onto the stream, and a retry would not help. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';
}

/** Serialises a message for the stream. Throws `UnreadableMessageError` rather than write an unreadable message. */
export function encodeMessage(message: InboundMessage): string {
  const parsed = schema.safeParse(message);
  if (parsed.success) return JSON.stringify(parsed.data);
  const [issue] = parsed.error.issues;
  throw new UnreadableMessageError(`${issue?.path.join('.') || 'message'}: ${issue?.message ?? 'malformed'}`);
}

/** Reads a message back from the stream. Never throws. */
export function decodeMessage(text: string | undefined): Decoded<InboundMessage> {
  if (text === undefined) return { ok: false, problem: 'the entry has no message field' };
  const raw = jsonValue(text);
  if (raw === undefined) return { ok: false, problem: 'the message is not JSON' };
  const parsed = schema.safeParse(raw);
  if (parsed.success) return { ok: true, value: parsed.data };
  const [issue] = parsed.error.issues;
  const problem = `${issue?.path.join('.') || 'message'}: ${issue?.message ?? 'malformed'}`;
  const { v } = (raw ?? {}) as { v?: unknown };
  return { ok: false, problem, ...(typeof v === 'number' && v > VERSION && { isNewer: true }) };
}

/** Where a message came from, in words: the "channel" that a seed names. */
export function channelOf(message: InboundMessage): string {
  const place = message.chatType === 'private' ? 'private chat' : message.chatType;
  const title = message.chatTitle ? ` "${message.chatTitle}"` : '';
  const topic = message.topicId === undefined ? '' : `, topic ${message.topicId}`;
  return `Telegram ${place}${title} ${message.summons?.chatId ?? message.chatId}${topic}`;
}

/** A message that waits in a lane. */
export interface Waiting {
  entry: EntryId;
  message: InboundMessage;
  /** It went into a message before it. */
  isTaken?: true;
}

/**
 * No message is longer than 4096 characters. An app cuts pasted text there, or a little earlier at the end of a word.
 */
const CUT_CHARS_MAX = 4_096;
const CUT_CHARS_MIN = 3_500;
/** The app sends what belongs together at once; Telegram dates it in seconds. */
const AT_ONCE_MS_MAX = 2_000;
/** As many messages as an app forwards at once. */
export const BURST_MAX = 100;

/** Whether the gateway entered a message itself, as a reminder that is due: nobody has written it. Pure. */
export function isSelfEntered({ content }: Pick<InboundMessage, 'content'>): boolean {
  return content.kind === 'reminder';
}

/** Whether further messages may complete this one: an album, a long text that an app cut, or forwards. Pure. */
export function mayHavePieces(message: InboundMessage): boolean {
  if (message.summons) return false;
  if (isForward(message)) return true;
  const { album, content } = message;
  return album === undefined ? isCut(message) : content.kind === 'file';
}

/** Whether this may be the comment that an app sends before the messages that it forwards. Pure. */
export function mayBeComment(message: InboundMessage): boolean {
  if (message.summons || message.content.kind !== 'text') return false;
  return !isForward(message) && commandIn(message) === undefined && !isCut(message);
}

/** The further pieces of a message among those waiting behind it, in order. Pure. */
export function piecesOf(first: InboundMessage, behind: readonly Waiting[]): Waiting[] {
  if (first.summons) return [];
  if (isSelfEntered(first)) return othersBehind(first, behind);
  const own = behind.filter(({ message }) => message.from.id === first.from.id);
  if (isForward(first) || mayBeComment(first)) return run(first, own, isForward).slice(0, BURST_MAX);
  if (!mayHavePieces(first)) return [];
  const pieces =
    first.album === undefined ? run(first, own, isRest) : own.filter(({ message }) => isOfAlbum(message, first.album));
  return pieces.slice(0, BURST_MAX);
}

/** Those of its kind with the same rights: what a guest had asked for is not answered with the tools of others. */
function othersBehind({ from, content }: InboundMessage, behind: readonly Waiting[]): Waiting[] {
  return behind
    .filter(({ message }) => message.content.kind === content.kind && message.from.isGuest === from.isGuest)
    .slice(0, BURST_MAX);
}

/** Whether a message was forwarded. Pure. */
export function isForward({ forwardedFrom }: InboundMessage): boolean {
  return forwardedFrom !== undefined;
}

/** The messages up to the first that does not go on what came before it. */
function run(
  first: InboundMessage,
  own: readonly Waiting[],
  goesOn: (message: InboundMessage, before: InboundMessage) => boolean,
): Waiting[] {
  const end = own.findIndex(({ message }, at) => {
    const before = own[at - 1]?.message ?? first;
    return !goesOn(message, before) || message.sentAtMs - before.sentAtMs > AT_ONCE_MS_MAX;
  });
  return end < 0 ? [...own] : own.slice(0, end);
}

function isOfAlbum({ album, content }: InboundMessage, wanted: string | undefined): boolean {
  return album === wanted && content.kind === 'file';
}

function isRest(message: InboundMessage, before: InboundMessage): boolean {
  return message.content.kind === 'text' && commandIn(message) === undefined && !isForward(message) && isCut(before);
}

function isCut(message: InboundMessage): boolean {
  const { content } = message;
  if (content.kind !== 'text' || commandIn(message) !== undefined) return false;
  return content.text.length >= CUT_CHARS_MIN && content.text.length <= CUT_CHARS_MAX;
}
