import { clip, graphemePrefix } from '../../../shared/base/text.ts';
import type { InboundMessage, Sound } from '../../../shared/flow/message.ts';
import type { CallRecord } from '../../../shared/state/spending/usage-book.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { type Books, billOf, NO_TOKENS, reserveInTime } from '../../budget/guarded.ts';
import type { Env } from '../../env.ts';
import type { Feature } from '../../feature.ts';
import { backoffMs } from '../../lane/backoff.ts';
import { conclude, failed, refused, type Verdict } from '../../lane/verdict.ts';
import { costOfMinute } from '../../model/prices.ts';
import { refuseOverBudget } from '../../recovery/fail.ts';
import { unreadableFile } from '../../reply/notices.ts';
import { downloadOnce } from '../../turn/download.ts';
import { createTranscriber, type Recording, type Transcriber, type Transcription } from './transcriber.ts';

type Heard = { kind: 'words'; text: string } | Verdict;

const QUOTED_CHARS = 300;

const SPOKEN: Readonly<Record<string, string>> = {
  voice: 'a voice message',
  audio: 'an audio file',
  video_note: 'a video note',
};

/**
 * Words in voice messages, audio files and video notes. The transcript is kept on the turn together with the notice that
 * shows it to the user, so that no retry pays for it again. A message of which only this was to be read ends when nothing can
 * be heard; one with something else goes on without it.
 */
export const voiceFeature: Feature = {
  name: 'voice',
  help: ({ env, texts }) => (env.settings.TRANSCRIPTION_MODEL === undefined ? [] : [texts.helpVoice]),
  async transcribe(begun, messages, signal) {
    if (!messages.some(({ content }) => 'sound' in content)) return undefined;
    const byIndex = new Map<number, { label: string; text: string }>();
    const transcriber = transcriberOf(begun.env);
    const isAlone = messages.length === 1 && messages[0]?.content.kind === 'unsupported';
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
      if (heard.text !== '') byIndex.set(at, { label: labelOf(message), text: heard.text });
    }
    return { kind: 'transcribed', byIndex, turn };
  },
};

/** The line above spoken words: what was heard, and that a program wrote it down. */
function labelOf(message: InboundMessage): string {
  const { content } = message;
  const sound = soundIn(message);
  const what = content.kind === 'unsupported' ? content.what : (sound?.kind ?? 'video_note');
  const seconds = sound?.seconds;
  return `${SPOKEN[what] ?? 'a recording'}${seconds === undefined ? '' : ` of ${seconds} s`}, as a program wrote it down`;
}

/** The sound of a message, in which words may be heard. */
function soundIn({ content }: InboundMessage): Sound | undefined {
  return 'sound' in content ? content.sound : undefined;
}

const TRANSCRIPTION_MS_MAX = 120_000;

/** The endpoint that hears, if there is one. A call takes less than its turn, so that a slow one is known as the reason. */
function transcriberOf({ books, settings }: Env): Transcriber | undefined {
  const { TRANSCRIPTION_BASE_URL: baseUrl, TRANSCRIPTION_API_KEY: apiKey, TRANSCRIPTION_MODEL: model } = settings;
  if (baseUrl === undefined || model === undefined) return undefined;
  const timeoutMs = Math.min(TRANSCRIPTION_MS_MAX, Math.ceil(settings.TURN_TIMEOUT_MS / 2));
  const transcriber = createTranscriber({ baseUrl, apiKey, model, timeoutMs });
  return withAccountToHear(transcriber, books, { model, minute: costOfMinute(model, settings.prices) });
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

/** Of a file of which nobody says how long it is: speech as phones record it. */
const BYTES_A_SECOND = 4_000;
const REASON = { trouble: 'server_error', refused: 'refused', aborted: 'aborted', 'over budget': 'unknown' } as const;

/**
 * A transcriber within the same limits, and with the same account. A recording costs by its length, as its endpoint states
 * it, or its sender; without a price of a minute it counts in no limit.
 */
function withAccountToHear(
  transcriber: Transcriber,
  { budget, book }: Books,
  { model, minute }: { model: string; minute: number | undefined },
): Transcriber {
  const dollarsOf = (seconds: number) => (minute === undefined ? undefined : (seconds / 60) * minute);
  return {
    async transcribe(recording, signal) {
      const bill = billOf({ ...NO_TOKENS, dollars: dollarsOf(secondsOf(recording)) });
      const bounds = { least: bill, most: bill, certain: bill };
      const reserved = budget && (await reserveInTime(budget, recording.payer, bounds, signal));
      if (reserved && 'kind' in reserved)
        return reserved.reason === 'aborted' ? { kind: 'aborted' } : { kind: 'over budget', failure: reserved };
      const said = await transcriber.transcribe(recording, signal);
      const isHeard = said.kind === 'heard';
      const billed = isHeard || said.kind === 'aborted';
      const dollars = dollarsOf(billed ? ((isHeard ? said.seconds : undefined) ?? secondsOf(recording)) : 0);
      const call: CallRecord = {
        ...(isHeard ? { event: 'model.answered' } : { event: 'model.failed', reason: REASON[said.kind], billed }),
        ...{ purpose: 'transcription', model, ...NO_TOKENS, ...(dollars !== undefined && { dollars }) },
      };
      await Promise.all([reserved?.settle(billOf(call)), book(recording.payer, call)]);
      return said;
    },
  };
}

function secondsOf({ seconds, bytes }: Recording): number {
  return seconds ?? bytes.length / BYTES_A_SECOND;
}
