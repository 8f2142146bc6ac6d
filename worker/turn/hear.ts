import { clip, graphemePrefix } from '../../shared/base/text.ts';
import type { InboundMessage, Sound } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { backoffMs, conclude, failed, refused, type Verdict } from '../lane/verdict.ts';
import type { Recording, Transcriber, Transcription } from '../media/transcriber.ts';
import { refuseOverBudget } from '../recovery/fail.ts';
import { unreadableFile, unsupportedKind } from '../reply/notices.ts';
import { downloadOnce } from './file-block.ts';

/**
 * The words in each message, by its place; an attempt that shows it to the user; or what becomes of the message.
 */
export type Hearing = { kind: 'heard'; words: ReadonlyMap<number, string>; turn: Turn<Env> } | Verdict;

type Heard = { kind: 'words'; text: string } | Verdict;

const QUOTED_CHARS = 300;

/**
 * The words in voice messages, audio files and video notes. The transcript is kept on the turn together with the
 * notice that shows it to the user, so that no retry pays for it again. A message of which only this was to be read
 * ends when nothing can be heard; one with something else goes on without it.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort it decides to hand the message back.
 */
export async function hear(
  begun: Turn<Env>,
  messages: readonly [InboundMessage, ...InboundMessage[]],
  signal: AbortSignal,
): Promise<Hearing> {
  const { env } = begun;
  const [{ content }] = messages;
  const isAlone = messages.length === 1 && content.kind === 'unsupported';
  const { transcriber } = env;
  const canHear = transcriber !== undefined && soundIn(messages[0]) !== undefined;
  if (isAlone && !canHear) return conclude(refused('unsupported_kind', unsupportedKind(begun.texts, content.what)));
  const words = new Map<number, string>();
  let turn = begun;
  for (const [at, message] of messages.entries()) {
    const sound = soundIn(message);
    if (sound === undefined || transcriber === undefined) continue;
    const field = at === 0 ? 'heard' : `heard:${at}`;
    const kept = turn.content(field);
    const heard: Heard =
      kept === undefined ? await listen(turn, sound, transcriber, signal) : { kind: 'words', text: kept };
    if (heard.kind !== 'words') {
      if (isAlone || heard.kind !== 'conclude') return heard;
      continue;
    }
    if (kept === undefined) turn = await keep(turn, field, heard);
    if (heard.text === '' && isAlone) return conclude(refused('nothing_heard', turn.texts.nothingHeard));
    if (heard.text !== '') words.set(at, heard.text);
  }
  return { kind: 'heard', words, turn };
}

/** The sound of a message, in which words may be heard. */
export function soundIn({ content }: InboundMessage): Sound | undefined {
  return 'sound' in content ? content.sound : undefined;
}

async function keep(turn: Turn<Env>, field: string, { text }: Extract<Heard, { kind: 'words' }>): Promise<Turn<Env>> {
  const shown = text === '' ? [] : [turn.texts.heard(clip(text.replace(/\s+/g, ' '), QUOTED_CHARS))];
  const notices = [...turn.notices, ...shown];
  await turn.write(field, [turn.keepContent(field, text), turn.notify(notices)]);
  return turn.with({ notices });
}

async function listen(turn: Turn<Env>, sound: Sound, transcriber: Transcriber, signal: AbortSignal): Promise<Heard> {
  const file = { what: 'document', ...sound } as const;
  const loaded = await downloadOnce(turn, { file }, signal);
  if (loaded.kind === 'unreadable') {
    const notice = unreadableFile(turn.texts, loaded.why, sound.name);
    return conclude(refused(`file_${loaded.why}`, notice));
  }
  if (loaded.kind !== 'loaded') return loaded;
  const said = await transcriber.transcribe(recordingOf(turn, sound, loaded.bytes), signal);
  if (said.kind === 'heard')
    return { kind: 'words', text: graphemePrefix(said.text, turn.env.settings.INBOUND_TEXT_MAX_CHARS) };
  return unheard(turn, said);
}

function unheard(turn: Turn<Env>, said: Exclude<Transcription, { kind: 'heard' }>): Verdict {
  const { settings } = turn.env;
  if (said.kind === 'aborted') return { kind: 'hand back' };
  if (said.kind === 'over budget') return refuseOverBudget(turn, settings, said.failure);
  if (said.kind === 'trouble' && turn.attempts < settings.MAX_ATTEMPTS) {
    const delayMs = backoffMs(turn.attempts, settings.RETRY_MS, said.retryAfterMs);
    return { kind: 'later', delayMs, reason: 'transcription' };
  }
  const detail = `the transcription endpoint: ${said.detail}`;
  return failed(`transcription_${said.kind}`, turn.texts.notTranscribed, detail);
}

/** Telegram's voice messages are OGG with Opus, its video notes MP4; both state no name. */
function recordingOf(turn: Turn, { name, mediaType, seconds }: Sound, bytes: Buffer): Recording {
  const type =
    mediaType !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? mediaType : 'application/octet-stream';
  const isMp4 = bytes.toString('latin1', 4, 8) === 'ftyp';
  const ending = ENDINGS[type] ?? (isMp4 ? 'mp4' : 'ogg');
  const plain = name?.replace(/[^\w.-]+/g, '_');
  const about = { payer: turn.payer, ...(seconds !== undefined && { seconds }) };
  return { bytes, ...about, mediaType: type, name: plain?.includes('.') ? plain : `recording.${ending}` };
}

const ENDINGS: Readonly<Record<string, string>> = {
  'audio/ogg': 'ogg',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/flac': 'flac',
  'video/mp4': 'mp4',
};
