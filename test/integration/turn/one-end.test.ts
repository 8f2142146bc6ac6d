import { expect, test } from '@jest/globals';
import { CHAT, eachInWorld, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { conversation } from '../../fixture/history.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, givenLines, sessionOf } from '../../fixture/whole-chat.ts';
import { LIES, type Lie } from '../../stand-in/claude/lies.ts';

eachInWorld();

test('a message that fits nowhere ends with one message, in a long chat and in a new one, and nothing is said of a conversation', async () => {
  const session = await givenLines(conversation(40, 300));
  world.claude.react(({ kind, pendingText }) =>
    kind === 'compaction' || pendingText.includes('lorem') ? { do: 'overflow' } : undefined,
  );
  await start();
  for (const chat of [CHAT, CHAT + 1]) {
    expect(await ask('lorem ipsum '.repeat(300), 1, chat)).toMatchObject({ outcome: 'failed' });
    expect(shown(chat)).toEqual([expect.stringMatching(/^I couldn't answer this message: it's too long for me/)]);
    expect(shown(chat).join()).not.toMatch(/I read|beginning and|new one|conversation|session/);
    const [notice] = world.telegram.shown(chat);
    expect(notice?.notified).toBe(notice?.text);
  }
  expect(await sessionOf()).toBe(session);
});

variants(Object.keys(LIES) as Lie[])(
  'whatever "%s" comes to when it lasts, the message ends with one message',
  async (lie) => {
    await moveToWorld({ claude: { bindThinking: false }, env: { OUTAGE_PATIENCE_MS: '300', MAX_ATTEMPTS: '2' } });
    await givenLines(conversation(10, 300));
    world.claude.react(({ kind, pendingText }) =>
      kind === 'compaction' || pendingText === 'Hello?' ? LIES[lie] : undefined,
    );
    await start();
    const { outcome } = await ask('Hello?');
    if (outcome !== 'answered') expect(shown()).toHaveLength(1);
    expect(shown().join()).not.toMatch(/beginning and the end/);
    world.claude.react(() => ({ do: 'answer', text: 'Here.' }));
    expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
  },
);
