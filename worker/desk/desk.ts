import type { AllowedIds, Config } from '../../shared/base/config.ts';
import type { Block, Inline } from '../../shared/flow/reply.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type CommandContext, type CommandHandler, laidOut, replied } from '../command/command.ts';
import type { Env } from '../env.ts';
import { plainLine } from '../memory/memory.ts';
import type { ReportSource } from '../report/report.ts';
import { oldButton, pauseChat, pressButton, resumeChat, takeBack } from './act.ts';
import { help } from './help.ts';
import { LOOKS } from './looks.ts';

/** The parts that the commands of operators need. */
export interface DeskPorts extends ReportSource {
  config: Config;
  /** The current allow list. Contract: rejects when Redis cannot be reached. */
  allowed: () => Promise<AllowedIds>;
}

/** A command of an operator. */
export interface DeskCall {
  /** The words behind the command. */
  words: readonly string[];
  /** The operator's first name, or else the id. */
  by: string;
  /** The operator's id. Several people may have the same first name. */
  id: number;
  context: CommandContext;
  /** For the chat's own commands: the chat of alerts may be somebody's conversation, too. */
  env: Env;
}

/** The reply to an operator. */
export type DeskReply = {
  buttons?: readonly (readonly Button[])[];
  /** Removes the buttons under the message that was pressed. */
  isAnswered?: true;
} & ({ text: string | readonly Inline[] } | { blocks: readonly Block[] });

/** Carries out one command. Contract: rejects when Redis cannot be reached; may run again from the start after a crash. */
export type DeskHandler = (ports: DeskPorts, call: DeskCall) => DeskReply | Promise<DeskReply>;

const HANDLERS: Readonly<Record<string, DeskHandler>> = {
  ...LOOKS,
  help,
  act: pressButton,
  back: takeBack,
  do: oldButton,
  pause: pauseChat,
  resume: resumeChat,
};

/** Creates the handler of all that operators type or press in the chat of alerts. Contract: as `DeskHandler`. */
export function createDesk(ports: DeskPorts): CommandHandler {
  return async (context) => {
    const { env, message } = context.turn;
    const [word = '', ...words] = context.words.split(' ');
    const { id = 0, name = '' } = message.ok ? message.value.from : {};
    // A button of another version may send an unknown word.
    const handle = (Object.hasOwn(HANDLERS, word) && HANDLERS[word]) || help;
    const reply = await handle(ports, { words, by: plainLine(name) || `${id}`, id, context, env });
    const { buttons, isAnswered } = reply;
    const extras = { ...(buttons && { buttons }), ...(!isAnswered && { keepsButtons: true as const }) };
    return 'blocks' in reply ? laidOut('desk', reply.blocks, extras) : replied('desk', reply.text, extras);
  };
}
