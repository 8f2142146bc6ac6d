import { expect, test } from '@jest/globals';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { bindProviderNote } from '../../../shared/state/provider/provider.ts';
import { eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

const CHAT = 1007;
const BEN = 1002;

eachInWorld({ env: { TELEGRAM_OPERATOR_IDS: `${ALERT_CHAT},${BEN}` } });

const shown = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text, 30_000);

/** Presses a button under the message that matches. */
async function press(message: RegExp, label: string, by = ALERT_CHAT): Promise<void> {
  const { messageId, replyMarkup } = await shown(message);
  const rows = (replyMarkup as { inline_keyboard?: { text: string; callback_data?: string }[][] }).inline_keyboard;
  const data = rows?.flat().find(({ text }) => text === label)?.callback_data;
  world.telegram.press(ALERT_CHAT, messageId, data ?? `no ${label}`, by);
}

/** An endpoint that fails for a while. */
function outage(): () => void {
  let isOver = false;
  const failure = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
  world.claude.react(() => (isOver ? undefined : failure));
  return () => {
    isOver = true;
  };
}

async function stuck(): Promise<() => void> {
  const mend = outage();
  await start({ UNANSWERED_ALERT_MS: '1000' }, { watchEveryMs: 100, RETRY_MS: 60_000 });
  world.telegram.say(CHAT, 'hello');
  return mend;
}

const UNANSWERED = /unanswered for/;

test('the chat that is stuck is paused by the button that names it', async () => {
  await stuck();
  await press(UNANSWERED, 'Pause chat 1007');
  await shown(/^Chat 1007 is paused/);
  expect(await world.peek.hexists(world.keys.paused, String(CHAT))).toBe(1);
});

test('a message that waits is tried at once', async () => {
  const mend = await stuck();
  await shown(UNANSWERED);
  mend();
  await press(UNANSWERED, 'Try again now');
  await shown(/^The message of chat 1007 is being tried now\.$/);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('a message is cancelled once somebody has said yes, and its user is told', async () => {
  await stuck();
  await press(UNANSWERED, 'Cancel message');
  await press(/^Cancel the message of chat 1007\? Its user reads/, 'Yes, cancel');
  await shown(/^The message of chat 1007 is cancelled/);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'cancelled', reason: 'operator' });
});

test('the endpoint is asked at once, and what waits is tried when it answers', async () => {
  const mend = outage();
  // Another process has had a call that failed, too.
  await bindProviderNote(world.peek, world.keys)('overloaded', '529');
  await start({}, { watchEveryMs: 100, providerDownMs: 500, RETRY_MS: 60_000, probeEveryMs: 60_000 });
  world.telegram.say(CHAT, 'hello');
  world.telegram.say(CHAT + 1, 'hello');
  await press(/overloaded/, 'Try again now');
  await shown(/^The endpoint still is overloaded or fails\.$/);
  mend();
  await press(/^🔴 Page(?:.|\n)*still is overloaded or fails · by/, 'Try again now');
  await shown(/^It answers; 2 messages tried now\.$/);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('presses of two operators run one after the other, in the order in which they came', async () => {
  const mend = outage();
  await bindProviderNote(world.peek, world.keys)('overloaded', '529');
  await start({}, { watchEveryMs: 100, providerDownMs: 500, RETRY_MS: 60_000, probeEveryMs: 60_000 });
  world.telegram.say(CHAT, 'hello');
  await shown(/overloaded/);
  mend();
  const { promise: after, resolve: answer } = Promise.withResolvers<void>();
  world.claude.react(() => ({ do: 'answer', text: 'ok', after }));
  const before = world.claude.calls.length;
  await press(/overloaded/, 'Try again now');
  await press(/overloaded/, 'Try again now', BEN);
  await until('the first call', () => world.claude.calls.length > before || undefined);
  expect((await readActions(world.peek, 9)).map(({ by }) => by)).toEqual([expect.stringContaining(`(${ALERT_CHAT})`)]);
  answer();
  // The first act may have ended the incident before the second one looks at it.
  const replies = () =>
    world.telegram.shown(ALERT_CHAT).flatMap(({ text }) => /^(?:It answers|That alert is over)/.exec(text) ?? []);
  await until('both replies', () => replies().length === 2 || undefined);
  expect(replies()[0]).toBe('It answers');
});

test('what was pressed while no worker ran is done when one does, and the reply says when it was pressed', async () => {
  await start();
  await queueAlert(world.peek, world.keys, { cause: 'failed', text: 'A message failed.' });
  const { messageId, replyMarkup } = await shown(/Messages failed/);
  const [data = ''] = /\/desk act [\w-]{10} replay/.exec(JSON.stringify(replyMarkup)) ?? [];
  const hourAgo = Date.now() - 3_600_000;
  const from = { id: ALERT_CHAT, name: 'Ann', isOperator: true as const };
  const place = { chatId: ALERT_CHAT, chatType: 'private' as const, messageId, pressed: messageId };
  const content = { kind: 'text' as const, text: data };
  const message = { v: 1 as const, updateId: 1, ...place, from, sentAtMs: hourAgo, content };
  await createInbox(world.peek, 1).accept(world.telegram.botId, message, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`);
  await shown(/^Nothing to replay\. You pressed at .* UTC; it was done 360\d seconds later\.$/);
});
