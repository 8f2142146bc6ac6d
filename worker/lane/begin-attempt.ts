import { randomUUID } from 'node:crypto';
import { decodeMessage } from '../../shared/flow/message.ts';
import {
  type ChatKey,
  chatOf,
  type EntryId,
  type Keys,
  type LaneKey,
  type SessionId,
} from '../../shared/redis/keys.ts';
import type { RunScript } from '../../shared/redis/script.ts';
import { fieldsOf } from '../../shared/redis/stream.ts';
import { chatFieldsOf } from '../../shared/state/chat/chat.ts';
import { goneMsOf } from '../../shared/state/chat/presence.ts';
import { headOf } from '../../shared/state/lane/lanes.ts';
import { turnOf } from '../../shared/state/turn/turn.ts';
import { textsFor } from '../../shared/texts/language.ts';
import {
  type Attempt,
  type Conclusion,
  FencedError,
  RECOVERY_STAGES,
  type RecoveryStage,
  type Trial,
  type Written,
} from './attempt.ts';
import { type ChatTable, settingsOfChat } from './chat-settings.ts';
import type { Begun, RedisClock } from './lane.ts';

/** The reply of `begin.lua`. */
export type BeginReply =
  | ['settled' | 'waiting', head: EntryId | '', lane: LaneKey, traceparent: string, person: string]
  | ['fenced']
  | ['paused']
  | ['poison candidate', timeMs: number]
  | ['begun', timeMs: number, home: ChatKey, string[], string[], SessionId, string[], string[], behind: number, string];

/** One crash may be any message's fault, or none's. */
const SUSPECT_DEATHS = 2;

/** The arguments for beginning an attempt. */
interface Beginning {
  begin: RunScript<BeginReply>;
  write: RunScript<string>;
  keys: Keys;
  clock: RedisClock;
  chats: ChatTable;
}

/** Begins an attempt at a message: runs `begin.lua` and reads what it returns. */
export async function beginAttempt(
  parts: Beginning,
  entry: EntryId,
  lane: LaneKey,
  newSession: SessionId,
): Promise<Begun> {
  const { keys, clock } = parts;
  const chat = chatOf(lane);
  const { inbound, poisonCandidates, absent, paused, gone } = keys;
  const at = [inbound, keys.turn(entry), keys.lane(lane), keys.chat(chat), poisonCandidates, absent, paused, gone];
  const prefixes = [keys.chatPrefix, keys.lanePrefix, keys.turnPrefix];
  const ids = [SUSPECT_DEATHS, randomUUID(), lane, ...prefixes, chat];
  const noSession = '' as SessionId;
  const args = [entry, newSession, keys.session(noSession), ...ids, keys.log(noSession)];
  const reply = await clock.learn(() => parts.begin(at, args), timeOf);
  if (reply[0] !== 'begun') return notBegun(reply);
  const [, , home, fields, turn, session, sessionFields, chatFields, behind, absence] = reply;
  const read = { fields, turn, session, sessionFields, chatFields, behind, absence };
  return { kind: 'begun', attempt: readAttempt({ ...parts, entry, lane, home, ...read }) };
}

function timeOf(reply: BeginReply): number | undefined {
  return reply[0] === 'begun' || reply[0] === 'poison candidate' ? reply[1] : undefined;
}

/** Why an attempt was not begun. */
function notBegun(reply: Exclude<BeginReply, ['begun', ...unknown[]]>): Begun {
  if (reply[0] === 'poison candidate' || reply[0] === 'fenced' || reply[0] === 'paused') return { kind: reply[0] };
  const [kind, head, ...rest] = reply;
  return head === '' ? { kind: 'settled' } : { kind, head: headOf([head, ...rest]) };
}

/** The reply of `begin.lua`, read. Flat lists are field, value, field, value… */
export interface BegunReply extends Pick<Beginning, 'keys' | 'write' | 'clock' | 'chats'> {
  entry: EntryId;
  lane: LaneKey;
  home: ChatKey;
  fields: string[];
  turn: string[];
  session: SessionId;
  sessionFields: string[];
  chatFields: string[];
  behind: number;
  absence: string;
}

