import { expect, test } from '@jest/globals';
import { eachInWorld, spawn, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { ask, givenLines } from '../../fixture/whole-chat.ts';

eachInWorld();

const given = (...lines: object[]) => givenLines(lines.map((line) => JSON.stringify(line)));

const ORPHAN = { type: 'tool_result', tool_use_id: 'toolu_9', content: 'lost' };

test('a message is answered in a fresh session if a record of the log breaks a rule, and the operator learns which rule', async () => {
  const gateway = await spawn();
  const session = await given({ role: 'user', content: 'one' }, { role: 'assistant', content: 'two' });
  const at = new Date().toISOString();
  await world.peek.rpush(world.keys.log(session), JSON.stringify({ v: 1, t: 'user', id: 'x', at, content: [ORPHAN] }));
  const outcome = await ask('three');
  expect(outcome).toMatchObject({ outcome: 'answered' });
  expect(outcome.session).not.toBe(session);
  expect(world.claude.violations()).toEqual([]);
  const events = JSON.stringify(await world.peek.xrange(world.keys.events, '-', '+'));
  expect(events).toContain('request.invalid');
  expect(events).toContain('result-has-call');
  const lines = gateway.log.filter((line) => line.includes('breaks a rule of the API')).map((line) => JSON.parse(line));
  expect(new Set(lines.map(({ level, rule, path }) => [level, rule, path].join(' ')))).toEqual(
    new Set(['50 result-has-call messages.2.content.0']),
  );
  expect(lines.every((line) => !JSON.stringify(line).includes('lost'))).toBe(true);
  expect(await ask('four', 2)).toMatchObject({ outcome: 'answered', session: outcome.session });
});

test('an endpoint that numbers its calls anew in each answer costs no chat anything', async () => {
  await start();
  const ids: unknown[] = [];
  world.claude.react(({ body, pendingText }) => {
    const last = body.messages.at(-1)?.content;
    if (Array.isArray(last) && last.some(({ type }) => type === 'tool_result')) return { do: 'answer', text: 'Done.' };
    ids.push(pendingText);
    const used = { type: 'tool_use', id: 'functions.recall:0', name: 'recall', input: { query: 'dam' } };
    return { do: 'answer', content: [used], stopReason: 'tool_use' };
  });
  for (const nth of [1, 2, 3]) {
    expect(await ask(`Search ${nth}`, nth)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  }
  expect(ids).toHaveLength(3);
  expect(world.claude.violations()).toEqual([]);
  expect(JSON.stringify(await world.peek.xrange(world.keys.events, '-', '+'))).not.toContain('request.invalid');
});

const UNREADABLE = ['{"v":1,"t":"us', '{"v":9,"t":"user","id":"x","at":"","content":"from the future"}', 'null'];

test('lines of the log that cannot be read are skipped, and the operator is notified; interrupted calls get a result', async () => {
  await start();
  const calls = ['toolu_1', 'toolu_2'].map((id) => ({ type: 'tool_use', id, name: 'look', input: {} }));
  const session = await given({ role: 'user', content: 'Look it up' }, { role: 'assistant', content: calls });
  await world.peek.rpush(world.keys.log(session), ...UNREADABLE);
  expect(await ask('three')).toMatchObject({ outcome: 'answered', recoveries: 0, session });
  const messages = world.claude.calls[0]?.body.messages ?? [];
  expect(messages).toHaveLength(3);
  expect(JSON.stringify(messages[2])).toMatch(/"tool_result".*toolu_1.*"tool_result".*toolu_2/);
  expect(world.claude.violations()).toEqual([]);
  const alert = await world.telegram.waitForText(ALERT_CHAT, /cannot be read/);
  expect(alert.text).toContain(session);
});
