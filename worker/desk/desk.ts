import type { AllowedIds, Config } from '../../shared/base/config.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type CommandContext, type CommandHandler, type CommandPorts, laidOut, replied } from '../command/command.ts';
import { plainLine } from '../memory/memory.ts';
import type { Block, Inline } from '../reply/format/tree.ts';
import type { ReportSource } from '../report/report.ts';
import { back, oldButton, pauseChat, pressButton, resumeChat } from './act.ts';
import { help } from './help.ts';
import { LOOKS } from './looks.ts';

/** What the desk works with: the whole installation. */
export interface DeskPorts extends ReportSource {
  config: Config;
  /** Whom the bot answers now. Contract: rejects when Redis cannot be reached. */
  allowed: () => Promise<AllowedIds>;
}

/** What an operator asked for. */
export interface DeskCall {
  /** The words behind the first one. */
  words: readonly string[];
  /** Who asked, for the trail and for the others: a first name, or the person's id. */
  by: string;
  /** The id of that person: a first name is not enough to know later who it was. */
  id: number;
  context: CommandContext;
  /** What commands of the chat itself work with: it may be somebody's conversation, too. */
  chatPorts: CommandPorts;
}

/** The reply to an operator. */
export type DeskReply = {
  buttons?: readonly (readonly Button[])[];
  /** The buttons under the message that was pressed are done with. */
  isAnswered?: true;
} & ({ text: string | readonly Inline[] } | { blocks: readonly Block[] });

/**
 * Does one thing that operators may ask for. Contract: rejects when Redis cannot be reached; may be carried out again from
 * the start after any crash.
 */
export type DeskHandler = (ports: DeskPorts, call: DeskCall) => DeskReply | Promise<DeskReply>;

const HANDLERS: Readonly<Record<string, DeskHandler>> = {
  ...{ ...LOOKS, help },
  ...{ act: pressButton, back, do: oldButton, pause: pauseChat, resume: resumeChat },
};

/** Carries out what operators do in the chat of alerts. Contract: as `DeskHandler`. */
export function createDesk(ports: DeskPorts): CommandHandler {
  return async (chatPorts, context) => {
    const { message: asked } = context.attempt;
    const [word = '', ...words] = context.words.split(' ');
    const { id = 0, name = '' } = asked.ok ? asked.value.from : {};
    // A button of another version.
    const handle = (Object.hasOwn(HANDLERS, word) && HANDLERS[word]) || help;
    const reply = await handle(ports, { words, by: plainLine(name) || `${id}`, id, context, chatPorts });
    const { buttons, isAnswered } = reply;
    const extras = { ...(buttons && { buttons }), ...(!isAnswered && { keepsButtons: true as const }) };
    return 'blocks' in reply ? laidOut('desk', reply.blocks, extras) : replied('desk', reply.text, extras);
  };
}
