import { z } from 'zod';
import { jsonValue } from '../base/fields.ts';
import { chatKey, commandLaneOf, deskLaneOf, type EntryId, type LaneKey, summonsKey } from '../redis/keys.ts';
import { commandOf, laneOfCommand } from '../telegram/commands.ts';

/** The way in which a message ended. Every accepted message gets exactly one outcome. */
export type Outcome = 'answered' | 'command' | 'merged' | 'refused' | 'cancelled' | 'failed' | 'undeliverable';

const sender = z.object({
  id: z.int(),
  name: z.string().optional(),
  /** Set for the author of a summons, and for a member of an allowed group whose own id is not on the allow list. */
  isGuest: z.literal(true).optional(),
  /** Set if an operator gave the command in the operators' chat. */
  isOperator: z.literal(true).optional(),
  /** Set if the message is the request for access of a person outside the allow list. */
  isStranger: z.literal(true).optional(),
  /** The language of the person's app, as an IETF tag. */
  language: z.string().optional(),
});

/** A file on Telegram's servers. Its name, media type and size are the sender's statements and may be wrong. */
const file = z.object({
  what: z.enum(['photo', 'document']),
  fileId: z.string().min(1),
  name: z.string().optional(),
  mediaType: z.string().optional(),
  bytes: z.int().positive().optional(),
  /** Set if this is only the thumbnail of media that the model cannot see, such as a `video`. */
  thumbnailOf: z
    .object({ what: z.string(), seconds: z.int().positive().optional(), name: z.string().optional() })
    .optional(),
});

const repeat = z.union([z.object({ cron: z.string() }), z.object({ everyMinutes: z.int() })]);

/** A recording on Telegram's servers that may contain speech. */
const sound = z.object({
  /** `voice`, `audio` or `video_note`; absent if the content of the message states the kind. */
  kind: z.string().optional(),
  fileId: z.string().min(1),
  name: z.string().optional(),
  mediaType: z.string().optional(),
  bytes: z.int().positive().optional(),
  seconds: z.int().positive().optional(),
});

/** The longest query id of a summons that is accepted. Telegram's ids are far shorter. */
const QUERY_ID_CHARS_MAX = 256;
/** The newest version of messages. A worker leaves a message of a later version to a worker that knows that version. */
const VERSION = 3;
/** The version of messages that are reminders. Workers of version 1 cannot read reminders, and leave them to newer workers. */
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
    /** The time at which Telegram received the message, in ms since the epoch. */
    sentAtMs: z.int(),
    /** The id of the album. Telegram sends the files of an album as separate messages. */
    album: z.string().min(1).optional(),
    /** The message to which this one replies: its author, its text or a quoted part of the text, and its picture or file. */
    answers: z
      .object({
        by: z.string().optional(),
        isOurs: z.literal(true).optional(),
        isQuote: z.literal(true).optional(),
        text: z.string().min(1),
        file: file.optional(),
      })
      .optional(),
    /** Earlier messages of the group that were not for the bot, oldest first. */
    overheard: z.array(z.object({ by: z.string(), text: z.string() })).optional(),
    /** The id of the bot's message whose button gave this command. */
    pressed: z.int().optional(),
    /**
     * Set for a summons: a call of the bot in another chat (Telegram's guest mode), where the bot may answer once.
     * `summons.chatId` is the other chat; `chatId` is the person's private chat. All other fields describe the summons itself.
     */
    summons: z.object({ chatId: z.int(), queryId: z.string().min(1).max(QUERY_ID_CHARS_MAX) }).optional(),
    /** The original author of a forwarded message. */
    forwardedFrom: z.string().optional(),
    content: z.discriminatedUnion('kind', [
      /** The text of a rich message also names its files and its recording, because older workers read only the text. */
      z.object({
        kind: z.literal('text'),
        text: z.string().min(1),
        files: z.array(file).optional(),
        sound: sound.optional(),
      }),
      /** A photo or a file, with its caption, which may be empty. The turn downloads the file. */
      z.object({ kind: z.literal('file'), text: z.string(), file, sound: sound.optional() }),
      /**
       * A message of a kind that the gateway cannot read, e.g. `story`. The turn notifies the user, or transcribes `sound` if
       * an endpoint for transcription is set.
       */
      z.object({
        kind: z.literal('unsupported'),
        what: z.string(),
        text: z.string().optional(),
        sound: sound.optional(),
      }),
      /** A due reminder. The model set the reminder while it answered message `messageId` of `from`. */
      z.object({
        kind: z.literal('reminder'),
        id: z.string().min(1),
        text: z.string().min(1),
        dueAtMs: z.int(),
        /** The beginning of the message `messageId`. */
        answering: z.string().optional(),
        /** Whether the reminder became a message well after its due time. */
        isLate: z.literal(true).optional(),
        /** Absent for a reminder that is due only once, and in messages of earlier versions. */
        repeats: z.object({ firstMs: z.int(), timeZone: z.string(), repeat }).optional(),
      }),
    ]),
  })
  .refine(({ v, content }) => content.kind !== 'reminder' || v === VERSION_OF_REMINDERS, 'a reminder of version 1')
  .refine(({ v, summons }) => (v === VERSION_OF_SUMMONS) === (summons !== undefined), 'a summons of another version');

/** An accepted update or a due reminder, in a normal form. Readers refuse a version that they do not know. */
export type InboundMessage = Readonly<z.infer<typeof schema>>;

/** A due reminder. */
export type DueReminder = Extract<InboundMessage['content'], { kind: 'reminder' }>;

/** A photo or a file of a message. */
export type InboundFile = Readonly<z.infer<typeof file>>;

/** A recording that may contain speech. */
export type Sound = Readonly<z.infer<typeof sound>>;

