/** A kill -9 at every named step of the flow, at the first attempt of a message and again at its second. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Failpoint } from '../../shared/base/failpoint.ts';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { chatKey } from '../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { buttonsOf } from '../fixture/buttons.ts';
import { conversation } from '../fixture/history.ts';
import { openNotebook, use } from '../fixture/notebook.ts';
import type { ReactionRule } from '../stand-in/claude/reaction.ts';
import { blocksOf } from '../stand-in/claude/request.ts';
import type { Rules } from './judge.ts';
import { killAroundPress, PRESS_ENV } from './press-scenarios.ts';
import { type Scenario, type Stage, untilIdle } from './scenario.ts';
import { killAroundSummons, SUMMONS_ENV } from './summons-scenarios.ts';
import { FIRST_CHAT, numberIn, questionOf } from './traffic.ts';

/** What a message must meet on its way so that the step is reached at all. */
type Way =
  | 'plain'
  | 'tools'
  | 'long results'
  | 'questions'
  | 'archive'
  | 'summons'
  | 'press'
  | 'forget'
  | 'overflow'
  | 'overflow twice'
  | 'lost response';

const WAYS: Readonly<Partial<Record<Failpoint, Way>>> = {
  'round stored': 'tools',
  'tool called': 'tools',
  'tool result stored': 'tools',
  'results stored': 'tools',
  parked: 'questions',
  'question shown': 'questions',
  'question decided': 'questions',
  'act recorded': 'press',
  'act done': 'press',
  'act noted': 'press',
  'summons answered': 'summons',
  'summons noted': 'summons',
  'file stored': 'long results',
  'segment stored': 'archive',
  'references erased': 'forget',
  'summary part stored': 'overflow',
  'compaction stored': 'overflow',
  'moved to wait': 'overflow twice',
  'fresh session stored': 'overflow twice',
};

/** Why a message passes a step once, whatever is killed there. */
interface Once {
  why: string;
  /** Whether the second gateway dies at a later message of the chat. If not, it must heal what the first one left. */
  later: boolean;
}

/** Every other step is passed again by the next attempt at the same message, and the second gateway must die of that. */
const ONCE: Readonly<Partial<Record<Failpoint, Once>>> = {
  confirmed: { why: 'what is confirmed does not come again', later: true },
  // A later message of the chat would heal what was left behind: one that is alone must be healed too.
  admitted: { why: 'what was read from the stream is not read again', later: false },
  'job added': { why: 'what was read from the stream is not read again', later: true },
  'question shown': { why: 'a press decides what was shown', later: true },
  'question decided': { why: 'a decision is kept', later: true },
  'summary part stored': { why: 'a part that is finished is kept', later: false },
  'compaction stored': { why: 'the stage was stored with it', later: false },
  'fresh session stored': { why: 'the stage was stored with it', later: false },
  'answer stored': { why: 'a conclusion is kept, and the model is not asked again', later: true },
  settled: { why: 'the entry is gone', later: true },
  'next added': { why: 'the entry is gone', later: true },
};
const PRESS_EVERY_MS = 50;
const LONG_SESSION_TURNS = 60;
/** A session of some segments besides its newest part; it is closed, so that its archive waits for the next gateway. */
const ARCHIVED_TURNS = 1_500;
/** It must stand in no request any more. */
const TO_FORGET = [
  JSON.stringify({ role: 'user', content: '[m000000] stage?' }),
  JSON.stringify({ role: 'assistant', content: 'Here you are.' }),
];
const CUT_STEPS: readonly string[] = ['answer stored'];

/** Read off the source, so that a step that is added there cannot be forgotten here. */
function stepsOfTheFlow(): Failpoint[] {
  const source = readFileSync(join(PROJECT_ROOT, 'shared', 'base', 'failpoint.ts'), 'utf8');
  const type = /export type Failpoint =([^;]+);/.exec(source)?.[1] ?? '';
  return [...type.matchAll(/'([a-z -]+)'/g)].map(([, name]) => name as Failpoint);
}

/** One scenario for each step. */
export const FAILPOINT_SCENARIOS: readonly Scenario[] = stepsOfTheFlow().map((step) => scenarioOf(step));

function scenarioOf(step: Failpoint): Scenario {
  const way = WAYS[step] ?? 'plain';
  const once = ONCE[step];
  return {
    name: `killed-${step.replaceAll(' ', '-')}`,
    about: `the gateway is killed at "${step}", ${once ? `once a message (${once.why})` : 'and the one after it too'}`,
    // One chat: its head is the only message that can reach the step.
    traffic: {
      messages: once?.later === false && way === 'plain' ? 1 : 4,
      chats: 1,
      kinds: way === 'forget' ? ['forget', 'text', 'text', 'text'] : ['parts', 'text'],
    },
    rules: rulesOf(way, step),
    ...(CUT_STEPS.includes(step) && { isInCut: true }),
    ...(way.startsWith('overflow') && { claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } }),
    ...(isOfTools(way) && { prepare: () => prepareNotebook(way) }),
    ...(way === 'summons' && { env: SUMMONS_ENV }),
    ...(way === 'press' && { env: PRESS_ENV }),
    play: (stage) => {
      if (way === 'press') return killAroundPress(stage, step);
      return way === 'summons' ? killAroundSummons(stage, step) : killTwice(stage, step, way);
    },
  };
}

