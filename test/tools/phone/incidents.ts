import { setTimeout as pause } from 'node:timers/promises';
import { runCli } from '../../fixture/cli.ts';
import { ALERT_CHAT, createWorld, type World } from '../../fixture/gateway.ts';
import { type GatewayProcess, portOf, spawnRunning } from '../../fixture/process.ts';
import { type AlertReceiver, startAlertReceiver } from '../../stand-in/alert-receiver.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';
import { Lamp } from './lamp.ts';
import { Phone } from './phone.ts';

/** What an incident is played with. */
interface Night {
  world: World;
  phone: Phone;
  /** The second channel. */
  channel: AlertReceiver;
  /** See `Lamp.fault`. */
  fault(): void;
  /** Starts the installation anew, as whoever has a shell does. */
  restart(): Promise<void>;
}

/** An incident that is closed from a phone. */
export interface PhoneIncident {
  name: string;
  /** What somebody else, or a shell, has to do meanwhile. */
  outside: string;
  /** The steps of the operator; resolves when the incident is over. */
  play(night: Night): Promise<void>;
}

/** What it took. */
export interface Played {
  name: string;
  outside: string;
  presses: readonly string[];
  /** The first line of each message of the chat that rang, oldest first. */
  rings: readonly string[];
  lamp: Lamp['turns'];
  /** See `Phone.seconds`. */
  seconds: ReturnType<Phone['seconds']>;
}

