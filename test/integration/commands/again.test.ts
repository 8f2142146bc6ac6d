import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { decodeRecord } from '../../../worker/session/record.ts';
import { buttons, FAIL, newest, outcomes, scriptCommands } from '../../fixture/commands.ts';
import { call } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, killAt, mainCalls, shown, start, trouble, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ask, sessionOf } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

const GROUP = -1_001_234;
const NOTE = { action: 'remember', text: 'lives in Tainan' };

eachInWorld();

/** Answers each question by its number: "answer 1", "answer 2" and so on. */
function countAnswers(): void {
  let count = 0;
  world.claude.react(({ kind }) => (kind === 'main' ? { do: 'answer', text: `answer ${++count}` } : undefined));
}

async function logOf(chat = CHAT) {
  return (await world.peek.lrange(world.keys.log(await sessionOf(chat)), 0, -1)).map(decodeRecord);
}

/** The texts of the newest request, each with its role. */
function asked(): string {
  return JSON.stringify(mainCalls().at(-1)?.body.messages);
}

test('/retry asks the answered message anew: the model sees no earlier answer, and the log keeps both', async () => {
  await start();
  countAnswers();
  await ask('an older question', 1);
  await ask('how far is Tainan?', 2);
  await ask('/retry', 3);
  expect(shown()).toEqual(['answer 1', 'answer 2', 'answer 3']);
  expect(await outcomes()).toEqual(['answered', 'answered', 'answered']);
  expect(asked()).toContain('answer 1');
  expect(asked()).not.toContain('answer 2');
  expect(asked().match(/how far is Tainan/g)).toHaveLength(1);
  await ask('and back?', 4);
  expect(asked()).toContain('answer 3');
  expect(asked()).not.toContain('answer 2');
  const log = await logOf();
  const [first, second] = log.filter((record) => JSON.stringify(record).includes('how far is Tainan'));
  expect(second).toMatchObject({ retryOf: (first as { entry?: string }).entry });
  expect(JSON.stringify(log)).toContain('answer 2');
  expect(world.claude.violations()).toEqual([]);
});

test('/retry tries the newest message again: one that failed, or the answered one behind it', async () => {
  await start();
  const script = scriptCommands();
  await ask(FAIL, 1);
  script.mend();
  await ask('something else', 2);
  await ask('/retry', 3);
  expect(mainCalls().at(-1)?.pendingText).toBe('something else');
  await ask(`/retry ${(await world.peek.xrange(world.keys.dead, '-', '+'))[0]?.[1][1]}`, 5);
  expect(newest()?.text).toBe(`You said: ${FAIL}`);
});

test('an answer that was cut has a button; pressed twice at once, the message is answered once more', async () => {
  await start();
  let isCut = true;
  world.claude.react(({ kind }) =>
    kind === 'main' && isCut ? { do: 'answer', text: 'too much to', stopReason: 'max_tokens' } : undefined,
  );
  await ask('tell me everything', 1);
  expect(newest()?.text).toContain(EN.cutAnswer);
  expect(buttons()).toEqual([expect.stringMatching(/^\/retry \d+-\d+$/)]);
  isCut = false;
  const [data = ''] = buttons();
  const { messageId = 0 } = newest() ?? {};
  for (let times = 0; times < 2; times++) world.telegram.press(CHAT, messageId, data);
  await nextOutcome(world, CHAT, 3);
  expect(shown().filter((text) => text === 'You said: tell me everything')).toHaveLength(1);
  expect(newest()?.text).toBe(EN.nothingToRetry);
});

test('a button for a message that the conversation has left behind changes nothing', async () => {
  await start();
  await ask('first', 1);
  const { entry } = (await logOf()).find(({ t }) => t === 'user') as { entry?: string };
  await ask('second', 2);
  await ask(`/retry ${entry}`, 3);
  expect(newest()?.text).toBe(EN.nothingToRetry);
  expect(mainCalls()).toHaveLength(2);
});

