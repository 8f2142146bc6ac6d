import { expect, test } from '@jest/globals';
import type { InboundMessage } from '../../../../shared/flow/message.ts';
import { FencedError } from '../../../../shared/state/change.ts';
import type { Telegram } from '../../../../shared/telegram/client.ts';
import type { TelegramResult } from '../../../../shared/telegram/failure.ts';
import { createDrafts, type KeepShown } from '../../../../worker/reply/drafts.ts';
import { until } from '../../../fixture/root.ts';

const TO = { chatId: 1001 };
const EVERY_MS = 2;
const SHOWN: TelegramResult<void> = { ok: true, value: undefined };

/** A Telegram whose drafts a test answers by hand. */
function byHand() {
  const calls: { draftId: number; text: string; answer: (result: TelegramResult<void>) => void }[] = [];
  const telegram: Pick<Telegram, 'sendDraft'> = {
    sendDraft(_to, draftId, text) {
      const { promise, resolve } = Promise.withResolvers<TelegramResult<void>>();
      calls.push({ draftId, text, answer: resolve });
      return promise;
    },
  };
  const nth = (wanted: number) => until('a draft', () => calls[wanted - 1]);
  return { telegram, calls, nth };
}

const message = { chatType: 'private', messageId: 77 } as InboundMessage;
const begun = (telegram: Pick<Telegram, 'sendDraft'>, kept: KeepShown = async () => {}) =>
  createDrafts(telegram, { firstAfterMs: EVERY_MS, everyMs: EVERY_MS, refreshMs: EVERY_MS }).begin(message, TO, kept);

test('one draft is sent at a time: the newest text, of a long one its end, and an unchanged one again after a while', async () => {
  const { telegram, calls, nth } = byHand();
  const draft = begun(telegram);
  // White space alone is not shown.
  for (const text of [' \n', 'One']) draft.write(text);
  const first = await nth(1);
  for (const text of ['One, two', `${'a'.repeat(3_900)}\n\n${'b'.repeat(500)}`]) draft.write(text);
  expect(calls).toHaveLength(1);
  first.answer(SHOWN);
  for (const at of [2, 3]) (await nth(at)).answer(SHOWN);
  await draft.end();
  expect(calls.slice(0, 3).map(({ text }) => text)).toEqual(['One', 'b'.repeat(500), 'b'.repeat(500)]);
});

test('a text is kept before it is shown, and an attempt that lost its fencing token shows nothing', async () => {
  const { telegram, calls, nth } = byHand();
  for (const isFenced of [true, false]) {
    const [asked, kept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const draft = begun(telegram, () => {
      asked.resolve();
      return kept.promise;
    });
    draft.write('One');
    await asked.promise;
    expect(calls).toEqual([]);
    if (isFenced) kept.reject(new FencedError());
    else kept.resolve();
    if (!isFenced) (await nth(1)).answer(SHOWN);
    await draft.end();
  }
  expect(calls[0]?.text).toBe('One');
});
