import { parseChatKey } from '../../shared/redis/keys.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { inRows } from '../command/command.ts';
import { ENTRY_NAME, TRACE_NAME } from '../report/message-location.ts';
import type { Name, Report, Text } from '../report/report.ts';

/** Telegram takes no longer data. */
const DATA_BYTES_MAX = 64;
const OFFERED_MAX = 8;
const MESSAGES_OFFERED = 2;
/** Enough to tell one from the other. */
const TRACE_SHOWN = 8;
const TYPED =
  /^(?<verb>status|incidents|message|chat|audit|pause|resume|dead)(?<list> list)?(?: (?:--chat )?(?<of>\S+))?$/;
const LABELS: Readonly<Record<string, string>> = { dead: 'Dead letters' };

/** What is typed in the chat of alerts for the words of a command line; `undefined` where that is not done there. Pure. */
export function typedAs(command: string): string | undefined {
  const { verb = '', list, of } = TYPED.exec(command)?.groups ?? {};
  if (verb === '' || (verb === 'dead') !== (list !== undefined)) return undefined;
  const isOfAll = verb === 'pause' || verb === 'resume';
  return [`/${verb}`, of ?? (isOfAll ? 'all' : '')].join(' ').trim();
}

/** A button that does what is typed so; `undefined` where a button cannot hold that. */
function buttonFor(typed: string): Button | undefined {
  const [verb = '', ...of] = typed.slice(1).split(' ');
  const label = LABELS[verb] ?? `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`;
  const text = TRACE_NAME.test(of.join()) ? `Trace ${of.join().slice(0, TRACE_SHOWN)}` : [label, ...of].join(' ');
  const command = `/desk ${typed.slice(1)}`;
  return command.length <= DATA_BYTES_MAX ? { text, command } : undefined;
}

/** The rows of buttons for what is typed so: of messages one a row, since their names are long. Pure. */
export function rowsFor(typed: readonly string[]): readonly (readonly Button[])[] {
  const all = [...new Set(typed)].flatMap((each) => buttonFor(each) ?? []);
  const isOfMessage = ({ command }: Button) => command.startsWith('/desk message');
  const messages = all.filter(isOfMessage).slice(0, MESSAGES_OFFERED);
  const others = all.filter((each) => !isOfMessage(each)).slice(0, OFFERED_MAX - messages.length);
  return [...inRows(others, 2), ...inRows(messages, 1)];
}

/** What can be done about a report, and looked at from it, as buttons. Pure. */
export function offersOf(report: Report): readonly (readonly Button[])[] {
  const actions = (report.actions ?? []).flatMap(({ command = '' }) => typedAs(command) ?? []);
  return rowsFor([...actions, ...namesIn(report).flatMap((name) => lookAt(name) ?? [])]);
}

/** Reports as buttons that show them. Pure. */
export function namesAsButtons(names: readonly Name[]): readonly (readonly Button[])[] {
  return rowsFor(names.flatMap((name) => lookAt(name) ?? []));
}

function lookAt({ of, id, text }: Name): string | undefined {
  if (of === 'message') return ENTRY_NAME.test(id) || TRACE_NAME.test(id) ? `/message ${id}` : undefined;
  if (of === 'dead') return text === 0 ? undefined : `/dead ${id}`.trim();
  return parseChatKey(id) === undefined ? undefined : `/chat ${id}`;
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
