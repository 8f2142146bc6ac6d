import { expect, test } from '@jest/globals';
import type { Alert } from '../../../../shared/flow/alert.ts';
import { type Book, enter } from '../../../../worker/alerts/book.ts';
import { BACK_SETTLED_MS, DRAIN_MS, type Incident, QUIET_MS, REOPEN_MS } from '../../../../worker/alerts/incident.ts';
import { messageOf } from '../../../../worker/alerts/message.ts';
import { EDIT_EVERY_MS } from '../../../../worker/alerts/next-sending.ts';
import { LIMITS } from '../../../../worker/limits.ts';
import { condition, failure, opened, START } from '../../../fixture/incidents.ts';

const SETTLE_MS = LIMITS.alertSettleMs;
const HOUR_MS = 3600_000;
/** The endpoint refuses the key. */
const REFUSED = condition({ cause: 'provider', level: 'auth', text: 'The endpoint: auth.' });

test('a thousand failures of one cause are one message: it rings when it opens and ends, and is edited meanwhile', () => {
  const incidents = opened({ installation: 'Home' });
  const [first] = incidents.at(0, { alerts: [failure(1)] });
  expect(first?.text?.split('\n')).toEqual([
    '🟡 Needs attention: Messages failed',
    'Home: 1 message of 1 chat since 2027-01-15 08:00:00 UTC.',
    'A message failed (0).',
    '/dead lists them; “Replay failed” replays them.',
    'Chats: 1',
    'Trace abc',
  ]);
  for (let n = 1; n < 1_000; n++) incidents.at(n, { alerts: [failure(1 + (n % 80), n)] });
  expect(incidents.all).toHaveLength(1);
  const [grown] = incidents.at(EDIT_EVERY_MS, {});
  expect(grown).toMatchObject({ isSilent: true, text: expect.stringContaining('1,000 messages of 80 chats since') });
  expect(grown?.reply).toBeUndefined();
  const [over] = incidents.at(EDIT_EVERY_MS + QUIET_MS, {});
  expect(over).toMatchObject({ isSilent: false, reply: 'Resolved: no more messages failed.' });
  expect(over?.text?.split('\n').slice(0, 4)).toEqual([
    'Resolved: no more messages failed.',
    '🟡 Needs attention: Messages failed',
    'Home: 1,000 messages of 80 chats, from 2027-01-15 08:00:00 UTC, for 10 minutes.',
    'A message failed (0).',
  ]);
  expect(incidents.rings()).toHaveLength(2);
});

test('a change is shown within 15 seconds, and no message is edited when only its age changes', () => {
  const incidents = opened();
  incidents.at(0, { alerts: [failure(1)] });
  expect(incidents.at(1_000, { alerts: [failure(2)] })).toEqual([]);
  expect(incidents.at(10_000, {})).toMatchObject([{ text: expect.stringContaining('2 messages of 2 chats') }]);
  const aging = (seconds: number) => condition({ text: `No poll has succeeded for ${seconds} seconds.` });
  for (let second = 20; second < 500; second += 5) incidents.at(second * 1_000, { conditions: [aging(second)] });
  expect(incidents.all.filter(({ incident }) => incident === 'no-poll')).toHaveLength(1);
  // A look at the alerts alone says nothing of conditions.
  incidents.at(48 * HOUR_MS, {});
  expect(incidents.book().get('no-poll')).toMatchObject({ isOpen: true });
});

test('trouble that gets worse rings once more, and not again when it gets better and worse', () => {
  const incidents = opened();
  const memory = (level: string) => condition({ cause: 'memory', level, text: `Redis is ${level}.` });
  for (const [at, level] of ['nearly full', 'full', 'nearly full', 'full'].entries())
    incidents.at(at * 20_000, { conditions: [memory(level)] });
  expect(incidents.rings()).toEqual([
    '🟡 Needs attention: Redis is nearly full',
    '🔴 Page: Redis is full: no message is accepted. Redis is full.',
  ]);
});

test('a condition that is back, with the beginning that it had, opens a new message, and then stays open until it was gone for five minutes', () => {
  const incidents = opened();
  const waiting = condition({ sinceMs: START - 60_000 });
  incidents.at(0, { conditions: [waiting] });
  incidents.at(1_000, { conditions: [] });
  expect(incidents.at(2_000, { conditions: [waiting] })).toMatchObject([
    { isSilent: false, text: expect.stringContaining('The trouble came back within an hour of its end.') },
  ]);
  for (let round = 4; round < 20; round += 2) {
    expect(incidents.at(round * 1_000, { conditions: [waiting] })).toEqual([]);
    expect(incidents.at(round * 1_000 + 1_000, { conditions: [] })).toEqual([]);
  }
  expect(incidents.at(18_000 + BACK_SETTLED_MS, { conditions: [] })).toEqual([]);
  expect(incidents.at(18_001 + BACK_SETTLED_MS, { conditions: [] })).toHaveLength(1);
  expect(incidents.rings()).toHaveLength(4);
});

