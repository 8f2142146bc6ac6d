import { expect, test } from '@jest/globals';
import type { InboundMessage } from '../../../../shared/flow/message.ts';
import { FencedError } from '../../../../shared/state/change.ts';
import type { Telegram } from '../../../../shared/telegram/client.ts';
import type { TelegramResult } from '../../../../shared/telegram/failure.ts';
import { createDrafts } from '../../../../worker/reply/drafts.ts';

const TO = { chatId: 1001 };
const EVERY_MS = 2;
const NEVER_MS = 3_600_000;
const SHOWN: TelegramResult<void> = { ok: true, value: undefined };
const failing = (kind: 'rejected' | 'not_offered', description: string): TelegramResult<void> => ({
  ok: false,
  failure: { kind, description },
});

/** A Telegram whose drafts a test answers by hand. */
function byHand() {
  const calls: { draftId: number; text: string; answer: (result: TelegramResult<void>) => void }[] = [];
  let onCall = () => {};
  const telegram: Pick<Telegram, 'sendDraft'> = {
    sendDraft(_to, draftId, text) {
      const { promise, resolve } = Promise.withResolvers<TelegramResult<void>>();
      calls.push({ draftId, text, answer: resolve });
      onCall();
      return promise;
    },
  };
  const nth = async (wanted: number) => {
    while (calls.length < wanted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      onCall = resolve;
      await promise;
    }
    return calls[wanted - 1] as (typeof calls)[number];
  };
  return { telegram, calls, nth };
}

const keep = async () => {};
const message = { chatType: 'private', messageId: 77 } as InboundMessage;
const draftsOf = (telegram: Pick<Telegram, 'sendDraft'>, refreshMs = NEVER_MS) =>
  createDrafts(telegram, { firstAfterMs: EVERY_MS, everyMs: EVERY_MS, refreshMs });

test('one draft is sent at a time: the newest text, of a long one its end, and an unchanged one again after a while', async () => {
  const { telegram, calls, nth } = byHand();
  const draft = draftsOf(telegram, EVERY_MS).begin(message, TO, keep);
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
    const draft = draftsOf(telegram).begin(message, TO, () => {
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
  expect(calls).toHaveLength(1);
});

const METHODLESS = failing('not_offered', 'Not Found: method not found');
// As a proxy says it while it restarts.
const BARE = failing('not_offered', 'Not Found');

test.each([
  ['a refusal ends the draft of one answer', [failing('rejected', 'rejected')], ['last', 'other']],
  ['a server without drafts ends all later ones', [METHODLESS], ['other']],
  ['a bare 404 does so only when it comes twice in a row', [BARE, SHOWN, BARE, BARE], ['other']],
])('%s', async (_, results, later) => {
  const { telegram, calls, nth } = byHand();
  const drafts = draftsOf(telegram);
  for (const [at, result] of results.entries()) {
    const draft = drafts.begin(message, TO, keep);
    draft.write('One');
    (await nth(at + 1)).answer(result);
    if (!result.ok) draft.write('One, two');
    await draft.end();
  }
  const last = drafts.begin(message, TO, keep);
  const other = draftsOf(telegram).begin(message, TO, keep);
  last.write('last');
  other.write('other');
  for (const at of later.keys()) (await nth(results.length + at + 1)).answer(SHOWN);
  await Promise.all([last.end(), other.end()]);
  expect(calls.slice(results.length).map(({ text }) => text)).toEqual(later);
});
