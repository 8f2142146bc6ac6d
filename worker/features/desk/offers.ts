import { parseChatKey } from '../../../shared/redis/keys.ts';
import type { Button } from '../../../shared/telegram/messages.ts';
import { inRows } from '../../command/command.ts';
import { ENTRY_NAME, TRACE_NAME } from '../../report/message-location.ts';
import type { Name, Report, Text } from '../../report/report.ts';

/** Bot API, `InlineKeyboardButton`: `callback_data` has 64 bytes at most. */
const DATA_BYTES_MAX = 64;
const BUTTONS_MAX = 8;
const MESSAGES_MAX = 2;
/** How many characters of a trace id a button shows: enough to tell two traces apart. */
const TRACE_CHARS = 8;
const CLI_COMMAND =
  /^(?<verb>status|incidents|message|chat|audit|pause|resume|dead)(?<list> list)?(?: (?:--chat )?(?<target>\S+))?$/;

/** Translates a command line such as `dead list --chat 7` into a chat command; `undefined` if there is none. Pure. */
export function chatCommandFor(cliCommand: string): string | undefined {
  const { verb = '', list, target } = CLI_COMMAND.exec(cliCommand)?.groups ?? {};
  if (verb === '' || (verb === 'dead') !== (list !== undefined)) return undefined;
  const canBeForAll = verb === 'pause' || verb === 'resume';
  return [`/${verb}`, target ?? (canBeForAll ? 'all' : '')].join(' ').trim();
}

/** The button that sends a chat command; no button if the command is too long. */
function buttonFor(chatCommand: string): Button[] {
  const [verb = '', ...target] = chatCommand.slice(1).split(' ');
  const label = verb === 'dead' ? 'Dead letters' : `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
  const text = TRACE_NAME.test(target.join())
    ? `Trace ${target.join().slice(0, TRACE_CHARS)}`
    : [label, ...target].join(' ');
  const command = `/desk ${chatCommand.slice(1)}`;
  return command.length <= DATA_BYTES_MAX ? [{ text, command }] : [];
}

/** At most 8 buttons that send these chat commands, in rows. Buttons for messages, at most 2, get a row each. Pure. */
export function rowsFor(chatCommands: readonly string[]): readonly (readonly Button[])[] {
  const all = [...new Set(chatCommands)].flatMap(buttonFor);
  const isForMessage = ({ command }: Button) => command.startsWith('/desk message');
  const messages = all.filter(isForMessage).slice(0, MESSAGES_MAX);
  const others = all.filter((each) => !isForMessage(each)).slice(0, BUTTONS_MAX - messages.length);
  return [...inRows(others, 2), ...inRows(messages, 1)];
}

/** Buttons for the actions of a report, and for the reports that it links to. Pure. */
export function reportButtons(report: Report): readonly (readonly Button[])[] {
  const acts = (report.actions ?? []).flatMap(({ command = '' }) => chatCommandFor(command) ?? []);
  return rowsFor([...acts, ...namesIn(report).flatMap(commandsFor)]);
}

/** The chat command that shows a linked report; none if the report is empty or a chat cannot show it. Pure. */
export function commandsFor({ of, id, text }: Name): string[] {
  if (of === 'message') return ENTRY_NAME.test(id) || TRACE_NAME.test(id) ? [`/message ${id}`] : [];
  if (of === 'dead') return text === 0 ? [] : [`/dead ${id}`.trim()];
  return parseChatKey(id) === undefined ? [] : [`/chat ${id}`];
}

function namesIn({ verdict, sections }: Report): Name[] {
  const texts: Text[] = [
    ...(verdict === undefined ? [] : [verdict.reason, ...(verdict.more ?? [])]),
    ...sections.flatMap(({ facts = [], table, items = [] }) => [
      ...facts.flatMap(({ value, note = '' }) => [value, note]),
      ...(table?.rows.flat() ?? []),
      ...items.flatMap(({ lines }) => lines),
    ]),
  ];
  return texts.flat().filter((piece): piece is Name => typeof piece === 'object' && 'of' in piece);
}
