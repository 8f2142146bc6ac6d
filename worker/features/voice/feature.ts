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

type Speech = { kind: 'words'; text: string } | Verdict;

const QUOTED_CHARS = 300;

const SPOKEN: Readonly<Record<string, string>> = {
  voice: 'a voice message',
  audio: 'an audio file',
  video_note: 'a video note',
};

/**
 * Transcribes voice messages, audio files and video notes, if the settings name an endpoint. One write stores a transcript and
 * the notice that shows it to the user, so that no retry pays for the transcription again. If a recording has no words, or its
 * transcription fails for good, a message that is only a recording ends with a reply that says so; a message with other content
 * is answered without the transcript.
 */
export const voiceFeature: Feature = {
  name: 'voice',
  help: ({ env, texts }) => (env.settings.TRANSCRIPTION_MODEL === undefined ? [] : [texts.helpVoice]),
  async transcribe(initialTurn, messages, signal) {
    if (!messages.some(({ content }) => 'sound' in content)) return undefined;
    const byIndex = new Map<number, { label: string; text: string }>();
    const transcriber = transcriberOf(initialTurn.env);
    const isAlone = messages.length === 1 && messages[0]?.content.kind === 'unsupported';
    let turn = initialTurn;
    for (const [at, message] of messages.entries()) {
      const sound = soundIn(message);
      if (sound === undefined || transcriber === undefined) continue;
      const field = at === 0 ? 'heard' : `heard:${at}`;
      const stored = turn.content(field);
      const result: Speech =
        stored === undefined ? await listen(turn, sound, transcriber, signal) : { kind: 'words', text: stored };
      if (result.kind !== 'words') {
        if (isAlone || result.kind !== 'conclude') return result;
        continue;
      }
      if (stored === undefined) turn = await storeTranscript(turn, field, result.text);
      if (result.text === '' && isAlone) return conclude(refused('nothing_heard', turn.texts.nothingHeard));
      if (result.text !== '') byIndex.set(at, { label: labelOf(message), text: result.text });
    }
    return { kind: 'transcribed', byIndex, turn };
  },
};

/** The line above a transcript for the model: the kind and length of the recording, and that a program wrote the text. */
function labelOf(message: InboundMessage): string {
  const { content } = message;
  const sound = soundIn(message);
  const kind = content.kind === 'unsupported' ? content.what : (sound?.kind ?? 'video_note');
  const seconds = sound?.seconds;
  return `${SPOKEN[kind] ?? 'a recording'}${seconds === undefined ? '' : ` of ${seconds} s`}, as a program wrote it down`;
}

function soundIn({ content }: InboundMessage): Sound | undefined {
  return 'sound' in content ? content.sound : undefined;
}

const TRANSCRIPTION_MS_MAX = 120_000;

/** The transcriber, if the settings name an endpoint. A call times out before its turn does, so that the reason is known. */
function transcriberOf({ books, settings }: Env): Transcriber | undefined {
  const { TRANSCRIPTION_BASE_URL: baseUrl, TRANSCRIPTION_API_KEY: apiKey, TRANSCRIPTION_MODEL: model } = settings;
  if (baseUrl === undefined || model === undefined) return undefined;
  const timeoutMs = Math.min(TRANSCRIPTION_MS_MAX, Math.ceil(settings.TURN_TIMEOUT_MS / 2));
  const transcriber = createTranscriber({ baseUrl, apiKey, model, timeoutMs });
  return withBooking(transcriber, books, { model, minute: costOfMinute(model, settings.prices) });
}

async function storeTranscript(turn: Turn<Env>, field: string, text: string): Promise<Turn<Env>> {
  const notice = text === '' ? [] : [turn.texts.heard(clip(text.replace(/\s+/g, ' '), QUOTED_CHARS))];
  const notices = [...turn.notices, ...notice];
  await turn.write(field, [turn.keepContent(field, text), turn.notify(notices)]);
  return turn.with({ notices });
}

