import assert from 'node:assert/strict';
import { ANN, type Scene } from '../scene.ts';

const FORMATTED = `Use \`pipeline()\` from **node:stream** 🚀. It closes every stream when one *fails*:

\`\`\`ts
import { pipeline } from 'node:stream/promises';

await pipeline(source, gzip, target);
\`\`\`

1. Errors come as a rejection.
2. Pass a \`signal\` to stop it.

> \`pipe()\` leaves the others open.

See [the documentation](https://nodejs.org/api/stream.html), and ~~never~~ rarely listen to \`error\` yourself.`;

const TABLE = `Three ways to run it:

| where | start | memory |
|---|:---:|---:|
| laptop | 0.9 s | 140 MB |
| server | 0.4 s | 180 MB |
| container | 1.2 s | 160 MB |

- [x] measured twice
- [ ] on a phone

The share of time that is waiting is $w = 1 - c/t$.

<details><summary>How it was measured</summary>

Ten starts each, the median.

</details>`;

const LONG = Array.from(
  { length: 9 },
  (_, at) =>
    `## ${at + 1}. Step ${at + 1}\n\n${'A paragraph that explains the step and why it is needed, with some care. '.repeat(9)}\n\n\`\`\`sh\nmake step-${at + 1}\n\`\`\``,
).join('\n\n');

/** Answers when all goes well. */
export const ANSWERS: readonly Scene[] = [
  {
    name: 'formatted',
    title: 'An answer with formatting and code',
    about:
      'What the model writes as Markdown arrives as Telegram’s own formats; the notification has the words without marks.',
    world: { claude: { deltaDelayMs: 20 } },
    limits: { draftsEveryMs: 60 },
    async play({ world, answersWith, write }) {
      answersWith(FORMATTED);
      await write(ANN.id, 'How do I connect streams in Node without leaks?');
      const [answer] = world.telegram.shown(ANN.id);
      const types = new Set(answer?.entities?.map(({ type }) => type));
      for (const type of ['bold', 'code', 'pre', 'blockquote', 'text_link', 'strikethrough'])
        assert.ok(types.has(type), type);
      assert.ok(world.telegram.drafts(ANN.id).length > 1, 'no preview was shown');
    },
  },
  {
    name: 'table',
    title: 'An answer with a table, tasks and a formula',
    about: 'Only such an answer is a rich message; where the server has none it is laid out as text.',
    async play({ world, answersWith, write }) {
      answersWith(TABLE);
      await write(ANN.id, 'Compare the ways to run it.');
      const kinds = world.telegram.shown(ANN.id)[0]?.rich?.map(({ type }) => type) ?? [];
      for (const kind of ['table', 'list', 'details']) assert.ok(kinds.includes(kind), kind);
    },
  },
  {
    name: 'long',
    title: 'A long answer, in parts',
    about: 'It is cut between paragraphs, and only its first part rings.',
    async play({ world, answersWith, write }) {
      answersWith(LONG);
      await write(ANN.id, 'Describe every step of the release.');
      const parts = world.telegram.shown(ANN.id);
      assert.ok(parts.length > 1, 'it is one part');
      assert.deepEqual(
        parts.map(({ notified }) => notified !== undefined),
        parts.map((_, at) => at === 0),
      );
    },
  },
  {
    name: 'stopped',
    title: 'Stopped, with the words so far',
    about: 'The button below the preview ends the answer. What was written stays, and says that it was stopped.',
    world: { claude: { deltaDelayMs: 120 } },
    limits: { draftsEveryMs: 60 },
    async play({ world, answersWith, expectShown }) {
      answersWith('The first thing to know is that a stream is lazy. '.repeat(40));
      world.telegram.say(ANN.id, 'Tell me all about streams.', { firstName: ANN.name });
      await world.telegram.waitForDraft(ANN.id, ({ text }) => text.length > 60);
      assert.notEqual(world.telegram.pressStop(ANN.id), 0, 'there is no button');
      await expectShown(ANN.id, /⏹/);
      await expectShown(ANN.id, /^Stopped/);
    },
  },
];
