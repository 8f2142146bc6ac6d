import { expect, test } from '@jest/globals';
import type { Alert } from '../../../../shared/flow/alert.ts';
import type { ChatKey } from '../../../../shared/redis/keys.ts';
import { enter } from '../../../../worker/alerts/book.ts';
import { BACK_SETTLED_MS, QUIET_MS, REOPEN_MS } from '../../../../worker/alerts/incident.ts';
import { condition, failure, opened, START } from '../../../fixture/incidents.ts';

test('a thousand failures of one cause are one incident: opened, grown, and resolved with the right count', () => {
  const incidents = opened();
  incidents.at(0, { alerts: [failure(1)] });
  for (let n = 1; n < 1_000; n++) incidents.at(n, { alerts: [failure(1 + (n % 80), n)] });
  incidents.at(60_000, {});
  incidents.at(60_000 + QUIET_MS, {});
  expect(incidents.kinds()).toEqual(['opened', 'grown', 'resolved']);
  const [first, grown, resolved] = incidents.told;
  expect(first?.text.split('\n')).toEqual([
    '🟡 Needs attention: Messages failed',
    'Since 2027-01-15 08:00:00 UTC: 1 message of 1 chat.',
    ...['A message failed (0). Chat 1.', ''],
    expect.stringMatching(/^They are dead letters: \/dead names them, “Replay failed” puts them back/),
  ]);
  expect(first?.entities).toEqual([{ type: 'bold', offset: 0, length: '🟡 Needs attention: Messages failed'.length }]);
  expect(first?.update).toBeUndefined();
  expect(grown?.update).toMatch(/^More: Messages failed\. Since 2027-01-15 08:00:00 UTC: 1000 messages of 80 chats\./m);
  expect(grown?.text).toMatch(
    /^Since .*: 1000 messages of 80 chats\.\nA message failed \(0\)\. .* Latest: A message failed \(999\)/m,
  );
  const over = /^Resolved: no more messages fail\. It lasted \d+ seconds?: 1000 messages of 80 chats \(failed\)\.$/;
  expect(resolved?.update).toMatch(over);
  expect(resolved?.text.split('\n')).toEqual([
    expect.stringMatching(over),
    '🟡 Needs attention: Messages failed',
    'A message failed (0). Chat 1.',
  ]);
});

test('growth is reported a minute after the opening, and again when ten chats are affected', () => {
  const incidents = opened();
  incidents.at(0, { alerts: [failure(1)] });
  expect(incidents.at(1_000, { alerts: [failure(2)] })).toEqual([]);
  expect(incidents.at(60_000, {})).toMatchObject([
    { kind: 'grown', update: expect.stringContaining('2 messages of 2 chats') },
  ]);
  for (let chat = 3; chat < 10; chat++) expect(incidents.at(130_000, { alerts: [failure(chat)] })).toEqual([]);
  expect(incidents.at(130_001, { alerts: [failure(10)] })).toMatchObject([{ kind: 'grown' }]);
});

test('a condition causes a notice when it opens and when it is over, and no notice in between', () => {
  const incidents = opened();
  for (let look = 0; look < 100; look++) incidents.at(look * 1_000, { conditions: [condition()] });
  // A look at the alerts alone says nothing of conditions.
  incidents.at(100_000, {});
  incidents.at(101_000, { conditions: [] });
  expect(incidents.kinds()).toEqual(['opened', 'resolved']);
  const over = 'Resolved: Telegram is polled again. It lasted 101 seconds (no-poll).';
  const text = `${over}\n🔴 Page: Nobody polls Telegram\nNo poll has succeeded.`;
  expect(incidents.told.at(-1)).toMatchObject({ text, update: over });
});

test('a condition that is back is told at once, and then stays open until it was gone for five minutes', () => {
  const incidents = opened();
  incidents.at(0, { conditions: [condition()] });
  incidents.at(1_000, { conditions: [] });
  expect(incidents.at(2_000, { conditions: [condition()] })).toMatchObject([
    { kind: 'reopened', text: expect.stringContaining('It is back: 1 time') },
  ]);
  for (let round = 4; round < 20; round += 2) {
    expect(incidents.at(round * 1_000, { conditions: [condition()] })).toEqual([]);
    expect(incidents.at(round * 1_000 + 1_000, { conditions: [] })).toEqual([]);
  }
  expect(incidents.at(18_000 + BACK_SETTLED_MS, { conditions: [] })).toEqual([]);
  expect(incidents.at(18_001 + BACK_SETTLED_MS, { conditions: [] })).toMatchObject([{ kind: 'resolved' }]);
});

test('a failure after the end reopens the incident at once, and a day after its end it is forgotten', () => {
  const incidents = opened();
  incidents.at(0, { alerts: [failure(1)] });
  incidents.at(1 + QUIET_MS, {});
  expect(incidents.at(2 + QUIET_MS, { alerts: [failure(2)] })).toMatchObject([{ kind: 'reopened' }]);
  incidents.at(3 + 2 * QUIET_MS, {});
  incidents.at(4 + 2 * QUIET_MS + 24 * REOPEN_MS, {});
  expect(incidents.book().size).toBe(0);
});