test('in a group the message keeps its author, and nobody lends their tools to a guest', async () => {
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` });
  const inGroup = async (text: string, fromId: number, nth: number) => {
    await ask(text, nth, GROUP, { fromId, firstName: `P${fromId}` });
  };
  await inGroup('/start', CHAT, 1);
  await ask('mine', 2, GROUP, { fromId: CHAT, firstName: 'Ann' });
  await inGroup('/retry', CHAT, 3);
  expect(asked().match(/\\"Ann\\" \(id/g)).toHaveLength(1);
  await ask('of a guest', 4, GROUP, { fromId: 77 });
  await inGroup('/retry', CHAT, 5);
  expect(shown(GROUP).at(-1)).toBe(EN.nothingToRetry);
});

test.each(['attempt begun:3', 'round stored:1', 'answer stored:2'])(
  'killed at %s, the same message is asked anew, once',
  async (moment) => {
    let count = 0;
    world.claude.react(({ kind, body }) => {
      if (kind !== 'main') return undefined;
      const isRetried = count > 0 && !JSON.stringify(body.messages).includes('tool_result');
      if (isRetried) return { do: 'answer', content: [call('r1', { name: 'memory', input: NOTE })] };
      return { do: 'answer', text: `answer ${++count}` };
    });
    await killAt(moment, async () => {
      await ask('how far?', 1);
      world.telegram.say(CHAT, '/retry');
    });
    await nextOutcome(world, CHAT, 2);
    expect((await outcomes()).at(-1)).toBe('answered');
    expect(shown().filter((text) => text.includes('answer 2'))).toHaveLength(1);
    expect((await logOf()).filter((record) => 'retryOf' in record)).toHaveLength(1);
    expect(world.claude.violations()).toEqual([]);
  },
);

test('an answer stays in the conversation when the new try of it is stopped', async () => {
  await start();
  scriptCommands();
  countAnswers();
  await ask('how far is Tainan?', 1);
  world.claude.react(({ pendingText, body }) =>
    pendingText === 'how far is Tainan?' && !JSON.stringify(body.messages).includes('answer 1')
      ? { do: 'hang' }
      : undefined,
  );
  world.telegram.say(CHAT, '/retry');
  await world.claude.waitForCall(() => mainCalls().length === 2);
  await ask('/stop', 3);
  await ask('and back?', 4);
  expect(asked()).toContain('answer 1');
  expect(asked().match(/how far is Tainan/g)).toHaveLength(1);
});

test('what tools did for the first answer stays visible, so that the model does not do it twice', async () => {
  await start();
  const input = {
    action: 'set',
    at: new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 16),
    text: 'call Ben',
  };
  world.claude.react(({ kind, body }) => {
    if (kind !== 'main') return undefined;
    const hasResult = JSON.stringify(body.messages).includes('tool_result');
    return hasResult
      ? { do: 'answer', text: 'Set.' }
      : { do: 'answer', content: [call('r1', { name: 'reminders', input })] };
  });
  await ask('remind me to call Ben', 1);
  await ask('/retry', 2);
  expect(mainCalls()).toHaveLength(3);
  expect(await world.peek.zcard(world.keys.reminders)).toBe(1);
  expect(asked()).not.toContain('is_error');
  expect(asked()).toContain('This message stands again below');
  expect(asked().match(/remind me to call Ben/g)).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
});

test('an answer stays also when the new try had called a tool before it was stopped', async () => {
  await start();
  let count = 0;
  let hangs = true;
  world.claude.react(({ kind, body }) => {
    if (kind !== 'main') return undefined;
    if (hangs && JSON.stringify(body.messages.at(-1)).includes('tool_result')) return { do: 'hang' };
    count += 1;
    if (count === 2) return { do: 'answer', content: [call('r1', { name: 'memory', input: NOTE })] };
    return { do: 'answer', text: `answer ${count}` };
  });
  await ask('how far is Tainan?', 1);
  world.telegram.say(CHAT, '/retry');
  await world.claude.waitForCall(({ body }) => JSON.stringify(body.messages.at(-1)).includes('tool_result'));
  hangs = false;
  await ask('/stop', 3);
  await ask('and back?', 4);
  expect(asked()).toContain('answer 1');
  expect(asked()).toContain('lives in Tainan');
  expect(world.claude.violations()).toEqual([]);
  await ask('/retry', 5);
  expect(asked().match(/and back\?/g)).toHaveLength(1);
});

test('a try that failed is replayed, also behind what came later', async () => {
  await start();
  const script = scriptCommands();
  await ask(FAIL, 1);
  expect(newest()?.text).toBe(EN.misconfigured);
  script.mend();
  await ask('/retry', 3);
  expect(newest()?.text).toBe(`You said: ${FAIL}`);
  const mend = trouble(LIES.key);
  await ask('/retry', 4);
  const [data = ''] = buttons();
  const { messageId = 0 } = newest() ?? {};
  mend();
  await ask('something else', 5);
  world.telegram.press(CHAT, messageId, data);
  await nextOutcome(world, CHAT, 7);
  expect(newest()?.text).toBe(`You said: ${FAIL}`);
  expect(asked()).toContain('something else');
  expect(asked().match(/fail for good/g)).toHaveLength(1);
});

test('/retry is answered alone, whatever comes meanwhile, and after /new it reaches for no older conversation', async () => {
  await start();
  await ask('/busy interrupt', 1);
  await ask('how far?', 2);
  const { promise, resolve } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText }) => (pendingText === 'how far?' ? { do: 'answer', after: promise } : undefined));
  world.telegram.say(CHAT, '/retry');
  await world.claude.waitForCall(() => mainCalls().length === 2);
  world.telegram.say(CHAT, 'and back?');
  resolve();
  await nextOutcome(world, CHAT, 4);
  expect((await outcomes()).slice(1)).toEqual(['answered', 'answered', 'answered']);
  await ask('/new', 5);
  await ask('/retry', 6);
  expect(newest()?.text).toBe(EN.nothingToRetry);
});
