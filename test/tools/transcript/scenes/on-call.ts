import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Alert, Cause } from '../../../../shared/flow/alert.ts';
import type { ChatKey } from '../../../../shared/redis/keys.ts';
import { queueAlert } from '../../../../shared/state/incident/book.ts';
import { isAlertText } from '../../../fixture/alert-text.ts';
import { until } from '../../../fixture/root.ts';
import { ANN, ANNS_CHAT, OPERATOR, OPERATORS_CHAT, type Scene, type Stage } from '../scene.ts';

const DORA = 4_004;
const OLGA = { fromId: OPERATOR, firstName: 'Olga' };

/** What who is woken sees and does, on a phone. */
export const ON_CALL: readonly Scene[] = [
  {
    name: 'on-call',
    title: 'Woken at night',
    about:
      'The endpoint refuses one chat’s request. The operator asks what is going on, pauses the chat, and lets it go on.',
    world: { env: { TELEGRAM_OPERATOR_IDS: String(OPERATOR) } },
    chats: [OPERATORS_CHAT, ANNS_CHAT],
    async play({ world, write, press, expectShown }) {
      const alert = () => world.telegram.shown(OPERATOR).find(({ text }) => isAlertText(text));
      const ask = (text: string) => write(OPERATOR, text, 'command', OLGA);
      world.claude.react(({ pendingText }) =>
        pendingText.includes('whole')
          ? { do: 'error', status: 400, type: 'invalid_request_error', message: 'no' }
          : undefined,
      );
      await write(ANN.id, 'Read the whole archive, please.', 'failed');
      await until('the alert', alert);
      await ask('/status');
      await expectShown(OPERATOR, /Open incidents/);
      await ask(`/chat ${ANN.id}`);
      await ask(`/pause ${ANN.id}`);
      await expectShown(OPERATOR, /^Chat 1001 is paused/);
      await ask('/incidents');
      await ask('/dead');
      await ask('/cost');
      await ask('/help');
      await press(OPERATOR, `Resume ${ANN.id}`);
      await expectShown(OPERATOR, /^Chat 1001 resumes/);
      await write(ANN.id, 'Are you there?');
      assert.equal(world.telegram.shown(ANN.id).length, 2);
    },
  },
  {
    name: 'stranger',
    title: 'A stranger at the door',
    about: 'Somebody who is not allowed reads a code. The operator lets them in with a button, and they write again.',
    world: { env: { TELEGRAM_OPERATOR_IDS: String(OPERATOR), PAIRING: 'on' } },
    limits: { watchEveryMs: 200 },
    chats: [{ id: DORA, title: 'Dora and Spillway' }, OPERATORS_CHAT],
    async play({ write, press, expectShown }) {
      const dora = { fromId: DORA, firstName: 'Dora', username: 'dora_b' };
      await write(DORA, 'Hello! Ann told me about you.', 'command', dora);
      await press(OPERATOR, 'Allow');
      await expectShown(OPERATOR, /^Resolved/);
      // A process uses an allow list that it has read for a second.
      await pause(1_100);
      await write(DORA, 'Hello again!', 'answered', dora);
    },
  },
  {
    name: 'many-chats',
    title: 'Of one chat, of twelve, and of three hundred',
    about:
      'The message of an incident names each chat where that matters, folded; of very many, replies that ring nobody name the rest.',
    world: { env: { TELEGRAM_OPERATOR_IDS: String(OPERATOR), INSTALLATION_NAME: 'Spillway Berlin' } },
    chats: [OPERATORS_CHAT],
    async play({ world, expectShown }) {
      await queueMany(world);
      await expectShown(OPERATOR, /1 message of 1 chat(?:.|\n)*cannot be read/);
      await expectShown(OPERATOR, /12 messages of 12 chats/);
      await expectShown(OPERATOR, /300 messages of 300 chats/);
    },
  },
];

/** Alerts of one chat, of twelve and of three hundred. */
async function queueMany({ peek, keys }: Stage['world']): Promise<void> {
  await queueAlert(peek, keys, movedChat('torn-session', 1001));
  for (let n = 0; n < 12; n++) await queueAlert(peek, keys, movedChat('fresh-session', 1001 + n));
  for (let n = 0; n < 300; n++) await queueAlert(peek, keys, movedChat('history-refused', 1001 + n));
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

/** An alert about a chat whose conversation was left or was harmed. */
function movedChat(cause: Cause, chat: number): Alert {
  const words: Partial<Record<Cause, [text: string, line: string]>> = {
    'torn-session': [
      'In a conversation, 2 records cannot be read. The message is answered without that part.',
      `Chat ${chat}: 2 records of s-${chat}.`,
    ],
    'fresh-session': [
      'A conversation did not fit the model, even compacted. Its message is answered in a fresh session that begins with a summary. The old session is kept.',
      `Chat ${chat}: 15276 entries stay in s-${chat}; now n-${chat}.`,
    ],
    'history-refused': [
      'The model rejects a conversation (content_filter), but accepts its newest message alone. The chat continues in a fresh session. The old session is kept.',
      `Chat ${chat} (content_filter): 312 entries stay in s-${chat}; now n-${chat}.`,
    ],
  };
  const [text = '', line = ''] = words[cause] ?? [];
  return { cause, chat: `${chat}` as ChatKey, traceId: TRACE, text, line: `${line} Trace ${TRACE}` };
}
