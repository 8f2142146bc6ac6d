import { expect, test } from '@jest/globals';
import type { Cause } from '../../../../shared/flow/alert.ts';
import { ALERT_WORDS } from '../../../../worker/alerts/causes/words.ts';
import { actsFor, CAUSES } from '../../../../worker/alerts/causes.ts';

test('every cause has a title, and every cause except a fact has a text for its end', () => {
  const causes = Object.keys(CAUSES) as Cause[];
  const { title, over } = ALERT_WORDS;
  expect(causes.filter((cause) => title[cause] === '')).toEqual([]);
  expect(causes.filter((cause) => over[cause] === '')).toEqual(
    causes.filter((cause) => CAUSES[cause].endsBy === 'fact'),
  );
});

test('a button that a text names has that label, among those that its cause offers', () => {
  const named = Object.entries(ALERT_WORDS.todo).flatMap(([cause, text]) =>
    [...text.matchAll(/“([^”]*)”/g)].map(([, label]) => ({ cause: cause as Cause, label })),
  );
  expect(named).toContainEqual({ cause: 'failed', label: ALERT_WORDS.acts.replay });
  expect(
    named.filter(({ cause, label }) => !actsFor({ cause, level: '' }).some((name) => ALERT_WORDS.acts[name] === label)),
  ).toEqual([]);
});
