import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation, guiltyConversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: '*' } });

const CHATS = Array.from({ length: 6 }, (_, at) => CHAT + at);

/** Each chat is named with its entries, in so many messages at most. */
async function expectNamed(entriesOf: (chat: number) => number, messagesMax: number): Promise<void> {
  for (const chat of CHATS)
    await world.telegram.waitForText(
      ALERT_CHAT,
      new RegExp(`[Cc]hat ${chat}\\b[^\\n]*\\b${entriesOf(chat)} entries`),
      15_000,
    );
  expect(world.telegram.shown(ALERT_CHAT).length).toBeLessThanOrEqual(messagesMax);
}

test('every chat that is moved to a fresh session is named with its entries, also while the incident is open', async () => {
  const turnsOf = (chat: number) => 20 + chat - CHAT;
  for (const chat of CHATS)
    await importSession(world.peek, world.keys, chatKey(chat), await parseLines(conversation(turnsOf(chat), 300)));
  world.claude.react((call) => {
    if (call.kind === 'compaction') return { do: 'answer', text: ' ' };
    return isSeeded(call) || isProbe(call) ? undefined : { do: 'overflow' };
  });
  await start();
  for (const chat of CHATS) world.telegram.say(chat, 'Hello?');
  for (const chat of CHATS) expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  await expectNamed((chat) => 2 * turnsOf(chat), 2);
});

test('every chat whose history is refused is named with its entries, also while the incident is open', async () => {
  for (const chat of CHATS)
    await importSession(world.peek, world.keys, chatKey(chat), await parseLines(guiltyConversation(5 + chat - CHAT)));
  world.claude.guard.rejectsText = { pattern: /GUILTY/, respond: 'invalidData' };
  await start();
  for (const chat of CHATS) world.telegram.say(chat, 'Hello?');
  for (const chat of CHATS) expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  await expectNamed(() => 62, 2);
});
