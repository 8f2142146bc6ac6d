import { expect, test } from '@jest/globals';
import type { Failure } from '../../../../worker/model/errors/failure.ts';
import type { Model } from '../../../../worker/model/port.ts';
import { createFixedPartsCheck } from '../../../../worker/recovery/fixed-parts.ts';
import type { FixedParts } from '../../../../worker/recovery/state.ts';

type SendResult = Awaited<ReturnType<Model['send']>>;

const FIXED: FixedParts = { model: 'm', system: 'Be kind.', tools: [], serverTools: [], maxTokens: 1 };
const CAUSE: Failure = { kind: 'unknown', reason: 'bad_request', status: 400 };
const REFUSED_KEEP_MS = 15_000;
const { signal } = new AbortController();

const refused = (failure: Failure): SendResult => ({ ok: false, failure });
const taken = { ok: true, answer: { stopReason: 'end_turn' } } as unknown as SendResult;

/** A model that gives these results one after the other, and counts how often it was asked. */
function modelThat(...results: SendResult[]) {
  const asked: unknown[] = [];
  const model = {
    limits: async () => ({ windowTokens: 1 }),
    send: async (request: unknown) => {
      asked.push(request);
      return results[Math.min(asked.length, results.length) - 1] as SendResult;
    },
  } as unknown as Model;
  return { model, asked };
}

test('the check sends the fixed parts and one message, and nothing of any chat', async () => {
  const { model, asked } = modelThat(taken);
  await createFixedPartsCheck()(model, FIXED, CAUSE, signal);
  const messages = [{ role: 'user', content: expect.any(String) }];
  expect(asked).toEqual([expect.objectContaining({ ...FIXED, messages })]);
});

test('who asks while a call runs gets the result of a call that begins later, together with all who wait', async () => {
  const check = createFixedPartsCheck();
  const { model, asked } = modelThat(taken);
  const first = check(model, FIXED, CAUSE, signal);
  await Promise.resolve();
  const later = [check(model, FIXED, CAUSE, signal), check(model, FIXED, CAUSE, signal)];
  expect((await Promise.all([first, ...later])).map(({ kind }) => kind)).toEqual(['taken', 'taken', 'taken']);
  expect(asked.length).toBe(2);
});

test('who asks while a refusal comes in gets that refusal, at whatever moment', async () => {
  for (let moment = 0; moment < 30; moment += 1) {
    const check = createFixedPartsCheck();
    const { model, asked } = modelThat(refused(CAUSE));
    void check(model, FIXED, CAUSE, signal);
    for (let passed = 0; passed < moment; passed += 1) await Promise.resolve();
    expect(await check(model, FIXED, CAUSE, signal)).toMatchObject({ kind: 'refused' });
    expect({ moment, calls: asked.length }).toEqual({ moment, calls: 1 });
  }
});

test.each([
  ['another status', FIXED, { ...CAUSE, status: 403 }],
  ['another prompt', { ...FIXED, system: 'Be brief.' }, CAUSE],
])('%s causes another call', async (_, fixed, failure) => {
  const check = createFixedPartsCheck();
  const { model, asked } = modelThat(taken);
  await check(model, FIXED, CAUSE, signal);
  await check(model, fixed, failure, signal);
  expect(asked.length).toBe(2);
});

test('a refused result is reused for 15 seconds only, since the operator may have fixed the cause', async () => {
  let nowMs = 0;
  const check = createFixedPartsCheck(() => nowMs);
  const { model } = modelThat(refused(CAUSE), taken);
  expect(await check(model, FIXED, CAUSE, signal)).toMatchObject({ kind: 'refused' });
  nowMs = REFUSED_KEEP_MS - 1;
  expect(await check(model, FIXED, CAUSE, signal)).toMatchObject({ kind: 'refused' });
  nowMs = REFUSED_KEEP_MS;
  expect(await check(model, FIXED, CAUSE, signal)).toMatchObject({ kind: 'taken' });
});

const away = refused({ kind: 'transient', reason: 'overloaded', status: 529 });
const overBudget = (reason: Failure['reason']) => refused({ kind: 'terminal', reason });

test.each([
  // What blames a chat is younger than its failure.
  ['taken', [taken, refused(CAUSE)], ['taken', 'refused']],
  ['of an endpoint that is away', [away, taken], ['unclear', 'taken']],
  ['of a used up budget', [overBudget('over_total_budget'), taken], ['unclear', 'taken']],
  ["of a chat's used up budget", [overBudget('over_chat_budget'), taken], ['unclear', 'taken']],
])('a result %s is not reused', async (_, results, kinds) => {
  const check = createFixedPartsCheck();
  const { model } = modelThat(...results);
  for (const kind of kinds) expect(await check(model, FIXED, CAUSE, signal)).toMatchObject({ kind });
});
