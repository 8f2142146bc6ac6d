import { expect, test } from '@jest/globals';
import { judge, type WebhookState } from '../../../../producer/receive/webhook-manager.ts';
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

test('delivers when there is no last_error, however many updates are pending', () => {
  expect(states(info(0), info(7), info(7))).toEqual(['delivers', 'delivers', 'delivers']);
});

test('ignores last_error when pending is 0', () => {
  expect(states(info(0, 100), info(0, 200))).toEqual(['delivers', 'delivers']);
});

test('undelivered while last_error stands and updates are pending, until pending falls or last_error is gone', () => {
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

test('a newer last_error is undelivered even when pending falls: some chats arrive and others do not', () => {
  expect(states(info(5, 100), info(4, 200))).toEqual(['undelivered', 'undelivered']);
});

test('ignores a last_error that was judged with pending 0, also when updates are pending later', () => {
  expect(states(info(0, 100), info(1, 100), info(2, 100))).toEqual(['delivers', 'delivers', 'delivers']);
});

test('taken when the URL is empty or another one; the same URL in another form is ours', () => {
  expect(states(info(0, undefined, ''), info(0, undefined, 'https://example.org/other'))).toEqual(['taken', 'taken']);
  expect(states(info(0, undefined, 'https://EXAMPLE.org:443/hook'))).toEqual(['delivers']);
  expect(states(info(3, 100, 'no url'), info(0))).toEqual(['taken', 'delivers']);
});