/** The result of decoding. `problem` names the wrong field and its expected form, never the content. */
export type Decoded<T> =
  | { ok: true; value: T }
  /** `isNewer`: the message was written by a newer version of the gateway, which may run at the same time as this one. */
  | { ok: false; problem: string; isNewer?: boolean };

/**
 * The command in a message's text or caption. Forwarded messages, summonses and the gateway's own messages have no command.
 * Pure.
 */
export function commandIn(message: Pick<InboundMessage, 'content' | 'forwardedFrom' | 'summons'>) {
  const { content, forwardedFrom, summons } = message;
  const isOwn = !isSelfEntered({ content }) && forwardedFrom === undefined && summons === undefined;
  return isOwn ? commandOf(content.text ?? '') : undefined;
}

/** The lane of a message: its chat's own lane, or for commands that need not wait there, the command lane or desk lane. */
export function laneOf(message: InboundMessage): LaneKey {
  if (message.summons) return summonsKey(message.from.id, message.summons.chatId);
  const chat = chatKey(message.chatId, message.topicId);
  const command = commandIn(message);
  const lane = command === undefined ? 'chat' : laneOfCommand(command);
  return { chat, commands: commandLaneOf(chat), desk: deskLaneOf(chat) }[lane];
}

/** Thrown for a message that readers would refuse. Such a message must not enter the stream, and a retry cannot help. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';
}

/** Serialises a message for the stream. Throws `UnreadableMessageError` for a message that does not fit the schema. */
export function encodeMessage(message: InboundMessage): string {
  const parsed = schema.safeParse(message);
  if (parsed.success) return JSON.stringify(parsed.data);
  const [issue] = parsed.error.issues;
  throw new UnreadableMessageError(`${issue?.path.join('.') || 'message'}: ${issue?.message ?? 'malformed'}`);
}

/** Reads a message from its JSON on the stream. Never throws. */
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

/** The origin of a message in words, for the message's record and the seed of a fresh session. */
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
  /** Set if the message was merged into an earlier one. */
  isMerged?: true;
}

/** Telegram apps split a pasted text at the limit of 4,096 characters, or a little earlier, at the end of a word. */
const CUT_CHARS_MAX = 4_096;
const CUT_CHARS_MIN = 3_500;
/** The maximum gap within a split text or a burst of forwards. Not shorter, because Telegram's dates are in whole seconds. */
const AT_ONCE_MS_MAX = 2_000;
/** The maximum number of messages that a Telegram app forwards at once. */
export const BURST_MAX = 100;

/** Whether the gateway itself made the message, from a due reminder. Pure. */
export function isSelfEntered({ content }: Pick<InboundMessage, 'content'>): boolean {
  return content.kind === 'reminder';
}

/** Whether this message may be one of several that belong together: an album, a split text, or a burst of forwards. Pure. */
export function mayHavePieces(message: InboundMessage): boolean {
  if (message.summons) return false;
  if (isForward(message)) return true;
  const { album, content } = message;
  return album === undefined ? isCut(message) : content.kind === 'file';
}

/** Whether this message may be the comment that a Telegram app sends before forwarded messages. Pure. */
export function mayBeComment(message: InboundMessage): boolean {
  if (message.summons || message.content.kind !== 'text') return false;
  return !isForward(message) && commandIn(message) === undefined && !isCut(message);
}

/** The messages that are answered together with `first`, from those behind it in its lane; at most `BURST_MAX`. Pure. */
export function piecesOf(first: InboundMessage, followers: readonly Waiting[]): Waiting[] {
  if (first.summons) return [];
  if (isSelfEntered(first)) return remindersOf(first, followers);
  const ofSender = followers.filter(({ message }) => message.from.id === first.from.id);
  if (isForward(first) || mayBeComment(first)) return run(first, ofSender, isForward).slice(0, BURST_MAX);
  if (!mayHavePieces(first)) return [];
  const pieces =
    first.album === undefined
      ? run(first, ofSender, isRest)
      : ofSender.filter(({ message }) => isOfAlbum(message, first.album));
  return pieces.slice(0, BURST_MAX);
}

/** The followers that are reminders with the same rights as the first: no guest's reminder may use tools denied to guests. */
function remindersOf({ from, content }: InboundMessage, followers: readonly Waiting[]): Waiting[] {
  return followers
    .filter(({ message }) => message.content.kind === content.kind && message.from.isGuest === from.isGuest)
    .slice(0, BURST_MAX);
}

/** Whether a message was forwarded. Pure. */
export function isForward({ forwardedFrom }: InboundMessage): boolean {
  return forwardedFrom !== undefined;
}

/** The followers before the first one that does not continue its predecessor, or was sent too long after it. */
function run(
  first: InboundMessage,
  followers: readonly Waiting[],
  continues: (message: InboundMessage, previous: InboundMessage) => boolean,
): Waiting[] {
  const end = followers.findIndex(({ message }, at) => {
    const previous = followers[at - 1]?.message ?? first;
    return !continues(message, previous) || message.sentAtMs - previous.sentAtMs > AT_ONCE_MS_MAX;
  });
  return end < 0 ? [...followers] : followers.slice(0, end);
}

function isOfAlbum({ album, content }: InboundMessage, id: string | undefined): boolean {
  return album === id && content.kind === 'file';
}

function isRest(message: InboundMessage, previous: InboundMessage): boolean {
  return message.content.kind === 'text' && commandIn(message) === undefined && !isForward(message) && isCut(previous);
}

function isCut(message: InboundMessage): boolean {
  const { content } = message;
  if (content.kind !== 'text' || commandIn(message) !== undefined) return false;
  return content.text.length >= CUT_CHARS_MIN && content.text.length <= CUT_CHARS_MAX;
}
