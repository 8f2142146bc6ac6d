import { expect, test } from '@jest/globals';
import { image, png, text } from '../../fixture/content-blocks.ts';
import { eachInWorld, mainCalls, moveToWorld, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { ask, givenLines, sendPhoto } from '../../fixture/whole-chat.ts';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';

eachInWorld();

/** A chat in which so many pictures were sent, one a message. */
async function givenPictures(count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, at) => [
    { role: 'user', content: [image(png(10, 10)), text(`picture ${at}`)] },
    { role: 'assistant', content: `I see picture ${at}.` },
  ]);
  await givenLines(lines.flat().map((line) => JSON.stringify(line)));
}

const texts = ({ body }: ClaudeCall): string[] =>
  body.messages.map((message) =>
    JSON.stringify(message, (key, value) => (key === 'cache_control' ? undefined : value)),
  );
const picturesIn = ({ body }: ClaudeCall): number =>
  body.messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'image').length;
/** Whether a call goes on where the one before it ended, byte for byte. */
const goesOn = (call: ClaudeCall, before: ClaudeCall): boolean => {
  const now = texts(call);
  return texts(before).every((message, at) => message === now[at]);
};

test('from the 101st picture on the beginning changes once a batch, and is the same byte for byte in between', async () => {
  await givenPictures(98);
  await start();
  const messages = 25;
  for (let nth = 1; nth <= messages; nth++) {
    const outcome = await sendPhoto(await jpegPhoto(20 + nth, 20), nth);
    expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 0, attempts: 1 });
  }
  const calls = mainCalls();
  expect(calls).toHaveLength(messages);
  const isGoingOn = calls.slice(1).map((call, at) => goesOn(call, calls[at] ?? call));
  expect(isGoingOn.flatMap((goes, at) => (goes ? [] : [at + 2]))).toEqual([3, 24]);
  const batch = Array.from({ length: 21 }, (_, at) => 80 + at);
  expect(calls.map(picturesIn)).toEqual([99, 100, ...batch, 80, 81]);
  for (const part of ['[image/png, 1 KB]', 'picture 0'])
    expect(JSON.stringify(calls.at(-1)?.body.messages)).toContain(part);
  // What the model thought since the last batch is still there.
  const newest = blocksOf(calls.at(-1)?.body.messages.at(-2)?.content ?? []);
  expect(newest.filter(({ type }) => type === 'thinking')).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
});

test.each([
  [200_000, 80],
  [1_000_000, 260],
])(
  'a model with a window of %d tokens is shown %d of 260 pictures, in each message, and all words',
  async (windowTokens, count) => {
    await moveToWorld({ claude: { windowTokens } });
    await givenPictures(260);
    await start();
    for (const nth of [1, 2])
      expect(await ask(`And ${nth}?`, nth)).toMatchObject({ outcome: 'answered', recoveries: 0, attempts: 1 });
    const [first, second] = mainCalls();
    expect(first && second && goesOn(second, first)).toBe(true);
    expect(first && picturesIn(first)).toBe(count);
    for (const at of [0, 100, 259]) expect(JSON.stringify(first?.body.messages)).toContain(`picture ${at}"`);
    expect(world.claude.violations()).toEqual([]);
  },
);
