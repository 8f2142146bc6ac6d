import assert from 'node:assert/strict';
import { ANN, BEN, GROUP, type Scene } from '../scene.ts';

const TOPIC = 40;

/** What a group sees. */
export const GROUPS: readonly Scene[] = [
  {
    name: 'group',
    title: 'In a group',
    about: 'Only what is addressed to the bot is answered, as a reply to the message that asked, in its topic.',
    world: { env: { TELEGRAM_ALLOWED_IDS: `${ANN.id},${GROUP}`, TELEGRAM_ANSWER_ALL_IDS: '' } },
    chats: [{ id: GROUP, title: 'Release team' }],
    async play({ world, answersWith, write }) {
      const { telegram } = world;
      const ben = { fromId: BEN.id, firstName: BEN.name };
      telegram.say(GROUP, 'Who brings the cake?', ben);
      answersWith('Friday is free of meetings, so I would release **then**.');
      await write(GROUP, `@${telegram.username} which day suits us?`, 'answered', ben);
      const [first] = telegram.shown(GROUP);
      assert.ok(first?.replyTo, 'the answer is no reply');
      answersWith('Yes: the change log is complete.');
      await write(GROUP, 'Are we ready?', 'answered', { replyTo: first.messageId });
      answersWith('In this topic I see two open points.');
      await write(GROUP, `@${telegram.username} what is open here?`, 'answered', { ...ben, topicId: TOPIC });
      assert.equal(telegram.shown(GROUP, TOPIC).length, 1);
      assert.equal(telegram.shown(GROUP).length, 3);
    },
  },
];
