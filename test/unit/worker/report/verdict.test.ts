import { expect, test } from '@jest/globals';
import type { IncidentReport } from '../../../../worker/report/incidents.ts';
import { type Judged, troublesOf } from '../../../../worker/report/verdict.ts';

const WELL: Judged = {
  workers: 1,
  takesWrites: true,
  unaccounted: 0,
  pauses: [],
  conditions: [],
  incidents: [],
};

const INCIDENT: IncidentReport = {
  name: 'ledger',
  cause: 'ledger',
  title: 'The ledger does not add up',
  isOpen: true,
  sinceMs: 1,
  lastMs: 2,
  count: 1,
  chats: 0,
  chatNames: [],
  latest: 'The ledger does not add up: 1',
  todo: 'See the runbook.',
};

test('nothing is wrong when nothing is', () => {
  expect(troublesOf(WELL)).toEqual([]);
});

test.each<[string, Partial<Judged>]>([
  ['redis', { takesWrites: false }],
  ['worker', { workers: 0 }],
  ['ledger', { unaccounted: -1 }],
  ['paused', { pauses: [{ chat: '*', sinceMs: 1, by: 'ann', why: '' }] }],
  ['no-poll', { conditions: [{ cause: 'no-poll', text: 'No poll' }] }],
  ['ledger', { incidents: [INCIDENT] }],
])('%s is a trouble by itself', (cause, part) => {
  expect(troublesOf({ ...WELL, ...part })).toEqual([expect.objectContaining({ cause })]);
});

test('a paused chat, an ended incident, and what happened to single messages are not trouble of the installation', () => {
  const pauses: Judged['pauses'] = [{ chat: '7' as never, sinceMs: 1, by: 'ann', why: '' }];
  const incidents = [
    { ...INCIDENT, isOpen: false },
    { ...INCIDENT, name: 'failed', cause: 'failed' as const },
  ];
  expect(troublesOf({ ...WELL, pauses, incidents })).toEqual([]);
});

test('a model that is to be retired is no trouble yet, whether the state or the book of incidents tells of it', () => {
  const cause = 'model-retires' as const;
  const incidents = [{ ...INCIDENT, name: `${cause}:m 2027-01-05`, cause }];
  expect(troublesOf({ ...WELL, incidents, conditions: [{ cause, text: 'The model m is to be retired' }] })).toEqual([]);
  expect(troublesOf({ ...WELL, incidents })).toEqual([]);
});

test('a condition and the incident that it opened are one trouble', () => {
  const conditions = [{ cause: 'provider' as const, text: 'The model endpoint fails' }];
  const incidents = [{ ...INCIDENT, name: 'provider', cause: 'provider' as const }];
  expect(troublesOf({ ...WELL, conditions, incidents })).toHaveLength(1);
});
