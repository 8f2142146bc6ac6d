/** What could blind those who watch. */
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { brownOut, TRANSIENT } from './claude-scenarios.ts';
import { midTraffic, PACE_MS, type Scenario, type Stage, until } from './scenario.ts';

const HOUR_MS = 3_600_000;
/** Long enough for a message to be overdue, and for a look after that. */
const OUTAGE_MS = 12_000;
const TOLD_MS = 25_000;
const ENV = { UNANSWERED_ALERT_MS: '3000' };
const UNANSWERED = /^A message is unanswered|^Resolved: messages are answered again/m;
/** The chats that are paused, with as many messages each as one may hold. */
const RESTING_CHATS = Array.from({ length: 42 }, (_, at) => `${9_000 + at}`);
const RESTING = 50 * RESTING_CHATS.length;

/** That something is not told at all is judged. */
function untilTold({ world }: Stage, text: RegExp): Promise<void> {
  const told = (): boolean =>
    world.telegram.shown(ALERT_CHAT).some((alert) => alert.text.split('\n').some((line) => text.test(line)));
  return until(`the news ${text}`, told, TOLD_MS).catch(() => undefined);
}

/** Two gateways; something is done to the state, and in the middle of the messages the endpoint fails for long. */
async function blinded(stage: Stage, name: string, blind: () => Promise<unknown>): Promise<void> {
  const { world, faults } = stage;
  await Promise.all([world.fleet.start(), world.fleet.start()]);
  await until('a poll', async () => (await world.peek.hexists(world.keys.poll, 'lastAnswerMs')) === 1);
  await faults.during(name, [], blind);
  await midTraffic(stage, PACE_MS, () => brownOut(stage, 'brownout', OUTAGE_MS, () => TRANSIENT[0]), [0.3]);
  await untilTold(stage, /^A message is unanswered/m);
}

const unknownCause: Scenario = {
  name: 'book-unknown',
  about: 'a later version leaves an incident, garbage and an alert behind that no version here knows: alerts go on',
  traffic: { messages: 60, chats: 16 },
  env: ENV,
  rules: {
    alertsMin: 3,
    alertsMax: 4,
    alertLike: new RegExp(`${UNANSWERED.source}|^The book of incidents holds|^Time has come back`, 'm'),
  },
  play: (stage) =>
    blinded(stage, 'state of a later version', async () => {
      const { peek, keys } = stage.world;
      const future = JSON.stringify({
        ...{ cause: 'from-the-future', key: '', isOpen: true, openedMs: 1, lastMs: 1, reopenings: 0, wings: 2 },
        ...{ first: 'a', latest: 'a', level: '', messages: 9, chats: 9, chatNames: [], unnamed: [], unnamedMore: 0 },
      });
      await peek.hset(keys.incidents, { 'incident:from-the-future': future, 'incident:unanswered': 'no JSON' });
      await peek.xadd(keys.alerts, '*', 'alert', JSON.stringify({ cause: 'time', text: 'Time has come back' }));
    }),
};

const unreadablePart: Scenario = {
  name: 'state-unreadable',
  about: 'a key that one rule needs is of another kind: that is told, and what the other rules see as well',
  traffic: { messages: 60, chats: 16 },
  env: ENV,
  rules: { alertsMin: 2, alertsMax: 3, alertLike: new RegExp(`${UNANSWERED.source}|^A part of the watch fails`, 'm') },
  play: (stage) =>
    blinded(stage, 'unreadable key', async () => {
      await stage.world.peek.del(stage.world.keys.models);
      await stage.world.peek.set(stage.world.keys.models, 'no hash');
    }),
};

const clockBack: Scenario = {
  name: 'redis-clock-back',
  about: "the state is as Redis' clock leaves it when it steps back by an hour: ids and times lie an hour ahead",
  traffic: { messages: 60, chats: 16 },
  env: ENV,
  rules: { alertsMin: 1, alertsMax: 2, alertLike: UNANSWERED },
  play: (stage) =>
    blinded(stage, 'clock an hour back', async () => {
      const { peek, keys } = stage.world;
      const aheadMs = Date.now() + HOUR_MS;
      // Ids never go back: until the hour is over, all that is accepted has these ms.
      await peek.call('XSETID', keys.inbound, `${aheadMs}-0`);
      await peek.hset(keys.alerting, {
        atMs: aheadMs,
        sentMs: Array(20)
          .fill(aheadMs - HOUR_MS / 2)
          .join(','),
      });
      for (const field of ['firstMs', 'lastAnswerMs']) await peek.hincrby(keys.poll, field, HOUR_MS);
    }),
};

const busyPause: Scenario = {
  name: 'pause-busy',
  about: 'paused chats hold more messages than anybody looks at one by one: others that wait are told of all the same',
  traffic: { messages: 60, chats: 16 },
  env: ENV,
  rules: {
    alertsMin: 3,
    alertsMax: 4,
    alertLike: new RegExp(`${UNANSWERED.source}|has paused them|^Resolved: no message waits for a pause`, 'm'),
  },
  async play(stage) {
    const { peek, keys } = stage.world;
    const since = Date.now() - HOUR_MS;
    await peek.hset(keys.paused, Object.fromEntries(RESTING_CHATS.map((chat) => [chat, '{}'])));
    const pipeline = peek.pipeline();
    for (const [at, entry] of restingEntries(since).entries())
      pipeline.xadd(keys.inbound, entry, 'chat', RESTING_CHATS[at % RESTING_CHATS.length] ?? '', 'message', '{}');
    pipeline.hset(keys.counts, 'accepted', RESTING, 'settled', 0);
    await pipeline.exec();
    await blinded(stage, 'busy chats are paused', async () => {});
    await rest(stage, since);
    await untilTold(stage, /^Resolved: no message waits for a pause/);
  },
};

function restingEntries(since: number): string[] {
  return Array.from({ length: RESTING }, (_, n) => `${since}-${n + 1}`);
}

/** Takes the messages of the paused chats away again, as if each had its outcome. */
async function rest({ world: { peek, keys } }: Stage, since: number): Promise<void> {
  const entries = restingEntries(since);
  const lanes = RESTING_CHATS.map((chat) => keys.lanePrefix + chat);
  await peek
    .multi()
    .xack(keys.inbound, 'dispatcher', ...entries)
    .xdel(keys.inbound, ...entries)
    .del(...lanes, ...entries.map((entry) => keys.turnPrefix + entry))
    .srem(keys.lanes, RESTING_CHATS)
    .hincrby(keys.counts, 'settled', RESTING)
    .hdel(keys.paused, ...RESTING_CHATS)
    .exec();
}

/** Everything about those who watch. */
export const WATCHER_SCENARIOS: readonly Scenario[] = [unknownCause, unreadablePart, clockBack, busyPause];
