/** A kill -9 at every named step of the flow, at the first attempt of a message and again at its second. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Failpoint } from '../../shared/failpoint.ts';
import { chatKey } from '../../shared/keys.ts';
import { PROJECT_ROOT } from '../../shared/project.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { conversation } from '../fixture/history.ts';
import { openNotebook, use } from '../fixture/notebook.ts';
import type { ReactionRule } from '../stand-in/claude/reaction.ts';
import { blocksOf } from '../stand-in/claude/request.ts';
import type { Rules } from './judge.ts';
import { type Scenario, type Stage, untilIdle } from './scenario.ts';
import { FIRST_CHAT, numberIn, questionOf } from './traffic.ts';

/** What a message must meet on its way so that the step is reached at all. */
type Way = 'plain' | 'tools' | 'overflow' | 'overflow twice';

const WAYS: Readonly<Partial<Record<Failpoint, Way>>> = {
  'round stored': 'tools',
  'tool called': 'tools',
  'tool result stored': 'tools',
  'results stored': 'tools',
  'compaction stored': 'overflow',
  'moved to wait': 'overflow',
  'fresh session stored': 'overflow twice',
};

/** After these steps a next message of the chat would heal what was left behind: a message that is alone must be healed too. */
const ALONE: readonly string[] = ['admitted'];
const ENOUGH_MS = 60_000;
const LONG_SESSION_TURNS = 60;
const CUT_STEPS: readonly string[] = ['answer stored'];

/** Read off the source, so that a step that is added there cannot be forgotten here. */
function stepsOfTheFlow(): Failpoint[] {
  const source = readFileSync(join(PROJECT_ROOT, 'shared', 'failpoint.ts'), 'utf8');
  const type = /export type Failpoint =([^;]+);/.exec(source)?.[1] ?? '';
  return [...type.matchAll(/'([a-z -]+)'/g)].map(([, name]) => name as Failpoint);
}

/** One scenario for each step. */
export const FAILPOINT_SCENARIOS: readonly Scenario[] = stepsOfTheFlow().map((step) => scenarioOf(step));

function scenarioOf(step: Failpoint): Scenario {
  const way = WAYS[step] ?? 'plain';
  return {
    name: `killed-${step.replaceAll(' ', '-')}`,
    about: `the gateway is killed at "${step}", and the one after it too`,
    // One chat: its head is the only message that can reach the step, so the second kill is at its second attempt.
    traffic: { messages: ALONE.includes(step) ? 1 : 4, chats: 1, kinds: ['parts', 'text'] },
    rules: rulesOf(way),
    ...(CUT_STEPS.includes(step) && { isInCut: true }),
    ...(way.startsWith('overflow') && { claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } }),
    ...(way === 'tools' && { prepare: prepareNotebook }),
    play: (stage) => killTwice(stage, step, way),
  };
}

function rulesOf(way: Way): Partial<Rules> {
  // Each of two rounds of tools has its own four calls; each overflow is a call that is made again.
  if (way === 'tools') return { callsMax: 4 * 3 + 5 };
  return way === 'overflow twice' ? { alertsMin: 1, alertsMax: 1 } : {};
}

async function prepareNotebook() {
  const { env, remove } = await openNotebook();
  return { env, remove };
}

async function killTwice(stage: Stage, step: Failpoint, way: Way): Promise<void> {
  const { world, traffic, faults } = stage;
  await layOut(stage, way);
  await traffic.pour();
  const enough = untilSettled(stage);
  const died = await faults.during(`killed at ${step}, twice`, ['send', 'overlap'], async () => {
    const first = await world.fleet.startDoomed(step, 1, enough);
    await world.fleet.startDoomed(step, 1, enough);
    return first;
  });
  await world.fleet.start();
  if (!died) throw new Error(`The step "${step}" was never reached.`);
}

/** Resolves when all is settled, or when nothing more is to be expected. */
async function untilSettled({ world }: Stage): Promise<void> {
  await untilIdle(world, Date.now() + ENOUGH_MS);
}

/** For each question the model calls a tool that changes something, then one that only reads, and then answers. */
const twoRounds: ReactionRule = (call) => {
  const number = numberIn(questionOf(call));
  const used = call.body.messages.flatMap(({ content }) => blocksOf(content)).map(({ id }) => String(id));
  const next = ['write', 'look'].find((tool) => !used.includes(`${tool}-${number}`));
  return next === undefined ? undefined : { do: 'answer', content: [use(`${next}-${number}`, next)] };
};

/** Makes sure that messages pass the step. */
async function layOut({ world, traffic }: Stage, way: Way): Promise<void> {
  if (way === 'plain') return;
  if (way === 'tools') return world.claude.react(twoRounds);
  const records = await parseLines(conversation(LONG_SESSION_TURNS, 1_000));
  await importSession(world.peek, world.keys, chatKey(FIRST_CHAT), records);
  if (way === 'overflow') return;
  const mains = () => world.claude.calls.filter(({ kind }) => kind === 'main').length;
  world.claude.react((call) =>
    call.kind === 'main' && traffic.asked[0]?.text === call.pendingText && mains() <= 2
      ? { do: 'overflow' }
      : undefined,
  );
}