/** Builds an attempt from what `begin.lua` returned. */
export function readAttempt(reply: BegunReply): Attempt {
  const fields = fieldsOf(reply.fields);
  const turn = fieldsOf(reply.turn);
  const session = fieldsOf(reply.sessionFields);
  const { choice, calibration, toolGrants, quietUntilMs, movedFrom, refusedAnswers } = chatFieldsOf(
    fieldsOf(reply.chatFields),
  );
  const stage = stageOf(turn.get('stage') ?? 'none');
  const message = isStage(stage) ? decodeMessage(turn.get('edited') ?? fields.get('message')) : ofLaterVersion(stage);
  const own = chatOf(reply.lane);
  const chatSettings = settingsOfChat(reply.chats, own, reply.home, movedFrom);
  const fencingToken = turn.get('fence') ?? '';
  const state = turnOf(reply.keys, reply.entry, turn);
  const begunAtMs = performance.now();
  const trial = parsed<Trial>(turn.get('trial'));
  // The chat has been bound to another session meanwhile: the trial no longer applies.
  const isForeign = trial !== undefined && trial.in !== reply.session;
  return {
    entry: reply.entry,
    lane: reply.lane,
    chat: own,
    home: reply.home,
    keys: { ...reply.keys, chat: (chat) => reply.keys.chat(chat === own ? reply.home : chat) },
    fencingToken,
    attempts: Number(turn.get('attempts')),
    recoveries: Number(turn.get('recoveries') ?? 0),
    recoveriesBefore: Number(turn.get('recoveriesBefore') ?? 0),
    stage: isForeign || !isStage(stage) ? 'none' : stage,
    rounds: Number(turn.get('rounds') ?? 0),
    message,
    replayOf: fields.get('replayed') as EntryId | undefined,
    isAloneAtBegin: reply.behind === 0,
    goneMs: goneMsOf(reply.absence),
    traceparent: fields.get('traceparent') ?? '',
    session: reply.session,
    ...{ limit: limitOf(session), memory: session.get('memory'), summaryPart: session.get('summaryPart') },
    texts: textsFor(choice('language') ?? chatSettings.language, message.ok ? message.value.from.language : undefined),
    chatSettings,
    choice,
    ...{ calibration, toolGrants, quietUntilMs, refusedAnswers },
    unreportedCompactions: Number(session.get('unreportedCompactions') ?? 0),
    vainCompactions: Number(session.get('vainCompactions') ?? 0),
    refusalsInRow: Number(session.get('refusalsInRow') ?? 0),
    silences: Number(turn.get('silences') ?? 0),
    cutFromMs: optionalNumber(turn.get('cutFrom')),
    isBlamed: turn.has('blamed'),
    trial: isForeign ? undefined : trial,
    maxOutputTokens: optionalNumber(turn.get('maxOutputTokens')),
    conclusion: parsed<Conclusion>(turn.get('conclusion')),
    notices: parsed<string[]>(turn.get('notices')) ?? [],
    readingNotices: parsed<string[]>(turn.get('readingNotices')) ?? [],
    part: (at) => state.reply.markOf(at),
    elapsedMs: () => performance.now() - begunAtMs,
    nowMs: reply.clock.nowMs,
    turn: state,
    ...fencedWrites(reply.write, [reply.keys.turn(reply.entry), reply.keys.absent], fencingToken),
  };
}

function isStage(stage: string): stage is RecoveryStage {
  return RECOVERY_STAGES.some((known) => known === stage);
}

/** Stages of version 0.4: a fresh session that quoted nothing, and a message of which only the ends were shown. */
const FORMER_STAGES: Readonly<Record<string, RecoveryStage>> = { bare: 'fresh', scrubbed: 'fresh' };

function stageOf(stored: string): string {
  return FORMER_STAGES[stored] ?? stored;
}

/** Whoever went on with a stage that it does not know would repeat what was done. */
function ofLaterVersion(stage: string): Attempt['message'] {
  return { ok: false, problem: `stage: ${stage} is none of ${RECOVERY_STAGES.join(', ')}`, isNewer: true };
}

function limitOf(session: ReadonlyMap<string, string>): Attempt['limit'] {
  const tokens = optionalNumber(session.get('limitTokens'));
  const untilMs = Number(session.get('limitUntilMs') ?? 0);
  if (tokens === undefined || untilMs <= Date.now()) return undefined;
  return { tokens, untilMs, of: session.get('limitOf') ?? '' };
}

function optionalNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function parsed<T>(json: string | undefined): T | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as T);
}

/**
 * The writes of one attempt: each goes under its fencing token and its number. A write counts as done
 * once its reply arrives. A rejected write, in effect or not, blocks no later one. `run` is `write.lua`, `at` its keys.
 * Contract: as at `Attempt`.
 */
export function fencedWrites(
  run: RunScript<string>,
  at: string[],
  fencingToken: string,
): Pick<Attempt, 'write' | 'asWrite' | 'afterWrites' | 'assertOwned'> {
  let known = 0;
  let lastSent = 0;
  let before: Promise<unknown> = Promise.resolve();
  // One after the other: on a cluster, another write could overtake a re-sent one, which would then seem to be lost.
  const afterWrites: Attempt['afterWrites'] = (send) => {
    const sent = before.then(() => send(`${known} ${lastSent}`));
    before = sent.catch(() => {});
    return sent;
  };
  const asWrite: Attempt['asWrite'] = (send) =>
    afterWrites(async () => {
      const number = lastSent + 1;
      lastSent = number;
      const reply = await send(`${known} ${number}`);
      known = number;
      return reply;
    });
  const write: Attempt['write'] = (step, commands, expected = []) => {
    const words = commands.flatMap((command) => [command.length, ...command]);
    const onlyChecks = step === '' && commands.length === 0;
    return (onlyChecks ? afterWrites : asWrite)(async (place) => {
      const args = [fencingToken, place, step, expected.length, ...expected.flat(), ...words];
      const written = (await run(at, args)) as Written;
      if (written === 'fenced') throw new FencedError();
      return written;
    });
  };
  return {
    write,
    asWrite,
    afterWrites,
    assertOwned: async () => {
      await write('', []);
    },
  };
}
