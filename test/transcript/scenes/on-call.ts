import assert from 'node:assert/strict';
import { isAlertText } from '../../../shared/flow/alert.ts';
import { until } from '../../fixture/root.ts';
import { ANN, OPERATOR, type Scene } from '../scene.ts';

const OLGA = { fromId: OPERATOR, firstName: 'Olga' };

/** What who is woken sees and does, on a phone. */
export const ON_CALL: readonly Scene[] = [
  {
    name: 'on-call',
    title: 'Woken at night',
    about:
      'The endpoint refuses one chat’s request. The operator asks what is going on, pauses the chat by an answer to the alert, and lets it go on.',
    world: { env: { TELEGRAM_OPERATOR_IDS: String(OPERATOR) } },
    chats: [
      { id: OPERATOR, title: 'The operator’s chat' },
      { id: ANN.id, title: 'Ann and Spillway' },
    ],
    async play({ world, write, press, expectShown }) {
      const alert = () => world.telegram.shown(OPERATOR).find(({ text }) => isAlertText(text));
      const ask = (text: string, more = {}) => write(OPERATOR, text, 'command', { ...OLGA, ...more });
      world.claude.react(({ pendingText }) =>
        pendingText.includes('whole')
          ? { do: 'error', status: 400, type: 'invalid_request_error', message: 'no' }
          : undefined,
      );
      await write(ANN.id, 'Read the whole archive, please.', 'failed');
      const { messageId: replyTo } = await until('the alert', alert);
      await ask('/status');
      await expectShown(OPERATOR, /Open incidents/);
      await ask(`who is ${ANN.id}?`, { replyTo });
      await ask('pause it', { replyTo });
      await expectShown(OPERATOR, /^Paused: Chat 1001/);
      await ask('why?', { replyTo });
      await ask('/dead');
      await ask('/cost');
      await ask('/help');
      await press(OPERATOR, `Resume ${ANN.id}`);
      await expectShown(OPERATOR, /^Resumed: Chat 1001/);
      await write(ANN.id, 'Are you there?');
      assert.equal(world.telegram.shown(ANN.id).length, 2);
    },
  },
];