test('failures with the cause of a condition join its incident, which stays open between two of them', () => {
  const incidents = opened();
  const provider = condition({ cause: 'provider', level: 'auth', text: 'The endpoint: auth.', messages: 3 });
  const refused: Alert = { cause: 'provider', level: 'auth', chat: '5' as ChatKey, text: 'A message failed.' };
  incidents.at(0, { alerts: [refused] });
  incidents.at(100, { conditions: [provider] });
  incidents.at(200, { conditions: [] });
  incidents.at(300, { alerts: [refused] });
  incidents.at(400, { conditions: [] });
  expect(incidents.kinds()).toEqual(['opened']);
  incidents.at(20_000, { conditions: [] });
  expect(incidents.kinds()).toEqual(['opened', 'resolved']);
});

test('every undeliverable message is named: the first at once, the others a few seconds later in the same message', () => {
  const incidents = opened();
  const lost = (entry: string): Alert => ({ cause: 'undeliverable', text: `Entry ${entry} could not be delivered.` });
  incidents.at(0, { alerts: [lost('1-0')] });
  expect(incidents.at(100, { alerts: [lost('2-0'), lost('3-0')] })).toEqual([]);
  const others = ['Entry 2-0 could not be delivered.', 'Entry 3-0 could not be delivered.'];
  const [named] = incidents.at(6_000, {});
  expect(named).toMatchObject({ update: others.join('\n'), manner: 'silent' });
  const lines = named?.text.split('\n') ?? [];
  expect(lines).toEqual([
    expect.any(String),
    expect.any(String),
    'Entry 1-0 could not be delivered.',
    '',
    expect.any(String),
    ...others,
  ]);
  const [, folded] = named?.entities ?? [];
  expect(folded).toEqual({
    type: 'expandable_blockquote',
    ...{ offset: named?.text.indexOf('Entry 2-0'), length: others.join('\n').length },
  });
  expect(incidents.at(20_000, { alerts: [lost('4-0')] })).toMatchObject([
    { update: 'Entry 4-0 could not be delivered.', manner: 'silent', text: expect.stringContaining('Entry 2-0') },
  ]);
});

test('of 200 undeliverable messages as many are named as one message holds, and the others are counted', () => {
  const incidents = opened();
  const lost = (n: number): Alert => ({ cause: 'undeliverable', text: `Entry ${n}-0 ${'x'.repeat(100)}` });
  incidents.at(0, { alerts: Array.from({ length: 200 }, (_, n) => lost(n)) });
  const [named] = incidents.at(6_000, {});
  expect(named?.manner).toBe('naming');
  const [, , , , , ...lines] = named?.text.split('\n') ?? [];
  expect(named?.text.length).toBeLessThan(4_000);
  expect(lines[0]).toMatch(/^Entry 1-0/);
  expect(lines.at(-1)).toBe(`… and ${199 - (lines.length - 1)} more, each in the log`);
  // The message is full: what comes then is told by itself.
  expect(incidents.at(20_000, { alerts: [lost(200)] })).toMatchObject([
    { manner: 'naming', update: expect.stringMatching(/^Entry 200-0 x+$/) },
  ]);
});

test('a message that was not named before its incident ends is named when it ends', () => {
  const incidents = opened();
  const lost = (entry: string): Alert => ({ cause: 'unsure', text: `Entry ${entry}.` });
  incidents.at(0, { alerts: [lost('1-0')] });
  incidents.at(100, { alerts: [lost('2-0')] });
  incidents.at(200 + QUIET_MS, {});
  const told = incidents.told.map(({ text }) => text).join('\n');
  expect(told).toContain('2-0');
});

test('an isOver alert resolves only its own incident, and causes no notice if that is not open', () => {
  const incidents = opened();
  const ledger = (key: string): Alert => ({ cause: 'ledger', key, text: 'It does not add up.' });
  const over: Alert = { cause: 'ledger', key: 'a', text: 'Resolved: it adds up again.', isOver: true };
  expect(incidents.at(0, { alerts: [over] })).toEqual([]);
  incidents.at(0, { alerts: [ledger('a'), ledger('b')] });
  const end = 'Resolved: it adds up again. It lasted 9 seconds: 1 time (ledger:a).';
  expect(incidents.at(9_000, { alerts: [over], conditions: [] })).toEqual([
    {
      ...{ incident: 'ledger:a', kind: 'resolved', update: end, links: [] },
      text: `${end}\n🔴 Page: The ledger does not add up\nIt does not add up.`,
      entities: [{ type: 'bold', offset: 0, length: 67 }],
    },
  ]);
  expect(incidents.book().get('ledger:b')).toMatchObject({ isOpen: true });
});

test('a fact causes one notice, however many starts find it again, and is never resolved', () => {
  const incidents = opened();
  const fact: Alert = { cause: 'tools-omitted', key: 'web', text: '2 tools are left out.' };
  for (let day = 0; day < 6; day++) incidents.at(day * 24 * 3600_000, { alerts: [fact], conditions: [] });
  incidents.at(30 * 24 * 3600_000, {});
  expect(incidents.kinds()).toEqual(['opened']);
  expect(incidents.book().size).toBe(0);
});

