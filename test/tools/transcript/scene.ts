import assert from 'node:assert/strict';
import { type ChatKey, chatKey } from '../../../shared/redis/keys.ts';
import { findButton } from '../../fixture/buttons.ts';
import { createWorld, type Shorter, startGateway, type World } from '../../fixture/gateway.ts';
import { settledOutcomes } from '../../fixture/ledger.ts';
import { openNotebook } from '../../fixture/notebook.ts';
import { until } from '../../fixture/root.ts';
import type { ChatEvent } from '../../stand-in/telegram/chats.ts';
import type { DraftState } from '../../stand-in/telegram/drafts.ts';
import type { SayOptions } from '../../stand-in/telegram/inbound.ts';

/** A conversation to be shown. To add one, put it into a list of `scenes/`. */
export interface Scene {
  /** For the address within the page. */
  name: string;
  title: string;
  /** What is to be seen, in a sentence. */
  about: string;
  world?: Parameters<typeof createWorld>[0];
  /** With the tools of the notebook server, which ask before they write. */
  hasNotebook?: true;
  limits?: Shorter;
  /** The chats that the page shows. Default: Ann's. */
  chats?: readonly { id: number; title: string }[];
  /** Plays it. Throws where what is seen is not what is expected. */
  play(stage: Stage): Promise<void>;
}

/** What a scene plays on: a gateway in a world of its own. */
export interface Stage {
  world: World;
  /** The model answers so from now on. */
  answersWith(text: string): void;
  /** Somebody writes, and the message gets its outcome, which must be that one. */
  write(chat: number, text: string, outcome?: string, options?: SayOptions): Promise<void>;
  /** Ann, or in their chat the operator, presses the newest button with that label, as soon as it is there. */
  press(chat: number, label: string): Promise<void>;
  /** Fails unless the chat shows a message that matches. */
  expectShown(chat: number, match: RegExp): Promise<void>;
}

/** A chat after its scene. */
export interface PlayedChat {
  title: string;
  events: readonly ChatEvent[];
  drafts: readonly DraftState[];
}

/** A scene after it was played; `failure` says what was not as expected. */
export interface PlayedScene extends Pick<Scene, 'name' | 'title' | 'about'> {
  chats: readonly PlayedChat[];
  failure?: string;
}

/** The person of every scene, and a second one. */
export const ANN = { id: 1001, name: 'Ann' };
export const BEN = { id: 1002, name: 'Ben' };
export const ANNS_CHAT = { id: ANN.id, title: 'Ann and Spillway' };
export const GROUP = -1_002_000_000_001;
export const OPERATOR = 9001;
export const OPERATORS_CHAT = { id: OPERATOR, title: 'The operator’s chat' };

const OUTCOME_MS = 60_000;
/** On a busy machine, the alerts about 300 chats take most of a minute. */
const SHOWN_MS = 120_000;

/** Plays a scene. Never throws for what the scene expects: a failure is a part of the result. */
export async function playScene(scene: Scene): Promise<PlayedScene> {
  const { name, title, about } = scene;
  const notebook = scene.hasNotebook && (await openNotebook({}));
  const world = await createWorld({ ...scene.world, env: { ...scene.world?.env, ...notebook?.env } });
  const gateway = await startGateway(world, scene.limits);
  let failure: string | undefined;
  try {
    await scene.play(stageOf(world));
    assert.deepEqual(world.claude.violations(), []);
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  const chats = (scene.chats ?? [ANNS_CHAT]).map((chat) => ({
    title: chat.title,
    events: [...world.telegram.history(chat.id)],
    drafts: world.telegram.drafts(chat.id),
  }));
  await gateway.stop();
  await world.close();
  await notebook?.remove();
  return { name, title, about, chats, ...(failure !== undefined && { failure }) };
}

function stageOf(world: World): Stage {
  const written = new Map<ChatKey, number>();
  const outcomesOf = async (key: ChatKey) => (await settledOutcomes(world)).filter((record) => record.chat === key);
  return {
    world,
    answersWith: (text) => world.claude.react(({ kind }) => (kind === 'main' ? { do: 'answer', text } : undefined)),
    async write(chat, text, outcome = 'answered', options = {}) {
      const key = chatKey(chat, options.topicId);
      const nth = (written.get(key) ?? 0) + 1;
      written.set(key, nth);
      const person = chat === BEN.id ? BEN : ANN;
      world.telegram.say(chat, text, { fromId: person.id, firstName: person.name, ...options });
      const settled = await until(`outcome of "${text}"`, async () => (await outcomesOf(key))[nth - 1], OUTCOME_MS);
      assert.equal(settled.outcome, outcome, `the outcome of "${text}"`);
    },
    async press(chat, label) {
      const find = () => findButton(world.telegram.shown(chat), ({ text }) => text === label);
      const { messageId, data } = await until(`button "${label}"`, find, OUTCOME_MS);
      world.telegram.press(chat, messageId, data, chat === OPERATOR ? OPERATOR : ANN.id);
    },
    async expectShown(chat, match) {
      await world.telegram.waitForText(chat, match, SHOWN_MS);
    },
  };
}
