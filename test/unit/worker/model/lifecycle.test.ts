import { expect, test } from '@jest/globals';
import { modelsInUse, readLifecycle } from '../../../../worker/model/catalog.ts';

const DATE = '2027-01-05T00:00:00Z';
const retiresAtMs = Date.parse(DATE);

test.each([
  [{ lifecycle: 'active', retires_at: null }, { stage: 'active' }],
  // A model that is active has no date.
  [{ lifecycle: 'active', retires_at: DATE }, { stage: 'active' }],
  [
    { lifecycle: 'deprecated', retires_at: DATE },
    { stage: 'deprecated', retiresAtMs },
  ],
  [
    { lifecycle: 'deprecated', retires_at: '2027-01-05' },
    { stage: 'deprecated', retiresAtMs },
  ],
  [{ lifecycle: 'deprecated', retires_at: null }, { stage: 'deprecated' }],
  [
    { lifecycle: 'retired', retires_at: DATE },
    { stage: 'retired', retiresAtMs },
  ],
  [
    { lifecycle: 'a stage that is new', retires_at: DATE },
    { stage: 'deprecated', retiresAtMs },
  ],
  [{ lifecycle: 'a stage that is new', retires_at: null }, undefined],
  [{ id: 'm' }, undefined],
  [null, undefined],
  ['<html>', undefined],
])('%j states %j', (card, life) => {
  expect(readLifecycle(card)).toEqual(life);
});

test.each([0, 1_800_000_000, '1970-01-01T00:00:00Z', '9999-12-31', 'soon', '2027-99-99', '', {}, [DATE], true])(
  '%j is no date of a retirement',
  (date) => {
    expect(readLifecycle({ lifecycle: 'deprecated', retires_at: date })).toEqual({ stage: 'deprecated' });
  },
);

test('each model is in use once, with all settings that name it', () => {
  const config = { MODEL: 'a', FALLBACK_MODEL: undefined, COMPACTION_MODEL: 'b', MODELS: ['a', 'c'] };
  expect([...modelsInUse(config)]).toEqual([
    ['a', ['MODEL', 'MODELS']],
    ['b', ['COMPACTION_MODEL']],
    ['c', ['MODELS']],
  ]);
});
