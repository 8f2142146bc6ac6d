import { counted } from '../../shared/base/text.ts';
import { keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { EVERY_CHAT, type Pause, readPauses } from '../../shared/state/lane/stops.ts';
import { recordAction } from '../../shared/state/process/actions.ts';
import { snoozedText, type WaitingMessage } from '../alerts/act.ts';
import type { ActName } from '../alerts/causes/acts.ts';
import { incidentOf } from '../alerts/incident.ts';
import { openQueue } from '../lane/queue.ts';
import { PROVIDER_SAID, providerTroubleOf } from '../model/errors/failure.ts';
import { wordRequest } from '../model/port.ts';
import { cancelMessage } from '../operator/cancel.ts';
import { pause, resume } from '../operator/pause.ts';
import { retryMessage } from '../operator/retry.ts';
import { CANCELLED, PAUSED, RETRIED } from '../operator/words.ts';
import { instantOf, wallOf } from '../reminders/wall-time.ts';
import type { MessageName } from '../report/message-location.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';
import type { DeskPorts } from './desk.ts';
import type { Effect, Errand } from './effect.ts';
import { replay } from './replaying.ts';

const HOUR_MS = 3600_000;
const DAY_MS = 24 * HOUR_MS;
const MORNING_MS = 8 * HOUR_MS;

/** How each act is done. */
export const ACTS: Readonly<Record<ActName, Effect>> = {
  replay,
  deliver: replay,
  retry: {
    async does(ports, { noted: { about }, attribution }) {
      if (about === undefined) return 'Nothing waits';
      const retried = await retryMessage(ports, nameOf(ports, about), attribution);
      const isResting = retried.kind === 'under way' && retried.isPaused;
      return `The message of chat ${about.chat} ${RETRIED[isResting ? 'resting' : retried.kind]}`;
    },
  },
  probe: { does: probe },
  promote: {
    async does(ports, { attribution }) {
      await recordAction(ports.redis, 'retry', EVERY_CHAT, attribution);
      return `${counted(await tryAllNow(ports), 'message')} tried now`;
    },
  },
  pause: {
    async does(ports, { noted: { about }, attribution }) {
      if (about === undefined) return 'Nothing waits';
      await pause(ports, about.chat, attribution);
      return `Chat ${about.chat} ${PAUSED.paused}`;
    },
  },
  'pause-all': {
    asks: () => ({ text: 'Pause every chat? What runs ends as it would; all else waits.', yes: 'Yes, pause all' }),
    async does(ports, { attribution }) {
      await pause(ports, EVERY_CHAT, attribution);
      return `Every chat ${PAUSED.paused}`;
    },
  },
  resume: {
    fixes: async (ports, _, nowMs) => ({ of: namesOf(await pausesBefore(ports, nowMs)).length }),
    async does(ports, { noted: { atMs, of = 0 }, attribution }) {
      for (const chat of namesOf(await pausesBefore(ports, atMs))) await resume(ports, chat, attribution);
      return of === 0 ? 'Nothing was paused' : `Ended ${counted(of, 'pause')}`;
    },
  },
  cancel: {
    asks: ({ waiting }) => ({
      text: `Cancel the message that chat ${waiting?.chat} waits for? Its user is told.`,
      yes: 'Yes, cancel it',
    }),
    async does(ports, { noted: { about }, attribution }) {
      if (about === undefined) return 'Nothing waits';
      const result = await cancelMessage(ports, nameOf(ports, about), attribution);
      return `The message of chat ${about.chat} ${CANCELLED[result === 'repeated' ? 'cancelled' : result]}`;
    },
  },
  take: { trail: 'take', notes: (_, by) => ({ result: `${by} works on this` }) },
  snooze: { trail: 'snooze', notes: (_, by, nowMs) => snoozed(nowMs + HOUR_MS, by) },
  morning: { trail: 'snooze', notes: (_, by, nowMs, timeZone) => snoozed(morningAfter(nowMs, timeZone), by) },
  close: { trail: 'close', notes: () => ({ result: 'Closed' }) },
};

function snoozed(untilMs: number, by: string) {
  return { untilMs, result: snoozedText(untilMs, by) };
}

/** The next eight o'clock in the morning of a time zone. Pure. */
export function morningAfter(nowMs: number, timeZone: string): number {
  const wallMs = wallOf(nowMs, timeZone);
  const todayMs = wallMs - (wallMs % DAY_MS) + MORNING_MS;
  return instantOf(todayMs > wallMs ? todayMs : todayMs + DAY_MS, timeZone);
}

function nameOf({ shards }: ReportSource, { chat, entry }: WaitingMessage): MessageName {
  const shard = shardOf(parseChatKey(chat)?.chatId ?? 0, shards);
  return { shard, keys: keysOf(shard), entry };
}

async function pausesBefore(at: ReportSource, nowMs: number): Promise<Pause[]> {
  const all = await Promise.all(shardsOf(at).map((keys) => readPauses(at.redis, keys)));
  return all.flat().filter(({ sinceMs }) => sinceMs <= nowMs);
}

/** Every chat is paused in each shard by itself. */
function namesOf(pauses: readonly Pause[]): Pause['chat'][] {
  return [...new Set(pauses.map(({ chat }) => chat))];
}

/** Asks the endpoint for a word; where it answers, what waits is tried. Whatever it brings is recorded by the model itself. */
async function probe(ports: DeskPorts, { incident, attribution, model, signal }: Errand): Promise<string> {
  await recordAction(ports.redis, 'retry', incidentOf(incident), attribution);
  const asked = await model.send(wordRequest(ports.config.MODEL), signal);
  if (asked.ok) return `It answers; ${counted(await tryAllNow(ports), 'message')} tried now`;
  const trouble = providerTroubleOf(asked.failure.reason);
  if (trouble !== undefined) return `The endpoint still ${PROVIDER_SAID[trouble]}`;
  return 'Not asked now: the endpoint is spared for a moment';
}

/** Ends the delays of all that waits. Returns how many there were. */
async function tryAllNow(at: ReportSource): Promise<number> {
  let count = 0;
  for (const keys of shardsOf(at)) {
    const queue = openQueue(at.redis, keys);
    try {
      count += await queue.promoteAll();
    } finally {
      await queue.close();
    }
  }
  return count;
}