test('trouble of another kind is new and names its own cure; of the same kind, it is back', () => {
  const incidents = opened();
  const network = condition({ cause: 'provider', level: 'network', text: 'The endpoint cannot be reached.' });
  incidents.at(0, { conditions: [network] });
  incidents.at(20_000, { conditions: [] });
  const [message] = incidents.at(40_000, { conditions: [REFUSED] });
  expect(message?.text).toMatch(
    /^🔴 Page: Every message fails: the endpoint rejects the API key\nSince .*\n.*\nCorrect ANTHROPIC/,
  );
  incidents.at(60_000, { conditions: [] });
  expect(incidents.at(80_000, { conditions: [REFUSED] })[0]?.text).toMatch(/trouble came back/);
});

test('a failure after the end opens the incident again, and a day after its end it is forgotten', () => {
  const incidents = opened();
  incidents.at(0, { alerts: [failure(1)] });
  incidents.at(1 + QUIET_MS, {});
  expect(incidents.at(2 + QUIET_MS, { alerts: [failure(2)] })).toMatchObject([{ isSilent: false }]);
  incidents.at(3 + 2 * QUIET_MS, {});
  incidents.at(4 + 2 * QUIET_MS + 24 * REOPEN_MS, {});
  expect(incidents.book().size).toBe(0);
});

test('an incident that no channel has is stored for a week after its end', () => {
  const incidents = opened({}, 30 * 24 * HOUR_MS);
  const isDelivered = () => false;
  incidents.at(0, { alerts: [failure(1)], isDelivered });
  incidents.at(QUIET_MS + 1, { isDelivered });
  incidents.at(6 * 24 * HOUR_MS, { isDelivered });
  expect(incidents.book().size).toBe(1);
  incidents.at(8 * 24 * HOUR_MS, { isDelivered });
  expect(incidents.book().size).toBe(0);
});

test('the end says what became of the messages that failed, also when they are replayed later', () => {
  const incidents = opened();
  const left = (number: number) => new Map([['provider', number]]);
  incidents.at(0, { conditions: [REFUSED] });
  expect(incidents.at(EDIT_EVERY_MS, { conditions: [REFUSED], letters: left(3) })[0]?.text).toMatch(
    /^3 messages failed so far\.$/m,
  );
  const [over] = incidents.at(30_000, { conditions: [], letters: left(3) });
  expect(over?.reply).toBe('Resolved: the model endpoint answers again. 3 messages failed and wait to be replayed.');
  expect(incidents.at(50_000, { conditions: [], letters: left(1) })).toMatchObject([
    { isSilent: true, text: expect.stringContaining('3 messages failed; 1 still to be replayed.') },
  ]);
  expect(incidents.at(70_000, { conditions: [], letters: left(0) })).toMatchObject([
    { isSilent: true, text: expect.stringContaining('3 messages failed; none left to replay.') },
  ]);
});

test('what follows from an open incident is a line in its message, and rings only if it outlasts it', () => {
  const incidents = opened();
  const waiting = condition({ cause: 'unanswered', text: 'The oldest waits.', messages: 3, chats: 2 });
  incidents.at(0, { conditions: [REFUSED] });
  const [changed, ...others] = incidents.at(EDIT_EVERY_MS, { alerts: [failure(1)], conditions: [REFUSED, waiting] });
  expect(others).toEqual([]);
  expect(changed).toMatchObject({ incident: 'provider', isSilent: true });
  expect(changed?.text).toMatch(
    /^Consequences: Messages failed \(1 message of 1 chat\); Messages have waited too long for an answer \(3 messages of 2 chats\)\.$/m,
  );
  incidents.at(30_000, { conditions: [waiting] });
  expect(incidents.at(30_000 + DRAIN_MS - 1, { conditions: [waiting] })).toEqual([]);
  expect(incidents.at(30_000 + DRAIN_MS, { alerts: [], conditions: [waiting] })).toContainEqual(
    expect.objectContaining({ incident: 'unanswered', isSilent: false }),
  );
});

test('a failure waits a few seconds for its cause, and one that was shown before says what it follows from', () => {
  const incidents = opened({}, SETTLE_MS);
  incidents.at(0, { alerts: [failure(1)] });
  expect(incidents.at(SETTLE_MS - 1, {})).toEqual([]);
  expect(incidents.at(SETTLE_MS, {})).toMatchObject([{ incident: 'failed', isSilent: false }]);
  const [cause, consequence] = incidents.at(3 * SETTLE_MS, { conditions: [REFUSED] });
  expect(cause).toMatchObject({ incident: 'provider', isSilent: false });
  expect(consequence?.text).toContain('\nCaused by: Every message fails: the endpoint rejects the API key.');
  incidents.at(4 * SETTLE_MS + QUIET_MS, { conditions: [REFUSED] });
  expect(incidents.rings()).toHaveLength(2);
});

