/** What can happen to the provider of the model. */
import { setTimeout as pause } from 'node:timers/promises';
import { chatKey } from '../../shared/redis/keys.ts';
import { randomInt } from '../fixture/random.ts';
import { LIES } from '../stand-in/claude/lies.ts';
import type { Reaction } from '../stand-in/claude/reaction.ts';
import { killGateway } from './gateway-scenarios.ts';
import { midTraffic, PACE_MS, type Scenario, type Stage } from './scenario.ts';
import { FIRST_CHAT, questionOf } from './traffic.ts';

const BROWNOUT_MS = 3_000;
const UNAUTHORIZED = 401;
const GUARDED = 400;

/** The ways in which a provider fails for a moment. */
export const TRANSIENT: readonly Reaction[] = [
  { do: 'error', status: 429, type: 'rate_limit_error', message: 'slow down' },
  { do: 'error', status: 429, type: 'rate_limit_error', message: 'slow down', headers: { 'retry-after': '2' } },
  { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' },
  { do: 'error', status: 500, type: 'api_error', message: 'Internal server error' },
  { do: 'raw', status: 502, body: '<html>bad gateway</html>' },
  { do: 'errorEvent', type: 'overloaded_error', message: 'Overloaded' },
  { do: 'truncate', text: 'half an ans' },
  { do: 'cut', text: 'half an ans' },
];

/** Lets a share of the calls fail while it lasts. */
export async function brownOut(
  { world, faults }: Stage,
  name: string,
  lastMs: number,
  draw: () => Reaction | undefined,
): Promise<void> {
  let isOut = true;
  world.claude.react((call) => (isOut && call.kind === 'main' ? draw() : undefined));
  await faults.during(name, [], async () => {
    await pause(lastMs);
    isOut = false;
  });
}

/** One gateway, messages, and a brownout in the middle. */
async function under(stage: Stage, name: string, draw: () => Reaction | undefined): Promise<void> {
  await stage.world.fleet.start();
  await midTraffic(stage, PACE_MS, () => brownOut(stage, name, BROWNOUT_MS, draw), [0.3]);
}

const mixed: Scenario = {
  name: 'claude-brownout',
  about: 'for 3 seconds two of three calls fail: 429 with and without a wait, 529, 500, 502, error events, cut streams',
  traffic: { messages: 120, chats: 20, kinds: 'mixed' },
  isInCut: true,
  play: (stage) =>
    under(stage, 'brownout', () =>
      stage.random() < 0.67 ? TRANSIENT[randomInt(stage.random, TRANSIENT.length)] : undefined,
    ),
};

const away: Scenario = {
  name: 'claude-away',
  about: 'for 3 seconds every call is answered with 529',
  traffic: { messages: 120, chats: 20 },
  play: (stage) =>
    under(stage, 'away', () => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' })),
};

const hanging: Scenario = {
  name: 'claude-hangs',
  about: 'for 3 seconds calls hang before their headers or fall silent in the middle; a turn may take 3 seconds',
  traffic: { messages: 80, chats: 16 },
  env: { TURN_TIMEOUT_MS: '3000' },
  play: (stage) =>
    under(stage, 'hangs', () => (stage.random() < 0.5 ? { do: 'hang' } : { do: 'silent', text: 'half an ans' })),
};

/** The opening of the endpoint's incident, by the first message or by a look, and its end. */
export const KEY_REFUSED = /^A message failed \(|^The model endpoint does not accept|^Resolved: the model endpoint/m;

const unauthorized: Scenario = {
  name: 'claude-refuses-key',
  about: 'for 3 seconds the key is not accepted: every user of that time is told, and the operator once',
  traffic: { messages: 80, chats: 16 },
  rules: { refusals: [UNAUTHORIZED], alertsMin: 1, alertsMax: 2, alertLike: KEY_REFUSED },
  async play(stage) {
    await under(stage, 'key refused', () => ({
      do: 'error',
      status: UNAUTHORIZED,
      type: 'authentication_error',
      message: 'invalid x-api-key',
    }));
    const refused = stage.world.claude.calls.filter(({ status }) => status === UNAUTHORIZED).length;
    if (refused === 0) throw new Error('No call was refused.');
  },
};

const overflowing: Scenario = {
  name: 'claude-overflows',
  about: 'a fifth of the calls is answered with an overflow, whatever was sent: each chat recovers and goes on',
  traffic: { messages: 60, chats: 12 },
  // Each of these chats may need a fresh session, and a message that gives up is told.
  rules: {
    callsMax: 4 + 5,
    alertsMax: 8,
    alertLike: /fresh session|could not be answered/,
    unansweredMax: 2,
  },
  play: (stage) => under(stage, 'overflows', () => (stage.random() < 0.2 ? { do: 'overflow' } : undefined)),
};

const guarded: Scenario = {
  name: 'claude-guarded',
  about:
    'a firewall refuses every request that holds a certain word, without a body, while gateways are killed: the messages with that word fail, each chat keeps its session, and every other message is answered',
  traffic: { messages: 60, chats: 10 },
  rules: {
    refusals: [GUARDED],
    callsMax: 4 + 5,
    alertsMin: 1,
    alertsMax: 2,
    alertLike: /rejects it|could not be answered/,
  },
  async play(stage) {
    const { world, traffic } = stage;
    world.claude.guard.rejectsText = { pattern: /\bfence\b/, respond: 'bodyless' };
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    await midTraffic(stage, PACE_MS, () => killGateway(stage), [0.25, 0.5, 0.75]);
    const guilty = traffic.asked.filter(({ text }) => /\bfence\b/.test(text)).length;
    if (guilty === 0) throw new Error('No message was refused.');
  },
};

const CHOSEN = 'claude-haiku-4-5-20251001';
const UNKNOWN: readonly Reaction[] = [
  { do: 'error', status: 404, type: 'not_found_error', message: `model: ${CHOSEN}` },
  { do: 'raw', status: 404, headers: { 'content-type': 'text/html' }, body: '<html><h1>404 Not Found</h1></html>' },
];

const forgetful: Scenario = {
  name: 'claude-forgets-model',
  about:
    'every chat has chosen another model, and now and then one call of it is answered with 404, while a gateway is killed: each message is answered, and nobody hears of it',
  traffic: { messages: 100, chats: 16 },
  env: { MODELS: CHOSEN },
  async play(stage) {
    const { world, random } = stage;
    for (let at = 0; at < 16; at++) await world.peek.hset(world.keys.chat(chatKey(FIRST_CHAT + at)), 'model', CHOSEN);
    let hit: string | undefined;
    let strays = 0;
    world.claude.react((call) => {
      const question = questionOf(call);
      if (hit === question) hit = undefined;
      else if (hit === undefined && random() < 0.3) {
        hit = question;
        return UNKNOWN[strays++ % UNKNOWN.length];
      }
      return undefined;
    });
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    await midTraffic(stage, 4 * PACE_MS, () => killGateway(stage), [0.5]);
    if (strays === 0) throw new Error('No call was answered with 404.');
  },
};

const lying: Scenario = {
  name: 'claude-lies',
  about:
    'every third message meets one refusal that is not true, in one of twenty-five wordings, and gateways are killed: each message is answered, no chat loses anything, and nobody hears of it',
  traffic: { messages: 120, chats: 20 },
  async play(stage) {
    const { world, random } = stage;
    const lies = Object.values(LIES).filter((lie) => !('status' in lie) || lie.status < 500);
    const met = new Set<string>();
    world.claude.react((call) => {
      const question = questionOf(call);
      if (call.kind !== 'main' || question === undefined || met.has(question)) return undefined;
      met.add(question);
      return random() < 0.33 ? lies[randomInt(random, lies.length)] : undefined;
    });
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    await midTraffic(stage, 4 * PACE_MS, () => killGateway(stage), [0.4, 0.7]);
  },
};

/** Everything about the provider. */
export const CLAUDE_SCENARIOS: readonly Scenario[] = [
  mixed,
  away,
  hanging,
  unauthorized,
  overflowing,
  guarded,
  forgetful,
  lying,
];