async function listen(turn: Turn<Env>, sound: Sound, transcriber: Transcriber, signal: AbortSignal): Promise<Speech> {
  const file = { what: 'document', ...sound } as const;
  const download = await downloadOnce(turn, { file }, signal);
  if (download.kind === 'unreadable') {
    const notice = unreadableFile(turn.texts, download.why, sound.name);
    return conclude(refused(`file_${download.why}`, notice));
  }
  if (download.kind !== 'loaded') return download;
  const result = await transcriber.transcribe(recordingOf(turn, sound, download.bytes), signal);
  if (result.kind === 'heard')
    return { kind: 'words', text: graphemePrefix(result.text, turn.env.settings.INBOUND_TEXT_MAX_CHARS) };
  return verdictOn(turn, result);
}

function verdictOn(turn: Turn<Env>, problem: Exclude<Transcription, { kind: 'heard' }>): Verdict {
  const { settings } = turn.env;
  if (problem.kind === 'aborted') return { kind: 'hand back' };
  if (problem.kind === 'over budget') return refuseOverBudget(turn, settings, problem.failure);
  if (problem.kind === 'trouble' && turn.attempts < settings.MAX_ATTEMPTS) {
    const delayMs = backoffMs(turn.attempts, settings.RETRY_MS, problem.retryAfterMs);
    return { kind: 'later', delayMs, reason: 'transcription' };
  }
  const detail = `the transcription endpoint: ${problem.detail}`;
  return failed(`transcription_${problem.kind}`, turn.texts.notTranscribed, detail);
}

/** A recording with a file name. Telegram states no name for voice messages (OGG with Opus) and video notes (MP4). */
function recordingOf(turn: Turn, { name, mediaType, seconds }: Sound, bytes: Buffer): Recording {
  const type =
    mediaType !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? mediaType : 'application/octet-stream';
  const isMp4 = bytes.toString('latin1', 4, 8) === 'ftyp';
  const ending = ENDINGS[type] ?? (isMp4 ? 'mp4' : 'ogg');
  const safeName = name?.replace(/[^\w.-]+/g, '_');
  const about = { payer: turn.payer, ...(seconds !== undefined && { seconds }) };
  return { bytes, ...about, mediaType: type, name: safeName?.includes('.') ? safeName : `recording.${ending}` };
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

/** The assumed number of bytes per second of a recording without a stated length: usual for speech recorded by phones. */
const BYTES_A_SECOND = 4_000;
const REASON = { trouble: 'server_error', refused: 'refused', aborted: 'aborted', 'over budget': 'unknown' } as const;

/**
 * Wraps a transcriber so that each call reserves its cost in the budget and is then booked, like a call to the model. The cost
 * depends on the length: as the endpoint states it, else as the sender states it, else estimated from the size. Without a price
 * per minute, a call counts against no limit.
 */
function withBooking(
  transcriber: Transcriber,
  { budget, book }: Books,
  { model, minute }: { model: string; minute: number | undefined },
): Transcriber {
  const dollarsOf = (seconds: number) => (minute === undefined ? undefined : (seconds / 60) * minute);
  return {
    async transcribe(recording, signal) {
      const bill = billOf({ ...NO_TOKENS, dollars: dollarsOf(secondsOf(recording)) });
      const bounds = { least: bill, most: bill, certain: bill };
      const reservation = budget && (await reserveInTime(budget, recording.payer, bounds, signal));
      if (reservation && 'kind' in reservation)
        return reservation.reason === 'aborted' ? { kind: 'aborted' } : { kind: 'over budget', failure: reservation };
      const result = await transcriber.transcribe(recording, signal);
      const isHeard = result.kind === 'heard';
      const billed = isHeard || result.kind === 'aborted';
      const dollars = dollarsOf(billed ? ((isHeard ? result.seconds : undefined) ?? secondsOf(recording)) : 0);
      const call: CallRecord = {
        ...(isHeard ? { event: 'model.answered' } : { event: 'model.failed', reason: REASON[result.kind], billed }),
        ...{ purpose: 'transcription', model, ...NO_TOKENS, ...(dollars !== undefined && { dollars }) },
      };
      await Promise.all([reservation?.settle(billOf(call)), book(recording.payer, call)]);
      return result;
    },
  };
}

function secondsOf({ seconds, bytes }: Recording): number {
  return seconds ?? bytes.length / BYTES_A_SECOND;
}
