/** What a model does with the tools of its server, and what it leaves in a conversation. */

import { call } from '../fixture/content-blocks.ts';
import { randomInt } from '../fixture/random.ts';
import type { ClaudeCall, Reaction } from '../stand-in/claude/reaction.ts';
import { type Block, blocksOf } from '../stand-in/claude/request.ts';
import {
  citing,
  fetched,
  mixed,
  paused,
  resumed,
  type Search,
  searchCut,
  searchedOften,
} from '../stand-in/claude/searching.ts';
import { killGateway } from './gateway-scenarios.ts';
import { midTraffic, PACE_MS, type Scenario } from './scenario.ts';
import { answers } from './traffic.ts';

const PAGE = { url: 'https://example.org/dam', title: 'Dams' };
const SEARCHES_MAX = 4;

const searchOf = (id: string): Search => ({ id, query: 'dam', found: [PAGE] });
const recall = (id: string, input: unknown): Block => call(id, { name: 'recall', input });

/** The search of a turn that waits for it: what comes next begins with its result. */
function openSearch({ body }: ClaudeCall): string | undefined {
  const content = blocksOf(body.messages.findLast(({ role }) => role === 'assistant')?.content ?? []);
  const isNewest = body.messages.length - body.messages.findLastIndex(({ role }) => role === 'assistant') <= 2;
  const results = new Set(content.map(({ tool_use_id }) => tool_use_id));
  const open = content.find(({ id, type }) => type === 'server_tool_use' && !results.has(id));
  const last = body.messages.at(-1);
  const waits = last?.role === 'assistant' || blocksOf(last?.content ?? []).every(({ type }) => type === 'tool_result');
  return isNewest && waits && open !== undefined ? String(open.id) : undefined;
}

const isRound = ({ body }: ClaudeCall): boolean =>
  blocksOf(body.messages.at(-1)?.content ?? []).some(({ type }) => type === 'tool_result');

/** An answer as a model with tools of its server gives it, or the first half of one. */
function served(made: ClaudeCall, text: string, random: () => number): Reaction {
  const open = openSearch(made);
  if (open !== undefined) return resumed(searchOf(open), text);
  const search = searchOf(`srvtoolu_${made.index}`);
  if (isRound(made)) return { do: 'answer', content: [citing(text, search)] };
  const ways: (() => Reaction)[] = [
    () => searchedOften(1 + randomInt(random, SEARCHES_MAX), search, text),
    () => fetched(search.id, PAGE, 'A dam holds water.', text),
    () => searchCut(search, text),
    () => paused(search, 'call'),
    () => mixed(search, recall(`toolu_${made.index}`, { query: 'dam' })),
    () => ({ do: 'answer', content: [recall(`toolu_${made.index}`, '{"query": "da')] }),
  ];
  return ways[randomInt(random, ways.length)]?.() ?? { do: 'answer', text };
}

const searching: Scenario = {
  name: 'claude-searches',
  about:
    'the model searches, reads pages, pauses, is cut before a result, waits for a search and a tool of ours at once, and writes inputs that are no JSON, while gateways are killed: no request breaks a rule',
  traffic: { messages: 80, chats: 10 },
  env: { WEB_SEARCH: 'true', WEB_FETCH: 'true' },
  // A pause and a round of tools are calls of their own.
  rules: { callsMax: 4 + 5 + 2 },
  async play(stage) {
    const { world } = stage;
    world.claude.react((made) => {
      const answer = answers(made);
      return answer?.do === 'answer' && answer.text !== undefined ? served(made, answer.text, stage.random) : undefined;
    });
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    await midTraffic(stage, PACE_MS, () => killGateway(stage), [0.3, 0.6]);
  },
};

/** Everything about the tools of the model's server. */
export const SEARCH_SCENARIOS: readonly Scenario[] = [searching];
