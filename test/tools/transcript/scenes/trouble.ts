import assert from 'node:assert/strict';
import { chatKey } from '../../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../../worker/session/transfer.ts';
import { conversation, isProbe, isSeeded } from '../../../fixture/history.ts';
import { ANN, ANNS_CHAT, OPERATOR, OPERATORS_CHAT, type Scene, type Stage } from '../scene.ts';

const WITH_OPERATOR = [ANNS_CHAT, OPERATORS_CHAT];
const SMALL_WINDOW = { claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } };
const LIMITS = { SUMMARY_TIME_MS: 3_000 };

/** A hundred turns that do not fit the window. */
async function longPast({ world }: Stage): Promise<void> {
  await importSession(world.peek, world.keys, chatKey(ANN.id), await parseLines(conversation(100, 1_000)));
}

function mainCalls({ world }: Stage): number {
  return world.claude.calls.filter(({ kind }) => kind === 'main').length;
}

/** What a user sees when something goes wrong. */
export const TROUBLE: readonly Scene[] = [
  {
    name: 'compacted',
    title: 'A conversation that has grown too large: stage 1',
    about:
      'The model refuses the request as too long and counts it as we do. The gateway summarises the past and asks again; the user sees an answer.',
    world: SMALL_WINDOW,
    limits: LIMITS,
    async play(stage) {
      await longPast(stage);
      await stage.write(ANN.id, 'What did we decide about the billing webhook?');
      assert.equal(mainCalls(stage), 2);
      assert.equal(stage.world.telegram.shown(ANN.id).length, 1);
    },
  },
  {
    name: 'fresh-session',
    title: 'Still too large: stage 2, a fresh session',
    about:
      'The compacted request is refused too. The gateway begins a fresh session, says so, answers, and notifies the operator.',
    world: SMALL_WINDOW,
    limits: LIMITS,
    chats: WITH_OPERATOR,
    async play(stage) {
      const { world } = stage;
      await longPast(stage);
      world.claude.react((call) =>
        call.kind === 'main' && !isProbe(call) && !isSeeded(call)
          ? { do: 'overflow', observedTokens: call.inputTokens, limitTokens: Math.floor(0.9 * call.inputTokens) }
          : undefined,
      );
      await stage.write(ANN.id, 'Go on with the plan, please.');
      await stage.expectShown(ANN.id, /started a new one/);
      await stage.expectShown(ANN.id, /You said: Go on/);
      await stage.expectShown(OPERATOR, /outgrew the model/);
    },
  },
  {
    name: 'failed',
    title: 'A message that cannot be answered',
    about:
      'Nothing helps. The user is notified in a plain sentence, the operator gets an incident, and the next message is answered.',
    world: SMALL_WINDOW,
    limits: LIMITS,
    chats: WITH_OPERATOR,
    async play(stage) {
      await longPast(stage);
      stage.world.claude.react((call) =>
        call.kind === 'main' && !isProbe(call) && call.pendingText !== 'And now?' ? { do: 'overflow' } : undefined,
      );
      await stage.write(ANN.id, 'Here is the whole log …', 'failed');
      await stage.expectShown(ANN.id, /couldn't answer/);
      await stage.write(ANN.id, 'And now?');
      await stage.expectShown(OPERATOR, /does not fit/);
    },
  },
  {
    name: 'repeat',
    title: 'A possible repeat',
    about:
      'The connection broke while the answer was sent, so nobody knows whether it arrived. It is repeated, and says so.',
    async play({ world, answersWith, write, expectShown }) {
      answersWith('The deploy is at **14:00**.');
      world.telegram.fail('sendMessage', { do: 'loseReply' });
      await write(ANN.id, 'When is the deploy?');
      await expectShown(ANN.id, /^↻/);
      assert.equal(world.telegram.shown(ANN.id).length, 2);
    },
  },
];
