import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachWithGateway, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

eachWithGateway();

async function givenLines(...lines: object[]) {
  return importSession(
    world.peek,
    world.keys,
    chatKey(CHAT),
    await parseLines(lines.map((line) => JSON.stringify(line))),
  );
}

test('a picture that the API would always refuse is replaced in the request, and the audit trail has the repair', async () => {
  const source = {
    type: 'base64',
    media_type: 'image/png',
    data: Buffer.from('this is no picture').toString('base64'),
  };
  await givenLines(
    {
      role: 'user',
      content: [
        { type: 'image', source },
        { type: 'text', text: 'What is on it?' },
      ],
    },
    { role: 'assistant', content: 'A cat.' },
  );
  world.telegram.say(CHAT, 'Are you sure?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
  expect(world.claude.calls).toHaveLength(1);
  const sent = JSON.stringify(world.claude.calls[0]?.body);
  expect(sent).toContain('image/png');
  expect(sent).not.toContain(source.data);
  const events = JSON.stringify(await world.peek.xrange(world.keys.events, '-', '+'));
  expect(events).toContain('request.repaired');
  expect(events).toContain('placeholder');
});

test('incomplete tool pairs of an import never reach the API', async () => {
  await givenLines(
    { role: 'user', content: 'Look it up' },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
        { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_2', content: 'found' },
        { type: 'tool_result', tool_use_id: 'toolu_9', content: 'lost' },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_3', name: 'look', input: {} }] },
  );
  world.telegram.say(CHAT, 'And?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
});

test('a 400 that would always repeat is recovered from, and the next message is answered', async () => {
  await givenLines({ role: 'user', content: 'one' }, { role: 'assistant', content: 'two' });
  const message = 'messages.1.content.0: a rule that nobody knows yet was broken';
  world.claude.react((call) =>
    JSON.stringify(call.body).includes('"two"')
      ? { do: 'error', status: 400, type: 'invalid_request_error', message }
      : undefined,
  );
  world.telegram.say(CHAT, 'three');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  world.telegram.say(CHAT, 'four');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
});

test.each(['{"v":1,"t":"us', '{"v":9,"t":"user","id":"x","at":"","content":"from the future"}', 'null'])(
  'a line of the log that cannot be read (%s) is skipped, and the operator is notified',
  async (line) => {
    const session = await givenLines({ role: 'user', content: 'one' }, { role: 'assistant', content: 'two' });
    await world.peek.rpush(world.keys.log(session), line);
    world.telegram.say(CHAT, 'three');
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0, session });
    expect(world.claude.calls[0]?.body.messages).toHaveLength(3);
    const alert = await world.telegram.waitForText(ALERT_CHAT, /cannot be read/);
    expect(alert.text).toContain(session);
  },
);
