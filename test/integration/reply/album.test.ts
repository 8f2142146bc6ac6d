import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { call } from '../../fixture/content-blocks.ts';
import { eachWithNotebook } from '../../fixture/each-notebook.ts';
import { CHAT, shown, start, world } from '../../fixture/each-test.ts';
import { blankPng } from '../../fixture/files.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';

const GROUP = -2001;
const CSV = { name: 'cities.csv', content: 'city\nTainan\n' };

eachWithNotebook();

type Asked = { name: string; bytes: Buffer } | { name: string; content: string };

/** Pictures that can be told apart by their widths. */
const pictures = (count: number): Asked[] =>
  Array.from({ length: count }, (_, at) => ({ name: `${at + 1}.png`, bytes: blankPng(100 + at, 80) }));

/** The model looks at the pictures with a tool, and sends all that was asked for with its answer. */
function sends(all: readonly Asked[], answer: () => Reaction = () => ({ do: 'answer', text: 'Here.' })): void {
  const looks = all.flatMap((each, at) => {
    const image = 'bytes' in each && { type: 'image', data: each.bytes.toString('base64'), mimeType: 'image/png' };
    return image ? [use(`t${at}`, 'show', image)] : [];
  });
  let refs: string[] = [];
  world.claude.react((request: ClaudeCall) => {
    if (request.kind !== 'main') return undefined;
    const results = JSON.stringify(resultsIn(request));
    const seen = [...results.matchAll(/\{\\"ref\\":\\"(\w{64})\\"\}/g)].map(([, ref]) => String(ref));
    if (results.includes('will be sent with your answer')) return answer();
    if (seen.length === 0) return callsTools(looks)(request);
    refs = seen;
    const given = all.map(({ name, ...each }, at) =>
      call(`f${at}`, { name: 'send_file', input: 'content' in each ? { name, ...each } : { name, ref: refs.shift() } }),
    );
    return { do: 'answer', content: given };
  });
}

async function ask(nth = 1): Promise<void> {
  world.telegram.say(CHAT, 'Send them');
  expect(await nextOutcome(world, CHAT, nth)).toMatchObject({ outcome: 'answered' });
}

/** What stands below the answer, album by album: the widths of pictures, the names of documents. */
function below(): (string | number | undefined)[][] {
  const groups = new Map<string, (string | number | undefined)[]>();
  for (const { messageId, photo, document, album = String(messageId) } of world.telegram.shown(CHAT)) {
    if (!photo && !document) continue;
    groups.set(album, [...(groups.get(album) ?? []), photo?.width ?? document?.name]);
  }
  return [...groups.values()];
}

function calls(): [string, number][] {
  const isFile = /^send(?:Photo|Document|MediaGroup)$/;
  return world.telegram.calls.flatMap(({ method, status }) => (isFile.test(method) ? [[method, status]] : []));
}

test('pictures in a row are one album, in silence, in their order; what is none comes by itself', async () => {
  await start();
  sends([...pictures(3), CSV, { name: 'last.png', bytes: blankPng(90, 80) }]);
  await ask();
  expect(shown()[0]).toBe('Here.');
  expect(below()).toEqual([[100, 101, 102], ['cities.csv'], [90]]);
  expect(calls()).toEqual([
    ['sendMediaGroup', 200],
    ['sendDocument', 200],
    ['sendPhoto', 200],
  ]);
  expect(world.telegram.shown(CHAT).filter(({ notified }) => notified !== undefined)).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
});

test('ten pictures are one album; one that a photo would spoil divides it, as a document', async () => {
  await start();
  sends(pictures(10).with(4, { name: 'long.png', bytes: blankPng(2_000, 60) }));
  await ask();
  expect(below()).toEqual([[100, 101, 102, 103], ['long.png'], [105, 106, 107, 108, 109]]);
});

test('an album and a file in a topic of a group go there, and answer the question no second time', async () => {
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` });
  sends([...pictures(2), CSV]);
  world.telegram.say(GROUP, `@${world.telegram.username} send them`, { fromId: CHAT, topicId: 3 });
  await untilSettled(world, 1);
  const files = world.telegram.shown(GROUP, 3).filter(({ photo, document }) => photo ?? document);
  expect(files.map(({ replyTo, notified }) => [replyTo, notified])).toEqual(Array(3).fill([undefined, undefined]));
});

test('pictures that Telegram refuses together come one by one, each once', async () => {
  await start();
  sends(pictures(3));
  world.telegram.fail('sendMediaGroup', { status: 400, description: 'Bad Request: IMAGE_PROCESS_FAILED' }, 9);
  await ask();
  expect(below()).toEqual([[100], [101], [102]]);
  expect(calls().map(([, status]) => status)).toEqual([400, 200, 200, 200]);
});

test('an album of which a picture is gone meanwhile is told of in its place; the others come', async () => {
  await start();
  const remove = async () => {
    const kept = await world.peek.keys('*:blob:*');
    await world.peek.del(String(kept[0]));
  };
  sends(pictures(3), () => {
    void remove();
    return { do: 'answer', text: 'Here.', afterMs: 300 };
  });
  await ask();
  expect(below()).toHaveLength(2);
  expect(shown()).toContainEqual(expect.stringMatching(/^\d\.png$/));
});

test('an album that Telegram does not want yet waits; one whose answer was lost comes once more, whole, marked', async () => {
  await start();
  sends([...pictures(2), CSV]);
  world.telegram.fail('sendMediaGroup', { status: 429, description: 'Too Many', parameters: { retry_after: 1 } }, 1);
  await ask();
  world.telegram.fail('sendMediaGroup', { do: 'loseReply' }, 1);
  await ask(2);
  expect(below()).toEqual([[100, 101], ['cities.csv'], [100, 101], [100, 101], ['cities.csv']]);
  expect(calls().map(([, status]) => status)).toEqual([429, 200, 200, 0, 200, 200]);
  expect(shown().filter((text) => text.startsWith(EN.repeat))).toEqual([`${EN.repeat} 1.png`]);
});

test('an album that is lost again counts as unsure, and what follows comes', async () => {
  await start();
  sends([...pictures(2), CSV]);
  world.telegram.fail('sendMediaGroup', { do: 'cut' }, 1_000);
  world.telegram.say(CHAT, 'Send them');
  const delivery = { parts: 4, confirmed: 2, unsure: 2 };
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', delivery });
  await world.telegram.waitForText(ALERT_CHAT, /^A part of an answer was sent twice/m);
  expect(below()).toEqual([['cities.csv']]);
});
