import { expect, test } from '@jest/globals';
import { type Cause, isAlertText } from '../../../../shared/flow/alert.ts';
import { ALERT_WORDS } from '../../../../worker/alerts/causes/words.ts';
import { CAUSES } from '../../../../worker/alerts/causes.ts';
import { ended, seen } from '../../../../worker/alerts/incident.ts';
import { pageOf, troublePage, updateText } from '../../../../worker/alerts/notice-text.ts';
import { condition, START } from '../../../fixture/incidents.ts';

const LEVELS = ['', ...Object.keys(ALERT_WORDS.levels.provider)];
const EVERY = (Object.keys(CAUSES) as Cause[]).flatMap((cause) => LEVELS.map((level) => [cause, level] as const));

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
    named.filter(({ cause, label }) => !CAUSES[cause].acts.some((name) => ALERT_WORDS.acts[name] === label)),
  ).toEqual([]);
});

test('each alert and each later word about one is known as one', () => {
  const unknown = EVERY.flatMap(([cause, level]) => {
    const text = 'It fails. Chat 1007. Trace 4bf92f3577b34da6a3ce929d0e0e4736';
    const open = seen(undefined, condition({ cause, text, level, messages: 12, chats: 3 }), START);
    // An incident that an alert ends has that alert's text at its end.
    const over = ended(open, START + 32_000, CAUSES[cause].endsBy === 'alert' ? 'Resolved: it works again.' : '');
    const changes = (['changed', 'lasts', 'grown'] as const).map((kind) => updateText(open, kind));
    const all = [...changes, ...[open, over].map((each) => pageOf(each).text), updateText(over, 'resolved')];
    return all.filter((each) => !isAlertText(each));
  });
  expect(unknown).toEqual([]);
  expect(isAlertText(troublePage({ title: 'x', text: 'y', section: 'z' }, {}).text)).toBe(true);
});
