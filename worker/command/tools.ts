import { chatState } from '../../shared/state/chat/chat.ts';
import { type CommandHandler, replied } from './command.ts';

const ASK = /^ask ([\w-]{1,64})$/;

/**
 * `/tools`: what may be done here without asking, each with a button that takes it back; `/tools ask <tool>` is what the
 * button sends.
 */
export const tools: CommandHandler = ({ ask }, { attempt, words }) => {
  const { tools: text } = attempt.texts;
  const name = ASK.exec(words)?.[1];
  const usual = [...attempt.usualTools].filter((tool) => tool !== name);
  const asking = ask.tools.specs().filter(({ asks, name: tool }) => asks !== undefined && !usual.includes(tool));
  const list = [text.usual(usual), text.asking(asking.map((spec) => spec.name))].filter((line) => line !== '');
  const said = list.length === 0 ? text.none : list.join('\n\n');
  // A press carries 64 bytes.
  const buttons = usual
    .filter((tool) => `/tools ask ${tool}`.length <= 64)
    .map((tool) => [{ text: text.askButton(tool), command: `/tools ask ${tool}` }]);
  const changes = name === undefined ? [] : [chatState(attempt.keys, attempt.chat).allowTools(usual)];
  return replied('tools', said, { buttons, changes });
};
