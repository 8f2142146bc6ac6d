import assert from 'node:assert/strict';
import { EN } from '../../../../shared/texts/en.ts';
import { call } from '../../../fixture/content-blocks.ts';
import type { ClaudeCall, Reaction } from '../../../stand-in/claude/reaction.ts';
import { ANN, BEN, GROUP, type Scene } from '../scene.ts';

/** What people can tell the gateway itself. */
export const COMMANDS: readonly Scene[] = [
  {
    name: 'status',
    title: 'How things stand',
    about: '/status and /usage do not wait for an answer; the context is shown as a gauge, the cost in dollars.',
    async play(stage) {
      stage.answersWith('The ferry leaves at 7:40 and at 9:10.');
      await stage.write(ANN.id, 'When does the ferry leave?');
      await stage.write(ANN.id, '/status', 'command');
      await stage.write(ANN.id, '/usage', 'command');
      assert.match(stage.world.telegram.shown(ANN.id).at(-1)?.text ?? '', /Today: \$0\.\d+ \(1 call,/);
    },
  },
  {
    name: 'retry',
    title: 'A failure that can be tried again',
    about: 'The notice of a failure has a button. It puts the message back once, whoever presses it and however often.',
    async play(stage) {
      let isMended = false;
      stage.world.claude.react(() =>
        isMended ? undefined : { do: 'error', status: 401, type: 'authentication_error', message: 'no key' },
      );
      await stage.write(ANN.id, 'Which day suits us?', 'failed');
      isMended = true;
      await stage.press(ANN.id, EN.retryButton);
      await stage.expectShown(ANN.id, /You said: Which day suits us\?/);
    },
  },
  {
    name: 'again',
    title: 'Answered anew',
    about: '/retry behind an answer asks the same message again. The conversation goes on from the new answer.',
    async play(stage) {
      stage.answersWith('Roses are red.');
      await stage.write(ANN.id, 'A line about the harbour, please.');
      stage.answersWith('The harbour keeps the last light for itself.');
      await stage.write(ANN.id, '/retry');
      await stage.expectShown(ANN.id, /^The harbour keeps/);
    },
  },
  {
    name: 'chats',
    title: 'Back to an earlier conversation',
    about: '/chats lists the conversations; a button goes back to one exactly as it was, and the other one is kept.',
    async play(stage) {
      stage.answersWith('A ferry leaves at 7:40.');
      await stage.write(ANN.id, 'When does the ferry to Xiaoliuqiu leave?');
      await stage.write(ANN.id, '/chats name Trip to the island', 'command');
      await stage.write(ANN.id, '/new', 'command');
      stage.answersWith('Two eggs and a cup of flour.');
      await stage.write(ANN.id, 'What do I need for pancakes?');
      await stage.write(ANN.id, '/chats', 'command');
      await stage.press(ANN.id, EN.chats.continueButton(2));
      await stage.expectShown(ANN.id, /^We're back in this conversation: Trip to the island/);
    },
  },
  {
    name: 'language',
    title: 'In the language of the person',
    about:
      'Notices are in the language of the app; /lang chooses another one. Answers are in the language of the question.',
    async play(stage) {
      const app = { languageCode: 'zh-hant' };
      await stage.write(ANN.id, '/stop', 'command', app);
      await stage.write(ANN.id, '/lang', 'command', app);
      await stage.press(ANN.id, 'English');
      await stage.expectShown(ANN.id, /My notices here are in English/);
    },
  },
  {
    name: 'reminders',
    title: 'Reminded in time',
    about:
      'Set in plain words, listed and cancelled with /reminders; a due one comes by itself, as an answer that rings.',
    limits: { remindersEveryMs: 20 },
    async play(stage) {
      stage.world.claude.react(remindsOfTheBoat);
      await stage.write(ANN.id, 'Remind me tomorrow at nine to call Ben about the boat.');
      await stage.write(ANN.id, '/reminders', 'command');
      const [member = ''] = await stage.world.peek.zrange(stage.world.keys.reminders, '0', '-1');
      await stage.world.peek.zadd(stage.world.keys.reminders, String(Date.now()), member);
      await stage.expectShown(ANN.id, /^Time to call Ben/);
    },
  },
  {
    name: 'forget',
    title: 'Erased for good',
    about: '/forget says what it erases and asks with a button.',
    async play(stage) {
      stage.answersWith('Noted: the safe is behind the clock.');
      await stage.write(ANN.id, 'The safe is behind the clock.');
      await stage.write(ANN.id, '/forget', 'command');
      await stage.press(ANN.id, 'Erase everything');
      await stage.expectShown(ANN.id, /^Erased\./);
    },
  },
  {
    name: 'progress',
    title: 'A long turn in a group',
    about:
      'After five seconds a silent line says that a turn runs, and offers to stop it. It is gone after the answer.',
    world: { env: { TELEGRAM_ALLOWED_IDS: `${ANN.id},${GROUP}` } },
    limits: { statusAfterMs: 50, statusEveryMs: 50 },
    chats: [{ id: GROUP, title: 'Release team' }],
    async play({ world, write }) {
      world.claude.react(() => ({ do: 'answer', text: 'All twelve checks are green.', afterMs: 500 }));
      await write(GROUP, 'Run all checks, please.', 'answered', { fromId: BEN.id, firstName: BEN.name });
      const texts = world.telegram.history(GROUP).flatMap((event) => ('text' in event ? [event.text] : []));
      assert.ok(
        JSON.stringify(world.telegram.history(GROUP)).includes(EN.working),
        `no line among ${texts.join(' | ')}`,
      );
      assert.equal(world.telegram.shown(GROUP).length, 1);
    },
  },
];

function remindsOfTheBoat({ kind, pendingText, body }: ClaudeCall): Reaction | undefined {
  if (kind !== 'main') return undefined;
  if (pendingText.startsWith('call Ben')) return { do: 'answer', text: 'Time to call Ben about the boat.' };
  const input = { action: 'set', at: `${dayAfter(Date.now())}T09:00`, text: 'call Ben about the boat' };
  return JSON.stringify(body.messages.at(-1)).includes('tool_result')
    ? { do: 'answer', text: 'I will remind you tomorrow at nine.' }
    : { do: 'answer', content: [call('r1', { name: 'reminders', input })] };
}

function dayAfter(nowMs: number): string {
  return new Date(nowMs + 24 * 3_600_000).toISOString().slice(0, 10);
}
