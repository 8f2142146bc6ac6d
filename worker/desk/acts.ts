import { keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import type { LetterFilter } from '../../shared/state/lane/letter-list.ts';
import { EVERY_CHAT, type Pause, readPauses } from '../../shared/state/lane/stops.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import type { NotedAct, WaitingMessage } from '../alerts/act.ts';
import type { ActName } from '../alerts/causes/acts.ts';
import { type Incident, incidentOf } from '../alerts/incident.ts';
import { openQueue } from '../lane/queue.ts';
import { providerTroubleOf } from '../model/errors/failure.ts';
import { type Model, wordRequest } from '../model/port.ts';
import { cancelMessage } from '../operator/cancel.ts';
import { countReplayable, replayAll } from '../operator/letters.ts';
import { pause, resume } from '../operator/pause.ts';
import { retryMessage } from '../operator/retry.ts';
import type { MessageName } from '../report/message-location.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';
import type { DeskPorts } from './desk.ts';
import { DESK_WORDS } from './words.ts';

/** An act that was noted, with what it is about. */
interface Errand {
  incident: Incident;
  noted: NotedAct;
  attribution: Attribution;
  /** Within the limits of what all chats may spend. */
  model: Pick<Model, 'send'>;
  signal: AbortSignal;
}

/** What is asked before something is done that cannot be taken back, and what then stands on the button. */
interface Question {
  text: string;
  yes: string;
}

/** How an act is done. */
interface Effect {
  /** Absent, or without a question: it is done at once. */
  asks?: (incident: Incident) => Question | undefined;
  /** Fixes what is to be done, before it is noted: a repeat after a crash does the rest of the same. */
  fixes?: (ports: DeskPorts, incident: Incident, nowMs: number) => Promise<Pick<NotedAct, 'of'>>;
  /** Contract: recorded in the trail before it is done; may be repeated; rejects when Redis cannot be reached. */
  does: (ports: DeskPorts, errand: Errand) => Promise<string>;
}

/** A message fails before its alert is entered; a gateway that was away enters it late. */
const BEFORE_MS = 600_000;

/** Puts back what has failed since the incident began, each message once. */
const replay: Effect = {
  asks: replayQuestion,
  fixes: async (ports, incident, nowMs) => ({ of: await countReplayable(ports, meantBy(incident, nowMs)) }),
  async does(ports, { incident, noted, attribution }) {
    const filter = meantBy(incident, noted.atMs);
    await replayAll(ports, filter, attribution);
    const { of = 0 } = noted;
    const left = await countReplayable(ports, filter);
    return of === 0 ? DESK_WORDS.nothingToReplay : DESK_WORDS.replayed(Math.max(0, of - left), of);
  },
};

function replayQuestion({ cause, isOpen }: Incident): Question | undefined {
  if (cause === 'dead-letters') return DESK_WORDS.asksReplayAll;
  if (!isOpen || (cause !== 'provider' && cause !== 'fixed-parts')) return undefined;
  return DESK_WORDS.asksReplay;
}

/** The letters of an incident: those of its time, or all where they pile up. */
function meantBy({ cause, openedMs, isOpen, endedMs }: Incident, atMs: number): LetterFilter {
  if (cause === 'dead-letters') return { untilMs: atMs };
  return { sinceMs: openedMs - BEFORE_MS, untilMs: isOpen ? atMs : Math.min(endedMs ?? atMs, atMs) };
}

/** How each act is done. */
export const ACTS: Readonly<Record<ActName, Effect>> = {
  replay,
  deliver: replay,
  retry: {
    async does(ports, { noted: { about }, attribution }) {
      if (about === undefined) return DESK_WORDS.nothingWaits;
      const retried = await retryMessage(ports, nameOf(ports, about), attribution);
      const isResting = retried.kind === 'under way' && retried.isPaused;
      return DESK_WORDS.retried(about.chat, isResting ? 'resting' : retried.kind);
    },
  },
  probe: { does: probe },
  promote: {
    async does(ports, { attribution }) {
      await recordAction(ports.redis, 'retry', EVERY_CHAT, attribution);
      return DESK_WORDS.triedNow(await tryAllNow(ports));
    },
  },
  pause: {
    async does(ports, { noted: { about }, attribution }) {
      if (about === undefined) return DESK_WORDS.nothingWaits;
      await pause(ports, about.chat, attribution);
      return DESK_WORDS.paused(about.chat);
    },
  },
  'pause-all': {
    asks: () => DESK_WORDS.asksPauseAll,
    async does(ports, { attribution }) {
      await pause(ports, EVERY_CHAT, attribution);
      return DESK_WORDS.allPaused;
    },
  },
  resume: {
    fixes: async (ports, _, nowMs) => ({ of: namesOf(await pausesBefore(ports, nowMs)).length }),
    async does(ports, { noted: { atMs, of = 0 }, attribution }) {
      for (const chat of namesOf(await pausesBefore(ports, atMs))) await resume(ports, chat, attribution);
      return DESK_WORDS.resumed(of);
    },
  },
  cancel: {
    asks: ({ waiting }) => DESK_WORDS.asksCancel(waiting?.chat ?? ''),
    async does(ports, { noted: { about }, attribution }) {
      if (about === undefined) return DESK_WORDS.nothingWaits;
      const result = await cancelMessage(ports, nameOf(ports, about), attribution);
      return DESK_WORDS.cancelled(about.chat, result === 'repeated' ? 'cancelled' : result);
    },
  },
  // Its result ends the incident.
  close: {
    async does({ redis }, { incident, attribution }) {
      await recordAction(redis, 'close', incidentOf(incident), attribution);
      return DESK_WORDS.closed;
    },
  },
};

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
  if (asked.ok) return DESK_WORDS.answers(await tryAllNow(ports));
  const trouble = providerTroubleOf(asked.failure.reason);
  return trouble === undefined ? DESK_WORDS.spared : DESK_WORDS.stillFails(trouble);
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
