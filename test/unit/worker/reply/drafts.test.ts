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
const failing = (kind: 'rejected' | 'not_offered'): TelegramResult<void> => ({
  ok: false,
  failure: { kind, description: kind === 'not_offered' ? 'Not Found: method not found' : kind },
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

/** The draft of an answer; its first state comes after `everyMs`, too. */
function beginning(
  telegram: Pick<Telegram, 'sendDraft'>,
  times: { everyMs?: number; refreshMs?: number } = {},
  note = keep,
) {
  const { everyMs = EVERY_MS, refreshMs = NEVER_MS } = times;
  return createDrafts(telegram, { firstAfterMs: everyMs, everyMs, refreshMs }).begin(message, TO, note);
}

test('sends one draft call at a time, always with the newest text and the same draft id', async () => {
  const { telegram, calls, nth } = byHand();
  const draft = beginning(telegram);
  draft.write('One');
  const first = await nth(1);
  for (const text of ['One, two', 'One, two, three']) draft.write(text);
  expect(calls).toHaveLength(1);
  first.answer(SHOWN);
  const second = await nth(2);
  expect([first, second].map(({ draftId, text }) => [draftId, text])).toEqual([
    [77, 'One'],
    [77, 'One, two, three'],
  ]);
  second.answer(SHOWN);
  await draft.end();
});

test('end() waits for the draft call in progress, and no draft is sent after it', async () => {
  const { telegram, calls, nth } = byHand();
  const draft = beginning(telegram, { refreshMs: EVERY_MS });
  draft.write('One');
  const first = await nth(1);
  const order: string[] = [];
  const ended = draft.end().then(() => order.push('ended'));
  draft.write('One, two');
  await new Promise((resolve) => setImmediate(resolve));
  order.push('answered');
  first.answer(SHOWN);
  await ended;
  await new Promise((resolve) => setTimeout(resolve, 5 * EVERY_MS));
  expect([order, calls.length]).toEqual([['answered', 'ended'], 1]);
});

test('an answer that ends before the first interval has no draft', async () => {
  const { telegram, calls } = byHand();
  const draft = beginning(telegram, { everyMs: NEVER_MS });
  draft.write('Done.');
  await draft.end();
  expect(calls).toEqual([]);
});

test('does not show white space alone, and shows only the last part of a long text', async () => {
  const { telegram, nth } = byHand();
  const draft = beginning(telegram);
  draft.write(' \n');
  draft.write(`${'a'.repeat(3_900)}\n\n${'b'.repeat(500)}`);
  const first = await nth(1);
  expect(first.text).toBe('b'.repeat(500));
  first.answer(SHOWN);
  await draft.end();
});

test('sends an unchanged text again at each refresh interval', async () => {
  const { telegram, nth } = byHand();
  const draft = beginning(telegram, { refreshMs: EVERY_MS });
  draft.write('One');
  for (const at of [1, 2, 3]) {
    const shown = await nth(at);
    expect(shown.text).toBe('One');
    shown.answer(SHOWN);
  }
  await draft.end();
});

test('an attempt that lost its fencing token shows nothing', async () => {
  const { telegram, calls } = byHand();
  const asked = Promise.withResolvers<void>();
  const fenced = async () => {
    asked.resolve();
    throw new FencedError();
  };
  const draft = beginning(telegram, { refreshMs: EVERY_MS }, fenced);
  draft.write('One');
  await asked.promise;
  await draft.end();
  expect(calls).toEqual([]);
});

test('a failure ends the draft of one answer, and not_offered ends all later drafts', async () => {
  const { telegram, calls, nth } = byHand();
  const drafts = createDrafts(telegram, { firstAfterMs: EVERY_MS, everyMs: EVERY_MS, refreshMs: EVERY_MS });
  for (const [at, kind] of [
    [1, 'rejected'],
    [2, 'not_offered'],
  ] as const) {
    const draft = drafts.begin(message, TO, keep);
    draft.write('One');
    (await nth(at)).answer(failing(kind));
    draft.write('One, two');
    await draft.end();
  }
  const last = drafts.begin(message, TO, keep);
  last.write('last');
  // One that begins later elsewhere is shown, so this one had its time.
  const other = beginning(telegram);
  other.write('other');
  const third = await nth(3);
  third.answer(SHOWN);
  await Promise.all([last.end(), other.end()]);
  expect(calls.map(({ text }) => text)).toEqual(['One', 'One', 'other']);
});

test('a bare 404, as a proxy says it while it restarts, ends all later drafts only when it comes twice in a row', async () => {
  const { telegram, calls, nth } = byHand();
  const bare: TelegramResult<void> = { ok: false, failure: { kind: 'not_offered', description: 'Not Found' } };
  const drafts = createDrafts(telegram, { firstAfterMs: EVERY_MS, everyMs: EVERY_MS, refreshMs: NEVER_MS });
  for (const [at, result] of [bare, SHOWN, bare, bare].entries()) {
    const draft = drafts.begin(message, TO, keep);
    draft.write('One');
    (await nth(at + 1)).answer(result);
    await draft.end();
  }
  const last = drafts.begin(message, TO, keep);
  last.write('One');
  await last.end();
  expect(calls).toHaveLength(4);
});

test('a text is kept before it is shown', async () => {
  const { telegram, calls, nth } = byHand();
  const kept = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const slowly = () => {
    asked.resolve();
    return kept.promise;
  };
  const draft = beginning(telegram, {}, slowly);
  draft.write('One');
  await asked.promise;
  expect(calls).toEqual([]);
  kept.resolve();
  (await nth(1)).answer(SHOWN);
  await draft.end();
});
