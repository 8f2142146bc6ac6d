import { toolLabel } from '../../shared/base/text.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { timeZoneOf } from '../lane/turn-settings.ts';
import { isGranted } from '../tools/asking.ts';
import { type CommandHandler, replied } from './command.ts';
import { onDay } from './words.ts';

const ASK = /^ask (.{1,100})$/;
/** Bot API, `InlineKeyboardButton`: 64 bytes of `callback_data`. */
const NAME_CHARS_MAX = 64 - '/tools ask '.length;

/**
 * `/tools`: lists the tools that still ask, and the tools granted to the chat: each with the person who granted it, the end of
 * the grant, and a button that revokes the grant. The button's command is `/tools ask <tool>`, with a long name cut short.
 */
export const tools: CommandHandler = ({ turn, argument }) => {
  const { texts } = turn;
  const word = ASK.exec(argument)?.[1] ?? '';
  const isRevoked = (tool: string) => [tool, toolLabel(tool), commandName(tool)].includes(word);
  const specs = turn.env.tools.specs();
  const grants = turn.toolGrants.filter((grant) => {
    // If the tool's server does not answer, the granted definition counts as the current one.
    const spec = specs.find(({ name }) => name === grant.tool) ?? { ...grant, name: grant.tool };
    return isGranted(spec, [grant], turn.nowMs()) && !isRevoked(grant.tool);
  });
  const asking = specs.filter((spec) => spec.asks !== undefined && !isGranted(spec, grants, turn.nowMs()));
  const zone = timeZoneOf(turn, turn.env.settings);
  const lines = grants.map(({ tool, by, untilMs }) =>
    texts.tools.grant(toolLabel(tool), by.name ?? `${by.id}`, onDay(untilMs, zone)),
  );
  const list = [texts.tools.granted(lines), texts.tools.asking(asking.map(({ name }) => toolLabel(name)))];
  const text = list.filter((each) => each !== '').join('\n\n');
  const buttons = grants.map(({ tool }) => [
    { text: texts.tools.askButton(toolLabel(tool)), command: `/tools ask ${commandName(tool)}` },
  ]);
  const changes = word === '' ? [] : [chatState(turn.keys, turn.chat).grantTools(grants)];
  return replied('tools', text === '' ? texts.tools.none : text, { buttons, changes });
};

function commandName(tool: string): string {
  return tool.slice(0, NAME_CHARS_MAX);
}
