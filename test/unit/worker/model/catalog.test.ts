import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  bindsThinking,
  canonicalName,
  isSameModel,
  modelsInUse,
  readLifecycle,
  tokenizerFactor,
  windowTokensOf,
} from '../../../../worker/model/catalog.ts';
import { forAll } from '../../../fixture/texts.ts';

const known = (model: string) => [windowTokensOf(model), tokenizerFactor(model), bindsThinking(model)];

test.each([
  'claude-opus-5-5',
  'claude-opus-5-5-20260922',
  'claude-opus-5-5[1m]',
  'claude-opus-5-5@20260922',
  'anthropic/claude-opus-5.5',
  'openrouter/anthropic/claude-opus-5.5:beta',
  'us.anthropic.claude-opus-5-5-v1:0',
  'bedrock/us.anthropic.claude-opus-5-5-20260922-v1:0',
  'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5-5-v1:0',
  'databricks-claude-opus-5-5',
  'Anthropic/Claude-Opus-5-5',
])('%s is Opus 5.5 for any provider', (model) => {
  expect(canonicalName(model)).toBe('claude-opus-5-5');
  expect(known(model)).toEqual([1_000_000, 1.35, true]);
});

test.each([
  ['claude-haiku-4-5-20251001', 200_000, 1, false],
  ['claude-sonnet-4-5', 200_000, 1, false],
  ['claude-sonnet-4-5[1m]', 1_000_000, 1, false],
  ['claude-sonnet-4-20250514', 200_000, 1, false],
  ['claude-sonnet-4-6', 1_000_000, 1, false],
  ['claude-opus-4-1-20250805', 200_000, 1, false],
  ['claude-opus-4-6', 1_000_000, 1, false],
  ['claude-opus-4-8', 1_000_000, 1.35, false],
  ['claude-3-5-haiku-latest', 200_000, 1, false],
  ['claude-sonnet-5-5', 1_000_000, 1.35, true],
  ['claude-fable-5-1', 1_000_000, 1.35, true],
  ['claude-next-9', 1_000_000, 1.35, true],
  ['gpt-6', 200_000, 1, false],
  ['notclaude-5', 200_000, 1, false],
])('%s: window %d, tokenizer factor %d, binds thinking: %s', (model, window, factor, binds) => {
  expect(known(model)).toEqual([window, factor, binds]);
});

test('isSameModel ignores the provider and the date in either name', () => {
  expect(isSameModel('anthropic/claude-opus-5-5', 'claude-opus-5-5-20260922')).toBe(true);
  expect(isSameModel('claude-opus-5-5-20260922', 'claude-opus-5-5')).toBe(true);
  expect(isSameModel('gpt-6', 'gpt-6-2026-01-01')).toBe(true);
  expect(isSameModel('claude-opus-5-5', 'claude-haiku-5-5')).toBe(false);
});

test('canonicalName is idempotent', () => {
  const parts = fc.constantFrom(...'claude- opus -5 .5 -20260101 [1m] @ :0 -v1 us. / x -latest'.split(' '));
  const built = fc.array(parts, { maxLength: 12 }).map((all) => all.join(''));
  forAll([fc.oneof(fc.string(), built)], (name) => {
    expect(canonicalName(canonicalName(name))).toBe(canonicalName(name));
  });
});

const DATE = '2027-01-05T00:00:00Z';
const retiresAtMs = Date.parse(DATE);
const card = (lifecycle: string, retires_at: string | null) => ({ lifecycle, retires_at });

test.each([
  [card('active', null), { stage: 'active' }],
  // A model that is active has no date.
  [card('active', DATE), { stage: 'active' }],
  [card('deprecated', DATE), { stage: 'deprecated', retiresAtMs }],
  [card('deprecated', '2027-01-05'), { stage: 'deprecated', retiresAtMs }],
  [card('deprecated', null), { stage: 'deprecated' }],
  [card('retired', DATE), { stage: 'retired', retiresAtMs }],
  [card('a stage that is new', DATE), { stage: 'deprecated', retiresAtMs }],
  [card('a stage that is new', null), undefined],
  [{ id: 'm' }, undefined],
  [null, undefined],
  ['<html>', undefined],
])('%j states %j', (stated, life) => {
  expect(readLifecycle(stated)).toEqual(life);
});

test('each model is in use once, with all settings that name it', () => {
  const settings = { MODEL: 'a', FALLBACK_MODEL: undefined, COMPACTION_MODEL: 'b', MODELS: ['a', 'c'] };
  expect([...modelsInUse(settings)]).toEqual([
    ['a', ['MODEL']],
    ['b', ['COMPACTION_MODEL']],
    ['c', ['MODELS']],
  ]);
});
