import { expect, test } from '@jest/globals';
import {
  type CommandName,
  commandOf,
  HELP_NAMES,
  isPermitted,
  meantCommand,
} from '../../../../shared/telegram/commands.ts';
import { COMMANDS } from '../../../../worker/command/commands.ts';
import { FEATURES } from '../../../../worker/features.ts';
import { cpuMs, LINEAR_MS_MAX } from '../../../fixture/texts.ts';

test.each<[string, CommandName]>([
  ['/start', 'start'],
  ['/help', 'help'],
  ['/new', 'new'],
  ['/start deep-link-payload', 'start'],
  ['/new\nand now something else', 'new'],
  ['/stop@spillway_bot now', 'stop'],
  ['/NEW', 'new'],
  ['／Status', 'status'],
])('%j is a command, not a message for the model', (text, command) => {
  expect(commandOf(text)?.name).toBe(command);
});

const NONE =
  'new·/newer is better·/news·/stopwatch·stop·/start_over·/starts·/helpdesk number?·/new/file.ts is missing·/new-file·/new@·/new@spillway_bot!·/unknown·Please run /new· /new·//new·/·';

test.each(NONE.split('·'))('%j is for the model: a path or a word must not discard a conversation', (text) => {
  expect(commandOf(text)).toBeUndefined();
});

test.each<[string, string | undefined]>([
  ['/modle', 'model'],
  ['/Statsu', 'status'],
  ['／stp', 'stop'],
  ['/helpp', 'help'],
  ['/nww', 'new'],
  ...['/model', '/path', '/modle of a ship', '/', 'modle'].map((text): [string, undefined] => [text, undefined]),
])('%j was meant as %s', (text, command) => {
  expect(meantCommand(text)).toBe(command);
});

test('commandOf reads a text of a million characters in linear time', () => {
  const start = cpuMs();
  for (const text of [`/new@${'a'.repeat(1_000_000)}`, '/new'.repeat(250_000), ' '.repeat(1_000_000)])
    expect(commandOf(text)).toBeUndefined();
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});

test.each([
  ['/reminders', true],
  ['/reminders cancel 1', false],
  ['/timezone', false],
  ['/timezone UTC', false],
  ['/recall x', false],
  ['/status', true],
])('that a guest may give %j is %s', (text, isAllowed) => {
  expect(isPermitted(commandOf(text) ?? { name: 'help', argument: '' }, { isGuest: true })).toBe(isAllowed);
});

test('each command has one handler, in the core or in a feature', () => {
  const all = [COMMANDS, ...FEATURES.map(({ commands = {} }) => commands)].flatMap((each) => Object.keys(each));
  expect(all.sort()).toEqual([...HELP_NAMES, 'start', 'continue', 'decide', 'desk', 'pair'].sort());
});
