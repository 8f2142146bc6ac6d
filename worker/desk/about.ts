import { serverTimeMs } from '../../shared/state/process/process.ts';
import { incidentItems } from '../report/incidents.ts';
import type { DeskCall, DeskHandler, DeskPorts, DeskReply } from './desk.ts';
import { chat, message, PUT_BACK, replyWith, status } from './looks.ts';
import { rowsFor } from './offers.ts';
import { pauseChat, resumeChat } from './pausing.ts';
import { type Asked, readPhrase } from './phrase.ts';
import { type AskedAlert, alertAnswered } from './question.ts';

/** `/desk about <message> <words>`: somebody answered an alert. It is never a message for the model. */
export const about: DeskHandler = async (ports, call) => {
  const [id = '', ...words] = call.words;
  const asked = readPhrase(words.join(' '));
  if (asked === undefined) return { text: CAN_BE_ASKED };
  const { verb, ...rest } = asked;
  if (verb === 'status') return status(ports, { ...call, words: [] });
  if (verb === 'replay') return { text: PUT_BACK, buttons: rowsFor(['/dead']) };
  const alert = await alertAnswered(ports, call, Number(id));
  if (verb === 'why') return whatHappened(ports, alert);
  if (verb === 'message') return messageOf(ports, call, asked.of ?? alert.trace);
  return aboutChat(ports, call, alert, { verb, ...rest });
};

const CAN_BE_ASKED =
  'Here you can ask: pause it, resume it, who is 1007, why, trace, status. For all else there is /help.';
const DO = { pause: pauseChat, resume: resumeChat, chat } as const;

async function aboutChat(
  ports: DeskPorts,
  call: DeskCall,
  { chats, hasMore, incident }: AskedAlert,
  { verb, of }: Asked<keyof typeof DO>,
): Promise<DeskReply> {
  const [only, ...others] = of === undefined ? chats : [of];
  const isOne = only !== undefined && others.length === 0 && (of !== undefined || !hasMore);
  if (isOne) return DO[verb](ports, { ...call, words: [only, ...(incident ? ['alert', incident.name] : [])] });
  // Without a chat the command itself says what is wanted.
  if (only === undefined) return DO[verb](ports, { ...call, words: [] });
  return {
    text: `This alert is about several chats. Which one?`,
    buttons: rowsFor(chats.map((each) => `/${verb} ${each}`)),
  };
}

async function messageOf(ports: DeskPorts, call: DeskCall, id: string | undefined): Promise<DeskReply> {
  return id === undefined ? { text: 'This alert names no message.' } : message(ports, { ...call, words: [id] });
}

/** The incident of an alert as it is now, or what its words still lead to. */
async function whatHappened(ports: DeskPorts, { incident, chats, trace }: AskedAlert): Promise<DeskReply> {
  if (incident === undefined) {
    const led = [...chats.map((each) => `/chat ${each}`), ...(trace === undefined ? [] : [`/message ${trace}`])];
    return {
      text: 'This incident is over, and no longer kept. Its chats and its message may be.',
      buttons: rowsFor(led),
    };
  }
  const nowMs = await serverTimeMs(ports.redis);
  return replyWith({ nowMs, sections: [{ items: incidentItems([incident], nowMs) }] });
}
