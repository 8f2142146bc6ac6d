import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, shown, spawn, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, openNotebook, use } from '../../fixture/notebook.ts';
import { ask } from '../../fixture/whole-chat.ts';

const GROUP = -1_002_000_000_001;
const HANG = 'think for ever';
const SOON = { statusAfterMs: 20, statusEveryMs: 20 };

eachInWorld();

const calls = (method: string) => world.telegram.calls.filter((call) => call.method === method);
const allow = () => ({ TELEGRAM_ALLOWED_IDS: `${world.env.TELEGRAM_ALLOWED_IDS},${GROUP}` });
/** The model hangs at this text until what it returns is called, and then answers it on the next try. */
function hold(): () => void {
  let isHeld = true;
  world.claude.react(({ pendingText }) => (pendingText === HANG && isHeld ? { do: 'hang' } : undefined));
  return () => {
    isHeld = false;
  };
}
const untilLine = () =>
  world.telegram.waitForCall(
    ({ method, params, ok }) => ok && method === 'sendMessage' && params.text === EN.working,
    15_000,
  );

test('a group sees a silent line while a turn lasts; it is gone behind an answer that finds it in flight', async () => {
  const inFlight = world.telegram.waitForCall(({ method }) => method === 'sendMessage', 15_000);
  world.claude.react(() => ({ do: 'answer', after: inFlight }));
  world.telegram.fail('sendMessage', { do: 'slow', ms: 500 }, 1);
  await start(allow(), SOON);
  world.telegram.say(GROUP, 'slowly');
  expect((await inFlight).params).toMatchObject({ text: EN.working, disable_notification: true });
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  expect(shown(GROUP)).toEqual(['You said: slowly']);
  expect(calls('deleteMessage')).toHaveLength(1);
  const methods = world.telegram.calls.map(({ method }) => method);
  expect(methods.lastIndexOf('deleteMessage')).toBeGreaterThan(methods.lastIndexOf('sendMessage'));
});

test('the button of the line stops the turn, and the line is gone', async () => {
  hold();
  await start(allow(), SOON);
  world.telegram.say(GROUP, HANG);
  await untilLine();
  const line = world.telegram.shown(GROUP)[0];
  world.telegram.press(GROUP, line?.messageId ?? 0, '/stop');
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'command', reason: 'stop' });
  expect(shown(GROUP)).toEqual([EN.stopped]);
});

test.each(['status', 'draft'])('in plain words, a %s says which tools run', async (streaming) => {
  const notebook = await openNotebook();
  world.claude.react(callsTools([use('t1', 'hang', { text: 'a' }), use('t2', 'hang', { text: 'b' })]));
  await start({ ...notebook.env, TELEGRAM_STREAMING: streaming }, { ...SOON, draftsEveryMs: 20 });
  await ask('hang around');
  const words = EN.usingTool('notebook: hang');
  const texts = world.telegram.calls.map(({ params }) => params.text);
  expect(texts).toContain(streaming === 'status' ? `${EN.working}\n${words}` : words);
  expect(shown()).toEqual(['Done after 1 rounds.']);
  await notebook.remove();
});

test('killed with a line in the chat: the next gateway goes on in the same line, and takes it away', async () => {
  const go = hold();
  const victim = await spawn(allow());
  world.telegram.say(GROUP, HANG);
  await untilLine();
  while ((await statusOf()) === undefined) await new Promise((resolve) => setImmediate(resolve));
  victim.kill('SIGKILL');
  go();
  await start(allow(), SOON);
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  expect(shown(GROUP)).toEqual([`You said: ${HANG}`]);
  expect(calls('sendMessage').filter(({ params }) => params.text === EN.working)).toHaveLength(1);
});

async function statusOf(): Promise<string | undefined> {
  const [turn = ''] = await world.peek.keys('*:turn:*');
  const id = await world.peek.hget(turn, 'statusLine');
  return id === null || id === 'sending' ? undefined : id;
}

test('a line whose send has an unknown result is not sent again', async () => {
  world.claude.react(({ pendingText }) => (pendingText === 'slowly' ? { do: 'answer', afterMs: 400 } : undefined));
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 1);
  await start(allow(), SOON);
  expect(await ask('slowly', 1, GROUP)).toMatchObject({ outcome: 'answered' });
  expect(shown(GROUP)).toEqual([EN.working, 'You said: slowly']);
});

test('no "typing…" arrives after the answer, even from a slow server; a turn that is over soon shows no line', async () => {
  world.telegram.fail('sendChatAction', { do: 'slow', ms: 150 }, 1);
  await start(allow());
  await ask('hello');
  const methods = world.telegram.calls.map(({ method }) => method);
  expect(methods.lastIndexOf('sendChatAction')).toBeLessThan(methods.lastIndexOf('sendMessage'));
  await ask('quickly', 1, GROUP);
  expect(calls('sendMessage')).toHaveLength(2);
});

test('with TELEGRAM_STREAMING=off nothing but the answer is shown', async () => {
  world.claude.react(() => ({ do: 'answer', afterMs: 200 }));
  await start({ ...allow(), TELEGRAM_STREAMING: 'off' }, SOON);
  for (const chat of [CHAT, GROUP]) world.telegram.say(chat, 'slowly');
  await Promise.all([nextOutcome(world, CHAT), nextOutcome(world, GROUP)]);
  expect([calls('sendMessageDraft').length, calls('sendMessage').length]).toEqual([0, 2]);
});
