/** What can happen while the model writes: an answer or a summary that is slow, silent, or goes on for ever. */
import type { ClaudeCall, Reaction } from '../stand-in/claude/reaction.ts';
import { killGateway } from './gateway-scenarios.ts';
import { midTraffic, type Scenario } from './scenario.ts';
import { numberIn, questionOf } from './traffic.ts';

const PACE_MS = 150;
const FILLER = 'and so it goes on, as slowly as it must, '.repeat(20);

const markOf = (number: number): string => `<#${String(number).padStart(6, '0')} 1/1>`;

/** How the model writes, by the number of the message; `nth` counts the calls for it. */
const WRITERS: readonly ((mark: string, nth: number) => Reaction)[] = [
  // Longer than TURN_TIMEOUT_MS, and never silent: only the whole answer has its mark.
  (mark) => ({ do: 'answer', text: `${FILLER}${mark}`, everyMs: 60 }),
  // Longer than TURN_MAX_MS.
  (mark) => ({ do: 'answer', text: `${mark} ${FILLER}`, everyMs: 250 }),
  (mark) => ({ do: 'silent', text: `${mark} ${FILLER}`, pingEveryMs: 100 }),
  (mark) => ({ do: 'silent', text: `${mark} ${FILLER}` }),
  // Each later call is cut at once.
  (mark, nth) => (nth === 1 ? { do: 'cut', text: `${mark} ${FILLER}`, everyMs: 60 } : { do: 'cut', text: mark }),
];

/** The other half of the messages is answered as usual, or the endpoint would seem to be away. */
const WRITER_EVERY = 2 * WRITERS.length;

/** Writes as the number of each message says. */
function slowWriters(): (call: ClaudeCall) => Reaction | undefined {
  const calls = new Map<number, number>();
  return (call) => {
    const number = call.kind === 'main' ? numberIn(questionOf(call)) : undefined;
    if (number === undefined) return undefined;
    const nth = (calls.get(number) ?? 0) + 1;
    calls.set(number, nth);
    return WRITERS[number % WRITER_EVERY]?.(markOf(number), nth);
  };
}

const writing: Scenario = {
  name: 'claude-writes-slowly',
  about:
    'answers are longer than TURN_TIMEOUT_MS or TURN_MAX_MS, fall silent with and without pings, or are never completed, while gateways are killed: each is delivered whole, or as far as it was seen, and what failed is told',
  traffic: { messages: 50, chats: 17 },
  env: {
    TURN_TIMEOUT_MS: '2000',
    TURN_MAX_MS: '7000',
    MODEL_IDLE_TIMEOUT_MS: '1500',
    OUTAGE_PATIENCE_MS: '8000',
  },
  // Two for an answer that falls silent and one for each kill; one that is cut is asked for again while patience lasts.
  rules: { callsMax: 5 + 2, alertsMin: 1, alertsMax: 8, alertLike: /^A message failed|^Resolved: the model endpoint/m },
  async play(stage) {
    const { world } = stage;
    world.claude.react(slowWriters());
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    await midTraffic(stage, PACE_MS, () => killGateway(stage), [0.4, 0.8]);
  },
};

const summarising: Scenario = {
  name: 'claude-summarises-for-ever',
  about: 'no summary ever comes, the half of them with pings all the time: nobody waits for longer than a stage',
  traffic: { messages: 40, chats: 4, kinds: ['text', 'long'] },
  env: { CONTEXT_WINDOW_TOKENS: '20000', MAX_OUTPUT_TOKENS: '1000' },
  claude: { windowTokens: 20_000 },
  rules: { alertsMin: 1, alertsMax: 8, alertLike: /fresh session|chats (?:that overflowed|overflow)/ },
  async play({ world, traffic }) {
    let asked = 0;
    world.claude.react(({ kind }) => {
      if (kind !== 'compaction') return undefined;
      asked += 1;
      return asked % 2 === 0 ? { do: 'hang' } : { do: 'silent', text: '', pingEveryMs: 100 };
    });
    await world.fleet.start();
    await traffic.pour({ everyMs: PACE_MS });
    if (asked === 0) throw new Error('No summary was asked for.');
  },
};

/** Everything about slow writers. */
export const WRITING_SCENARIOS: readonly Scenario[] = [writing, summarising];
