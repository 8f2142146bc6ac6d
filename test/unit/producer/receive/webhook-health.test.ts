import { expect, test } from '@jest/globals';
import { judge, type WebhookState } from '../../../../producer/receive/webhook-health.ts';
import type { WebhookInfo } from '../../../../shared/telegram/client.ts';

const OURS = 'https://example.org/hook';

/** What Telegram says: how many wait, and when the last error was. */
function info(pending: number, errorAtS?: number, url = OURS): WebhookInfo {
  return {
    url,
    pending,
    ...(errorAtS !== undefined && { lastError: { atS: errorAtS, description: 'Connection refused' } }),
  };
}

/** The states that a row of looks comes to. */
function states(...looks: WebhookInfo[]): WebhookState[] {
  let before: ReturnType<typeof judge> | undefined;
  return looks.map((look) => {
    before = judge(look, OURS, before);
    return before.state;
  });
}

test('a webhook without news delivers, whatever waits at this moment', () => {
  expect(states(info(0), info(7), info(7))).toEqual(['delivers', 'delivers', 'delivers']);
});

test('an old error is none when nothing waits', () => {
  expect(states(info(0, 100), info(0, 200))).toEqual(['delivers', 'delivers']);
});

test('an error while updates wait is one, and goes on until fewer wait, or none, or Telegram forgets it', () => {
  expect(states(info(1, 100))).toEqual(['undelivered']);
  expect(states(info(0), info(3, 100), info(3, 100), info(5, 100))).toEqual([
    'delivers',
    'undelivered',
    'undelivered',
    'undelivered',
  ]);
  for (const better of [info(4, 100), info(0, 100), info(9)])
    expect(states(info(5, 100), better)).toEqual(['undelivered', 'delivers']);
});

test('a new error is news again, even when fewer wait: some chats arrive and others do not', () => {
  expect(states(info(5, 100), info(4, 200))).toEqual(['undelivered', 'undelivered']);
});

test('an old error that was judged once does not come back with the next message that waits', () => {
  expect(states(info(0, 100), info(1, 100), info(2, 100))).toEqual(['delivers', 'delivers', 'delivers']);
});

test('another URL or none is not ours, and the same URL in another form is', () => {
  expect(states(info(0, undefined, ''), info(0, undefined, 'https://example.org/other'))).toEqual(['taken', 'taken']);
  expect(states(info(0, undefined, 'https://EXAMPLE.org:443/hook'))).toEqual(['delivers']);
  expect(states(info(3, 100, 'no url'), info(0))).toEqual(['taken', 'delivers']);
});
