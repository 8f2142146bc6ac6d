import assert from 'node:assert/strict';
import { call } from '../../../fixture/content-blocks.ts';
import { callsTools, use } from '../../../fixture/notebook.ts';
import type { ClaudeCall, Reaction } from '../../../stand-in/claude/reaction.ts';
import type { Block } from '../../../stand-in/claude/request.ts';
import { ANN, type Scene } from '../scene.ts';

/** The model calls these tools, one after the other, and answers with these words. */
function does(calls: readonly Block[], words: string): (call: ClaudeCall) => Reaction | undefined {
  const rounds = callsTools(...calls.map((each) => [each]));
  return (asked) => {
    const reaction = rounds(asked);
    return reaction?.do === 'answer' && reaction.content === undefined ? { do: 'answer', text: words } : reaction;
  };
}

/** What waits for a press, what is remembered, and what is spent. */
export const ASKING: readonly Scene[] = [
  {
    name: 'approval',
    title: 'It asks before it acts',
    about: 'A tool that may change something waits for a press, with what would be done in full.',
    hasNotebook: true,
    async play({ world, press, expectShown }) {
      const dentist = { text: 'Dentist, Friday at 9:00' };
      world.claude.react(
        does([use('w1', 'write', dentist)], 'It is in your notebook: the dentist, on Friday at nine.'),
      );
      world.telegram.say(ANN.id, 'Put the dentist into my notebook: Friday at nine.', { firstName: ANN.name });
      await press(ANN.id, 'Allow once');
      await expectShown(ANN.id, /Allowed once by Ann/);
      await expectShown(ANN.id, /^It is in your notebook/);
    },
  },
  {
    name: 'declined',
    title: 'Words instead of a press',
    about: 'Whoever writes instead of pressing declines, and says why; the model goes on from there.',
    hasNotebook: true,
    async play({ world, expectShown }) {
      const rent = { text: 'Cancel the lease by 1 December' };
      world.claude.react(does([use('w2', 'write', rent)], 'Then I leave it out until you have talked to Ben.'));
      world.telegram.say(ANN.id, 'Note that we cancel the lease.', { firstName: ANN.name });
      await expectShown(ANN.id, /Cancel the lease by/);
      world.telegram.say(ANN.id, 'Not yet, I must ask Ben first.', { firstName: ANN.name });
      await expectShown(ANN.id, /^Then I leave it out/);
    },
  },
  {
    name: 'question',
    title: 'It asks what it needs to know',
    about: 'The model asks with buttons, or for free text. The answer goes on when somebody has pressed or written.',
    async play({ world, press, expectShown }) {
      const input = { question: 'Which ferry shall I look up?', choices: ['To the old harbour', 'To the new harbour'] };
      const ferry = 'The last ferry to the **old harbour** leaves at 21:10.';
      world.claude.react(does([call('q1', { name: 'ask_user', input })], ferry));
      world.telegram.say(ANN.id, 'When does the last ferry leave?', { firstName: ANN.name });
      await press(ANN.id, 'To the old harbour');
      await expectShown(ANN.id, /^The last ferry to the old harbour/);
    },
  },
  {
    name: 'memory',
    title: 'It shows what it remembers',
    about:
      'Each note is named under the answer, with a button that undoes it. /memory shows all of them, and deletes line by line.',
    async play({ world, write, press, expectShown }) {
      const remember = (id: string, text: string) => call(id, { name: 'memory', input: { action: 'remember', text } });
      const notes = [remember('m1', 'Ann does not eat meat'), remember('m2', 'Ann is allergic to nuts')];
      world.claude.react(does(notes, 'Good to know. Then the lentil soup and the flat noodles are safe for you.'));
      await write(ANN.id, 'I do not eat meat, and nuts make me ill. What can I order there?');
      await expectShown(ANN.id, /Noted: Ann is allergic to nuts/);
      await write(ANN.id, '/memory', 'command');
      await press(ANN.id, '🗑 Delete 1');
      await expectShown(ANN.id, /\(1 note, .*\):\n1\. Ann is allergic to nuts/);
    },
  },
  {
    name: 'limit',
    title: 'It says before money runs out',
    about: 'At 80 % of a limit the answer says so, and what comes next. When nothing is left, no call is made.',
    world: { env: { PERSON_DAILY_USD: '1' } },
    async play({ world, answersWith, write }) {
      const spend = (usd: number) =>
        world.peek.hset(
          world.keys.spent(new Date().toISOString().slice(0, 10)),
          `person:${ANN.id}:usd`,
          Math.round(usd * 1e9),
        );
      await spend(0.84);
      answersWith('The lighthouse was built in 1882.');
      await write(ANN.id, 'When was the lighthouse built?');
      assert.match(world.telegram.shown(ANN.id).at(-1)?.text ?? '', /nearly used up/);
      await write(ANN.id, '/usage', 'command');
      await spend(1);
      await write(ANN.id, 'And the harbour?', 'refused');
    },
  },
];
