import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from '../../../shared/base/lifecycle.ts';
import type { OutcomeRecord } from '../../../shared/state/lane/record-streams.ts';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { Model } from '../../../worker/model/port.ts';
import { ALERT_CHAT, createWorld, startGateway, type World } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import type { ClaudeCall, ReactionRule } from '../../stand-in/claude/reaction.ts';
import { REFUSAL_STRING } from '../live/talk-expectations.ts';
import { type LiteLlm, setUpLiteLlm } from './litellm.ts';
import { type McpServers, setUpMcpServers } from './mcp-servers.ts';

/** The real parts around a real gateway; a part that could not be brought is not there. */
export interface Ground {
  readonly world: World;
  readonly proxy: LiteLlm | undefined;
  readonly mcp: McpServers | undefined;
  /** The gateway's own adapter, pointed at the same endpoint. */
  readonly model: Model;
  /** What the stand-in does from now on; nothing: it answers. */
  play(rule?: ReactionRule): void;
  close(): Promise<void>;
  abandon(): void;
}

/** The folders of the software that could be brought. */
export interface Software {
  litellm: string | undefined;
  mcp: string | undefined;
}

export const MODEL = 'claude-opus-5-5';
/** Slow enough that words can be read along, and that a stream can be cut. */
const DELTA_DELAY_MS = 60;
/** The model thinks, and refuses thinking that does not come back where it stood. */
const THOUGHT_TOKENS = 200;
/** How long the gateway takes silence for life. */
export const IDLE_MS = 8_000;
const OUTCOME_MS = 60_000;

/** Starts everything, in `folder`. What was started when something failed is ended again. */
export async function createGround(software: Software, folder: string): Promise<Ground> {
  await mkdir(folder, { recursive: true });
  const world = await createWorld({
    claude: {
      deltaDelayMs: DELTA_DELAY_MS,
      maxOutputTokens: 128_000,
      thinks: THOUGHT_TOKENS,
      bindThinking: true,
      refusesText: new RegExp(REFUSAL_STRING),
    },
    env: { MODEL, MODEL_IDLE_TIMEOUT_MS: String(IDLE_MS), TOOL_TIMEOUT_MS: '15000' },
  });
  const proxy =
    software.litellm && (await setUpLiteLlm(software.litellm, join(folder, 'proxy'), world.claude.url, MODEL));
  let playing: ReactionRule | undefined;
  world.claude.react((call) => playing?.(call));
  const started: { gateway?: Service; mcp?: McpServers } = {};
  const abandon = () => {
    if (proxy) proxy.abandon();
    started.mcp?.abandon();
  };
  const close = async () => {
    await started.gateway?.stop();
    await started.mcp?.stop();
    if (proxy) await proxy.kill();
    await world.close();
  };
  try {
    if (proxy) await proxy.start();
    if (proxy) Object.assign(world.env, { ANTHROPIC_BASE_URL: proxy.url, ANTHROPIC_API_KEY: proxy.key });
    if (software.mcp) started.mcp = await setUpMcpServers(software.mcp, join(folder, 'tools'));
    // The servers and their packages are in a temporary folder, which a sandbox hides.
    if (started.mcp) Object.assign(world.env, { MCP_CONFIG: started.mcp.config, MCP_SANDBOX: 'off' });
    started.gateway = await startGateway(world);
  } catch (error) {
    await close();
    throw error;
  }
  const play = (rule?: ReactionRule) => {
    playing = rule;
  };
  return { world, proxy: proxy || undefined, mcp: started.mcp, model: modelOf(world), play, close, abandon };
}

function modelOf({ env }: World): Model {
  const { ANTHROPIC_API_KEY: apiKey = '', ANTHROPIC_BASE_URL: baseURL = '' } = env;
  return createClaude({ apiKey, baseURL, idleMs: IDLE_MS, reach: () => {} });
}

/** A message, what became of it, and what was seen meanwhile. */
export interface Exchange {
  outcome: OutcomeRecord;
  /** What the stand-in behind the proxy received for it. */
  calls: readonly ClaudeCall[];
  /** What the chat shows since then. */
  shown: readonly string[];
  /** What the gateway did beyond asking, by the names of its audit trail. */
  events: readonly string[];
}

/** One chat of one check. */
export interface Chat {
  readonly id: number;
  /** Writes a message and waits for its outcome. */
  ask(text: string): Promise<Exchange>;
}

const FIRST_CHAT = 1001;
const ORDINARY = ['model.answered'];
const ALERT_MS = 10_000;
let chats = 0;

/** The rules of the API that requests of an exchange broke. */
export function violationsIn({ calls }: Exchange): string[] {
  return calls.flatMap(({ violation }) => (violation ? [violation.message] : []));
}

/** A chat in which nothing was said yet. */
export function freshChat({ world }: Ground): Chat {
  const id = FIRST_CHAT + chats++;
  let asked = 0;
  return {
    id,
    async ask(text) {
      const { calls } = world.claude;
      const before = {
        calls: calls.length,
        shown: shownIn(world, id).length,
        events: await world.peek.xlen(world.keys.events),
      };
      world.telegram.say(id, text);
      const outcome = await nextOutcome(world, id, ++asked, OUTCOME_MS);
      return {
        outcome,
        calls: calls.slice(before.calls),
        shown: shownIn(world, id).slice(before.shown),
        events: (await eventsIn(world)).slice(before.events).filter((name) => !ORDINARY.includes(name)),
      };
    },
  };
}

async function eventsIn({ peek, keys }: World): Promise<string[]> {
  const entries = await peek.xrange(keys.events, '-', '+');
  return entries.map(([, fields]) => {
    const record = JSON.parse(fields[fields.indexOf('record') + 1] ?? '{}');
    return record.reason === undefined ? record.event : `${record.event}: ${record.reason}`;
  });
}

/** Waits until the operator is told of a chat; alerts go their own way. */
export function operatorTold({ world }: Ground, { id }: Chat): Promise<string> {
  const find = () => shownIn(world, ALERT_CHAT).find((text) => text.includes(String(id)));
  return until(`alert about chat ${id}`, find, ALERT_MS);
}

function shownIn({ telegram }: World, chat: number): string[] {
  return telegram.shown(chat).map(({ text }) => text);
}