test('of a server that changes its tools each second one notice an hour is made, with the newest words', () => {
  const incidents = opened();
  const about = { cause: 'tools-omitted', key: 'web' } as const;
  const at = (second: number): Alert => ({ ...about, level: `${second}`, text: `tools ${second}` });
  for (let second = 0; second < 7_300; second++) incidents.at(second * 1_000, { alerts: [at(second)], conditions: [] });
  expect(incidents.kinds()).toEqual(['opened', 'changed', 'changed']);
  expect(incidents.told.at(-1)?.update).toMatch(/^Changed: tools 7200\. /);
});

test('an open incident is repeated after an hour, and then less and less often', () => {
  const incidents = opened();
  const hour = 3600_000;
  for (let at = 0; at <= 48 * hour; at += hour / 4) incidents.at(at, { conditions: [condition()] });
  expect(incidents.kinds()).toEqual(['opened', 'lasts', 'lasts', 'lasts', 'lasts']);
  expect(incidents.told.at(-1)?.update).toMatch(/^Still open: No poll has succeeded\. Since /);
});

test('what is to come is told of once, however long it lasts, and once more at its end', () => {
  const incidents = opened();
  const ahead = condition({ cause: 'model-retires', key: 'm 2027-03-01' });
  const hour = 3600_000;
  for (let at = 0; at <= 720 * hour; at += hour) incidents.at(at, { conditions: [ahead] });
  expect(incidents.kinds()).toEqual(['opened']);
  incidents.at(721 * hour, { conditions: [] });
  expect(incidents.kinds()).toEqual(['opened', 'resolved']);
});

test('the book holds at most 1,000 incidents, and resolved ones are forgotten first', () => {
  const incidents = opened();
  const tools = (from: number, count: number): Alert[] =>
    Array.from({ length: count }, (_, n) => ({ cause: 'tool-server', key: `${from + n}`, text: 'is down' }));
  for (let from = 0; from < 1_005; from += 5) {
    incidents.at(from, { alerts: tools(from, 5) });
    incidents.at(from + 1, { alerts: tools(from, 5).map((alert) => ({ ...alert, isOver: true as const })) });
  }
  expect(incidents.book().size).toBe(1_000);
  expect(incidents.book().has('tool-server:0')).toBe(false);
});

test('of 200 servers that go down five are incidents of their own, and the others are named in one more', () => {
  const incidents = opened();
  const one = (n: number): Alert => ({ cause: 'tool-server', key: `${n}`, text: `Server ${n} is down.` });
  const down = Array.from({ length: 200 }, (_, n) => one(n));
  const over = (alerts: Alert[]) => alerts.map((alert) => ({ ...alert, isOver: true as const, text: 'Resolved: up.' }));
  expect(incidents.at(0, { alerts: down })).toHaveLength(6);
  expect([...incidents.book().keys()].at(-1)).toBe('tool-server:others');
  const [named] = incidents.at(6_000, { alerts: down });
  expect(named).toMatchObject({ incident: 'tool-server:others', kind: 'grown' });
  expect(named?.text).toMatch(/^Server 5 is down\.\n\n.*\nServer 6 is down\.\nServer 7 is down\.\n/m);
  expect(named?.text).toMatch(/… and \d+ more, each in the log$/);
  incidents.at(7_000, { alerts: over(down.slice(0, 199)) });
  expect(incidents.book().get('tool-server:others')).toMatchObject({ isOpen: true, parts: ['199'] });
  expect(incidents.at(8_000, { alerts: over(down.slice(199)) })).toMatchObject([{ kind: 'resolved' }]);
  const retires = (n: string) => condition({ cause: 'model-retires', key: n, text: n, level: n });
  const lasting = [...'012345678'].map(retires);
  for (let at = 9_000; at < 20_000; at += 1_000) incidents.at(at, { conditions: lasting });
  expect(incidents.told.at(-1)).toMatchObject({ update: '6\n7\n8', manner: 'silent' });
  expect(incidents.at(20_000, { conditions: [] })).toHaveLength(6);
});

test('a notice names the installation, and links to the trace and to the section of the runbook; its end links to neither', () => {
  const around = {
    ...{ trace: 'https://jaeger/trace/{traceId}', runbook: 'https://docs/runbook.md', installation: 'Home' },
  };
  const { notices, book } = enter(new Map(), { alerts: [failure(1)], nowMs: START }, around);
  expect(notices[0]?.text).toMatch(/^Home: Since /m);
  expect(notices[0]?.links).toEqual([
    { text: 'Trace', url: 'https://jaeger/trace/abc' },
    { text: 'Runbook', url: 'https://docs/runbook.md#failed' },
  ]);
  const later = enter(book, { alerts: [], nowMs: START + QUIET_MS + 1 }, around);
  expect(later.notices).toMatchObject([{ kind: 'resolved', links: [] }]);
  const untraced = enter(new Map(), { alerts: [], conditions: [condition()], nowMs: START }, around);
  expect(untraced.notices[0]?.links).toEqual([{ text: 'Runbook', url: 'https://docs/runbook.md#no-poll' }]);
});
