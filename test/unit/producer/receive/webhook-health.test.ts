import { expect, test } from '@jest/globals';
import { judge, type WebhookState } from '../../../../producer/receive/webhook-manager.ts';
import type { WebhookInfo } from '../../../../shared/telegram/client.ts';

const OURS = 'https://example.org/hook';

/** What Telegram says: how many wait, and when the last error was. */
function info(pending: number, errorAtS?: number, url = OURS): WebhookInfo {
  const lastError = errorAtS === undefined ? {} : { lastError: { atS: errorAtS, description: 'Connection refused' } };
  return { url, pending, ...lastError };
}

test.each<[string, WebhookInfo[], string]>([
  ['delivers without an error, however many wait', [info(0), info(7), info(7)], 'delivers delivers delivers'],
  ['delivers where nothing waits', [info(0, 100), info(0, 200)], 'delivers delivers'],
  [
    'does not while an error stands and some wait',
    [info(0), info(3, 100), info(3, 100), info(5, 100)],
    'delivers undelivered undelivered undelivered',
  ],
  ['delivers once fewer wait', [info(5, 100), info(4, 100)], 'undelivered delivers'],
  ['delivers once nothing waits', [info(5, 100), info(0, 100)], 'undelivered delivers'],
  ['delivers once the error is gone', [info(5, 100), info(9)], 'undelivered delivers'],
  ['does not after a newer error, for some chats', [info(5, 100), info(4, 200)], 'undelivered undelivered'],
  ['delivers in spite of an error of before', [info(0, 100), info(1, 100), info(2, 100)], 'delivers delivers delivers'],
  ['is taken by none or another address', [info(0, undefined, ''), info(0, undefined, `${OURS}s`)], 'taken taken'],
  ['is ours in another form of the address', [info(0, undefined, 'https://EXAMPLE.org:443/hook')], 'delivers'],
  ['is ours again', [info(3, 100, 'no url'), info(0)], 'taken delivers'],
])('a webhook %s', (_, looks, expected) => {
  const states: WebhookState[] = [];
  looks.reduce<ReturnType<typeof judge> | undefined>((before, look) => {
    const judged = judge(look, OURS, before);
    states.push(judged.state);
    return judged;
  }, undefined);
  expect(states.join(' ')).toBe(expected);
});
