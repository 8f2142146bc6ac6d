import type { Block, Inline } from '../../../shared/flow/reply.ts';
import type { Button } from '../../../shared/telegram/messages.ts';
import { type CommandContext, type CommandHandler, laidOut, replied } from '../../command/command.ts';
import type { Feature } from '../../feature.ts';
import type { ReportContext } from '../../report/report.ts';
import { plainLine } from '../memory/memory.ts';
import { oldButton, pauseChat, pressButton, resumeChat, takeBack } from './act.ts';
import { help } from './help.ts';
import { LOOKS } from './looks.ts';

/** A command of an operator. */
export interface DeskCall {
  /** The words behind the command. */
  words: readonly string[];
  /** The operator's first name, or else the id. */
  by: string;
  /** The operator's id. Several people may have the same first name. */
  id: number;
  context: CommandContext;
  /** The source of reports and acts. */
  source: ReportContext;
}

/** The reply to an operator. */
export type DeskReply = {
  buttons?: readonly (readonly Button[])[];
  /** Removes the buttons under the message that was pressed. */
  isAnswered?: true;
} & ({ text: string | readonly Inline[] } | { blocks: readonly Block[] });

/** Carries out one command. Contract: rejects when Redis cannot be reached; may run again from the start after a crash. */
export type DeskHandler = (call: DeskCall) => DeskReply | Promise<DeskReply>;

const HANDLERS: Readonly<Record<string, DeskHandler>> = {
  ...LOOKS,
  help,
  act: pressButton,
  back: takeBack,
  do: oldButton,
  pause: pauseChat,
  resume: resumeChat,
};

/** Answers all that operators type or press in the chat of alerts. Contract: as `DeskHandler`. */
const desk: CommandHandler = async (context) => {
  const { message } = context.turn;
  const { redis, settings } = context.turn.env;
  const [word = '', ...words] = context.argument.split(' ');
  const { id = 0, name = '' } = message.ok ? message.value.from : {};
  // A button of another version may send an unknown word.
  const handle = (Object.hasOwn(HANDLERS, word) && HANDLERS[word]) || help;
  const source = { redis, settings, shards: settings.SHARDS };
  const reply = await handle({ words, by: plainLine(name) || `${id}`, id, context, source });
  const { buttons, isAnswered } = reply;
  const extras = { ...(buttons && { buttons }), ...(!isAnswered && { keepsButtons: true as const }) };
  return 'blocks' in reply ? laidOut('desk', reply.blocks, extras) : replied('desk', reply.text, extras);
};

/** The chat of alerts, where operators press buttons under alerts and type commands. */
export const deskFeature: Feature = { name: 'desk', commands: { desk } };