function rulesOf(way: Way, step: Failpoint): Partial<Rules> {
  // The second gateway dies of the repeat: whether that arrived, nobody knows.
  if (step === 'part sent') return { alertsMax: 1, alertLike: /^A part of an answer was sent twice/m };
  // Each of two rounds of tools has its own four calls; each overflow is a call that is made again.
  // What is written while a question waits is its answer, and has none of its own.
  if (isOfTools(way)) return { callsMax: 4 * 3 + 5, ...(way === 'questions' && { unansweredMax: 3 }) };
  if (way === 'press') return { alertsMin: 3, alertsMax: 3 };
  return way === 'overflow twice' ? { alertsMin: 1, alertsMax: 1, alertLike: /fresh session/ } : {};
}

function isOfTools(way: Way): boolean {
  return way === 'tools' || way === 'long results' || way === 'questions';
}

async function prepareNotebook(way: Way) {
  const { env, remove } = await openNotebook(way === 'questions' ? {} : { approve: 'never' });
  // Whatever a tool returns is then too long to be shown, so that the rest of it is kept.
  return { env: { ...env, ...(way === 'long results' && { TOOL_RESULT_MAX_CHARS: '1' }) }, remove };
}

/**
 * The first message is alone until both gateways have died of it, so the second died at its second attempt. Where a
 * message passes the step once, the second gateway dies at the next one, or heals what the first one left.
 */
async function killTwice(stage: Stage, step: Failpoint, way: Way): Promise<void> {
  const { world, traffic, faults } = stage;
  const once = ONCE[step];
  const atOnce = step === 'next added' ? 2 : 1;
  await layOut(stage, way);
  const noMoreQuestions = way === 'questions' ? pressQuestions(stage) : () => {};
  await traffic.pour({ messages: atOnce });
  const dies = (): Promise<boolean> =>
    world.fleet.startDoomed(step, once?.later ? untilNextSettled(stage, atOnce) : untilSettled(stage));
  const deaths = await faults.during(`killed at ${step}, twice`, ['send', 'overlap'], async () => {
    const first = await dies();
    return [first, await dies()];
  });
  await world.fleet.start();
  await traffic.pour();
  if (way === 'questions') await untilSettled(stage);
  noMoreQuestions();
  const expected = [true, once?.later !== false];
  if (deaths.join() !== expected.join()) throw new Error(`Died at "${step}": ${deaths}, not ${expected}.`);
}

/** Resolves when all is settled, or when nothing more is to be expected. */
async function untilSettled({ world, patienceMs }: Stage): Promise<void> {
  await untilIdle(world, Date.now() + patienceMs);
}

/** Writes the next messages when all is settled, unless somebody has done so meanwhile, and resolves when they are settled. */
async function untilNextSettled(stage: Stage, messages: number): Promise<void> {
  const { traffic } = stage;
  const before = traffic.asked.length;
  await untilSettled(stage);
  if (traffic.asked.length === before) await traffic.pour({ messages });
  await untilSettled(stage);
}

/** For each question the model calls a tool that changes something, then one that only reads, and then answers. */
const twoRounds: ReactionRule = (call) => {
  const number = numberIn(questionOf(call));
  const used = call.body.messages.flatMap(({ content }) => blocksOf(content)).map(({ id }) => String(id));
  const next = ['write', 'look'].find((tool) => !used.includes(`${tool}-${number}`));
  return next === undefined ? undefined : { do: 'answer', content: [use(`${next}-${number}`, next)] };
};

/** The model asks, and somebody presses the first button under each question, once. Returns what ends both. */
function pressQuestions({ world: { claude, telegram } }: Stage): () => void {
  let isOver = false;
  claude.react((call) => (isOver ? undefined : twoRounds(call)));
  const pressed = new Set<number>();
  const timer = setInterval(() => {
    for (const message of telegram.shown(FIRST_CHAT)) {
      const [button] = buttonsOf(message);
      if (!message.text.startsWith('May I') || button === undefined || pressed.has(message.messageId)) continue;
      pressed.add(message.messageId);
      telegram.press(FIRST_CHAT, message.messageId, button.callback_data ?? '');
    }
  }, PRESS_EVERY_MS);
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}

/** Makes sure that messages pass the step. */
async function layOut({ world, traffic }: Stage, way: Way): Promise<void> {
  if (way === 'plain') return;
  if (way === 'questions') return;
  if (isOfTools(way)) return world.claude.react(twoRounds);
  if (way === 'forget')
    return void (await importSession(world.peek, world.keys, chatKey(FIRST_CHAT), await parseLines(TO_FORGET)));
  if (way === 'lost response') return world.telegram.fail('sendMessage', { do: 'loseReply' });
  const records = await parseLines(conversation(way === 'archive' ? ARCHIVED_TURNS : LONG_SESSION_TURNS, 1_000));
  await importSession(world.peek, world.keys, chatKey(FIRST_CHAT), records);
  if (way === 'archive')
    return void (await importSession(world.peek, world.keys, chatKey(FIRST_CHAT), records.slice(0, 2)));
  if (way === 'overflow') return;
  // As it is, once more, and once more because the endpoint counts that it fits; then as it was compacted.
  const mains = () => world.claude.calls.filter(({ kind }) => kind === 'main').length;
  world.claude.react((call) =>
    call.kind === 'main' && traffic.asked[0]?.text === call.pendingText && mains() <= 4
      ? { do: 'overflow' }
      : undefined,
  );
}