test('trouble never hides what is graver than itself, and a Redis that is only nearly full explains nothing', () => {
  const incidents = opened();
  const memory = condition({ cause: 'memory', level: 'nearly full', text: 'Nearly full.' });
  const waiting = condition({ cause: 'unanswered', text: 'The oldest waits.' });
  incidents.at(0, { alerts: [failure(1)], conditions: [memory, waiting] });
  expect(incidents.rings()).toHaveLength(3);
});

test('every undeliverable message is named, folded in the message, and further ones in replies that ring nobody', () => {
  const incidents = opened();
  const lost = (n: number): Alert => ({ cause: 'undeliverable', text: `Entry ${n}-0 ${'x'.repeat(100)}` });
  incidents.at(0, { alerts: [lost(0)] });
  incidents.at(6_000, { alerts: Array.from({ length: 199 }, (_, n) => lost(n + 1)) });
  incidents.at(20_000, {});
  incidents.at(40_000, { alerts: [lost(200)] });
  const texts = incidents.all.map(({ text = '', reply = '' }) => text + reply);
  for (let n = 0; n <= 200; n++) expect(texts.filter((text) => text.includes(`Entry ${n}-0 `))).not.toEqual([]);
  expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(4_000);
  expect(incidents.rings()).toEqual([]);
});

test('an alert that an incident is over ends only its own incident, and is nothing if that is not open', () => {
  const incidents = opened();
  const ledger = (key: string): Alert => ({ cause: 'ledger', key, text: 'It does not add up.' });
  const over: Alert = { cause: 'ledger', key: 'a', text: 'Resolved: it adds up again.', isOver: true };
  expect(incidents.at(0, { alerts: [over] })).toEqual([]);
  incidents.at(0, { alerts: [ledger('a'), ledger('b')] });
  expect(incidents.at(9_000, { alerts: [over], conditions: [] })).toMatchObject([
    { incident: 'ledger:a', reply: 'Resolved: it adds up again.', text: expect.stringContaining('1 time, from') },
  ]);
  expect(incidents.book().get('ledger:b')).toMatchObject({ isOpen: true });
});

test('a fact has one message, however many starts find it again, and is never resolved', () => {
  const incidents = opened();
  const fact: Alert = { cause: 'tools-omitted', key: 'web', text: '2 tools are left out.' };
  for (let day = 0; day < 6; day++) incidents.at(day * 24 * HOUR_MS, { alerts: [fact], conditions: [] });
  incidents.at(30 * 24 * HOUR_MS, {});
  expect(incidents.rings()).toHaveLength(1);
  expect(incidents.book().size).toBe(0);
});

test('the book holds at most 1,000 incidents, and resolved ones are forgotten first', () => {
  let book: Book = new Map();
  for (let from = 0; from < 1_005; from += 5) {
    const down = Array.from(
      { length: 5 },
      (_, n): Alert => ({ cause: 'tool-server', key: `${from + n}`, text: 'Down.' }),
    );
    const up = down.map((alert) => ({ ...alert, isOver: true as const }));
    for (const [nth, alerts] of [down, up].entries())
      book = enter(book, { alerts, nowMs: START + from + nth, isDelivered: () => true }).book;
  }
  expect(book.size).toBe(1_000);
  expect(book.has('tool-server:0')).toBe(false);
});

test('of 200 servers that go down five are incidents of their own, and the others are named in one more', () => {
  const incidents = opened();
  const one = (n: number): Alert => ({ cause: 'tool-server', key: `${n}`, text: `Server ${n} is down.` });
  const down = Array.from({ length: 200 }, (_, n) => one(n));
  const over = (alerts: Alert[]) => alerts.map((alert) => ({ ...alert, isOver: true as const, text: 'Resolved: up.' }));
  const messages = incidents.at(0, { alerts: down }).filter(({ text }) => text !== undefined);
  expect(messages).toHaveLength(6);
  expect(messages.find(({ incident }) => incident === 'tool-server:others')?.text).toMatch(
    /\nServer 5 is down\.\nServer 6 is down\.\nServer 7 is down\.\n/,
  );
  incidents.at(7_000, { alerts: over(down.slice(0, 199)) });
  expect(incidents.book().get('tool-server:others')).toMatchObject({ isOpen: true, parts: ['199'] });
  expect(incidents.at(8_000, { alerts: over(down.slice(199)) })).toMatchObject([{ reply: 'Resolved: up.' }]);
});

test('a message links to the trace and to the section of the runbook; its end links to neither', () => {
  const around = { trace: 'https://jaeger/trace/{traceId}', runbook: 'https://docs/runbook.md' };
  const incidents = opened();
  const links = () => messageOf(incidents.book().get('failed') as Incident, around).links;
  incidents.at(0, { alerts: [failure(1)] });
  expect(links()).toEqual([
    { text: 'Trace', url: 'https://jaeger/trace/abc' },
    { text: 'Runbook', url: 'https://docs/runbook.md#failed' },
  ]);
  incidents.at(QUIET_MS + 1, {});
  expect(links()).toEqual([]);
});