const ANN = 1001;
const CHATS = [ANN, 1002, 1003, 1004, 1005, 1006, 1007, 1008];
const KEY_REFUSED: Reaction = { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' };
const FOR_EVER = 1_000_000;
const CHANNEL_WAIT_MS = 300_000;
/** Shorter than its default, so that nobody waits for two minutes to be alerted. */
const UNANSWERED_MS = 15_000;
/** Long enough for further looks and edits behind the end of an incident. */
const PASSED_MS = 20_000;

/** Redis refuses writes while a setting has the first value. What somebody writes is answered once it has the second. */
async function refuseWrites(
  { world, phone, fault }: Night,
  setting: string,
  [bad, good]: [bad: number, good: number],
  says: RegExp,
): Promise<void> {
  fault();
  await world.peek.config('SET', setting, bad);
  world.telegram.say(ANN, 'Hello?');
  await phone.reads(says);
  await world.peek.config('SET', setting, good);
  await phone.reads(/^Resolved(?:.|\n)*Redis takes writes/);
  await world.telegram.waitForText(ANN, /You said/, 60_000);
}

/** The incidents, each from its fault to its end. */
export const INCIDENTS: readonly PhoneIncident[] = [
  {
    name: 'a refused key',
    outside: 'the key is accepted again',
    async play({ world, phone, fault }) {
      let isRefused = true;
      fault();
      world.claude.react(() => (isRefused ? KEY_REFUSED : undefined));
      for (const chat of CHATS) world.telegram.say(chat, 'Hello?');
      await phone.reads(/^🔴 Page: Every message fails: the endpoint rejects the API key/);
      await Promise.all(CHATS.map((chat) => world.telegram.waitForText(chat, /./)));
      isRefused = false;
      await phone.presses(/^Try again now$/);
      await phone.reads(/^It answers/);
      await phone.reads(/^Resolved: (?:.|\n)*rejects the API key/);
      await phone.presses(/^Replay failed$/);
      await phone.reads(/^Replayed (\d+) of \1\./);
      phone.putAway();
      await Promise.all(CHATS.map((chat) => world.telegram.waitForText(chat, /You said/)));
    },
  },
  {
    name: 'a revoked token',
    outside: 'a new token is set, and the gateway started anew',
    async play({ world, channel, restart, fault }) {
      const sent = (match: RegExp) => () => channel.taken.find(({ text }) => match.test(String(text)));
      fault();
      world.telegram.fail('*', { status: 401, description: 'Unauthorized' }, FOR_EVER);
      await channel.until('the alert', sent(/rejects the bot token/));
      world.telegram.heal();
      await restart();
      await channel.until('its end', sent(/Resolved/));
      world.telegram.say(ANN, 'Hello?');
      await world.telegram.waitForText(ANN, /You said/, 60_000);
    },
  },
  {
    name: 'a full Redis',
    outside: 'maxmemory is raised: a full Redis takes no press either',
    play: (night) => refuseWrites(night, 'maxmemory', [1_000_000, 0], /Redis takes no writes(?:.|\n)*maxmemory/),
  },
  {
    name: 'a stuck chat',
    outside: 'nothing',
    async play({ world, phone, fault }) {
      fault();
      world.claude.react((call) =>
        call.pendingText.includes('[stuck]') ? { do: 'silent', text: '', pingEveryMs: 1_000 } : undefined,
      );
      world.telegram.say(ANN, '[stuck] Are you there?');
      await phone.reads(/^🔴 Page: Messages have waited too long/);
      await phone.presses(/^Cancel message$/);
      await phone.presses(/^Yes, cancel/);
      await phone.reads(/cancel/);
      phone.putAway();
      await phone.reads(/^Resolved: .*(?:.|\n)*waited too long/);
      world.telegram.say(ANN, 'And now?');
      await world.telegram.waitForText(ANN, /And now/, 60_000);
    },
  },
  {
    name: 'an overflow storm',
    outside: 'the proxy in front of the model is put right',
    async play({ world, phone, fault }) {
      fault();
      world.claude.windowTokens = 1_000;
      for (const chat of CHATS) world.telegram.say(chat, 'Hello?');
      await Promise.all(CHATS.map((chat) => world.telegram.waitForText(chat, /./, 120_000)));
      await phone.reads(/Every message fails/);
      world.claude.windowTokens = 200_000;
      await phone.reads(/^Resolved: (?:.|\n)*Every message fails/);
    },
  },
  {
    name: 'a Redis that is nearly full, then full',
    outside: 'maxmemory is raised',
    async play(night) {
      const { world, phone, fault } = night;
      // The gateway's own writes are little beside it.
      await world.peek.setrange('ballast', 40_000_000, 'x');
      const used = Number(/used_memory:(\d+)/.exec(await world.peek.info('memory'))?.[1]);
      fault();
      await world.peek.config('SET', 'maxmemory', Math.round(used * 1.1));
      await phone.reads(/nearly full/);
      await refuseWrites(night, 'maxmemory', [1_000_000, 0], /Redis takes no writes(?:.|\n)*maxmemory/);
      await phone.reads(/^Resolved(?:.|\n)*Redis (?:is|has)/);
    },
  },
  {
    name: 'messages that failed and that nobody replays',
    outside: 'the key is accepted again',
    async play({ world, phone, fault }) {
      let isRefused = true;
      fault();
      world.claude.react(() => (isRefused ? KEY_REFUSED : undefined));
      for (const chat of CHATS.slice(0, 4)) world.telegram.say(chat, 'Hello?');
      await phone.reads(/^🔴 Page: Every message fails: the endpoint rejects the API key/);
      isRefused = false;
      await phone.reads(/^Resolved: (?:.|\n)*rejects the API key/);
      await pause(PASSED_MS);
    },
  },
  {
    name: 'intake that cannot store',
    outside: 'the replica is back',
    play: (night) => refuseWrites(night, 'min-replicas-to-write', [1, 0], /Redis takes no writes/),
  },
  {
    name: 'a pause that ends',
    outside: 'the pause is ended on the command line',
    async play({ world, phone, fault }) {
      fault();
      await runCli(['pause', '--why', 'maintenance'], world.env);
      for (const chat of CHATS) world.telegram.say(chat, 'Hello?');
      await phone.reads(/paused chats/);
      await pause(UNANSWERED_MS);
      await runCli(['resume'], world.env);
      await Promise.all(CHATS.map((chat) => world.telegram.waitForText(chat, /You said/)));
      await phone.reads(/^Resolved(?:.|\n)*paused/);
    },
  },
];

/** Plays an incident with a real gateway and its own clocks. Rejects where a step does not lead on. */
export async function playIncident({ name, outside, play }: PhoneIncident): Promise<Played> {
  const channel = await startAlertReceiver(CHANNEL_WAIT_MS);
  const world = await createWorld({
    env: {
      TELEGRAM_OPERATOR_IDS: String(ALERT_CHAT),
      UNANSWERED_ALERT_MS: String(UNANSWERED_MS),
      ALERT_WEBHOOK_URL: channel.url,
      LOG_LEVEL: 'info',
    },
  });
  const phone = new Phone(world);
  const lamp = new Lamp();
  let gateway: GatewayProcess = await spawnRunning('spillway.ts', world.env);
  const watched = lamp.watch(() => portOf(gateway));
  try {
    await play({
      ...{ world, phone, channel },
      fault: () => lamp.fault(),
      async restart() {
        await gateway.stop();
        gateway = await spawnRunning('spillway.ts', world.env);
      },
    });
    return { name, outside, presses: phone.pressed, seconds: phone.seconds(), rings: phone.rings(), lamp: lamp.turns };
  } finally {
    lamp.stop();
    await watched;
    await gateway.stop();
    await world.close();
    await channel.stop();
  }
}
