import { isSecretName } from '../shared/base/env-file.ts';
import { GREETING, languageOf } from '../shared/texts/language.ts';
import { askAlertChat } from './alert-chat.ts';
import { askBot } from './bot.ts';
import { listen } from './listen.ts';
import { askModel } from './model.ts';
import { advance, changesOf, nextStep, type Progress, type RunStep, type SetupPorts, type Step } from './progress.ts';
import { CancelledError } from './terminal.ts';
import { faultOf, firstPerson, withId } from './value.ts';

const ALLOWED = 'TELEGRAM_ALLOWED_IDS';

/** Asks who may use the bot. */
const askOwner: RunStep = async (ports, { values, bot }) => {
  const { terminal } = ports;
  const current = values[ALLOWED] || undefined;
  const choice = current === undefined ? 'replace' : await chooseChange(current);
  if (choice === 'keep') return { answers: { [ALLOWED]: current }, ownerId: firstPerson(current) };
  const isAnother = choice === 'add';
  const title = isAnother ? 'Who is to be added?' : undefined;
  const sender = await listen(ports, values, 'private', bot?.username ?? '', title);
  const id = sender?.chatId ?? (await typeId());
  if (isAnother && sender === undefined && (await offerToLetIn(id))) {
    terminal.good(`${id} is let in within a second; npm run cli -- allow --remove ${id} takes that back.`);
    return { answers: { [ALLOWED]: current }, ownerId: firstPerson(current) };
  }
  terminal.good(
    isAnother ? `${id} is added.` : `Your id is ${id}. The bot will answer you, and ignore everybody else.`,
  );
  const answers = { [ALLOWED]: withId(isAnother ? current : undefined, id) };
  return isAnother ? { answers, ownerId: firstPerson(current) } : { answers, ownerId: id, language: sender?.language };

  function chooseChange(ids: string): Promise<'keep' | 'add' | 'replace'> {
    return terminal.choose(`${ALLOWED} is set: ${ids}`, [
      { value: 'keep', label: 'Keep it' },
      { value: 'add', label: 'Add somebody' },
      { value: 'replace', label: 'Replace it' },
    ]);
  }

  /** If a gateway is running, offers to allow the person there at once. Returns whether the person was allowed. */
  async function offerToLetIn(id: number): Promise<boolean> {
    if (!(await ports.isReceived(values))) return false;
    const question = `Let ${id} in now, without a restart, as npm run cli -- allow ${id} does?`;
    return (await terminal.confirm(question)) && ports.letIn(values, id);
  }

  async function typeId(): Promise<number> {
    const id = await terminal.ask({
      message: isAnother ? 'Their numeric Telegram id' : 'Your numeric Telegram id',
      faultOf: (value) => (/^[1-9]\d{0,15}$/.test(value) ? faultOf(ALLOWED, value) : 'expected the number of a person'),
    });
    return Number(id);
  }
};

/** Asks whether strangers may ask for access, unless the bot is open to everybody. */
const askPairing: RunStep = async ({ terminal }, { values }) => {
  const wasOn = values.PAIRING === 'on';
  const question = 'May strangers ask to be let in? You get a message with the buttons Allow and Ignore (PAIRING)';
  const isOn = values[ALLOWED] === '*' ? wasOn : await terminal.confirm(question, wasOn);
  return isOn === wasOn ? {} : { answers: { PAIRING: isOn ? 'on' : 'off' } };
};

const SWITCH = 'DEADMAN_URL';
const SECOND = 'ALERT_WEBHOOK_URL';

const WHY = [
  'A gateway that is down cannot say so, and while Telegram is down no alert',
  'gets through. Two addresses help. Both are optional.',
  `${SWITCH} is requested once a minute while all is well. A service such as`,
  'healthchecks.io raises the alarm when the requests stop.',
  `${SECOND} receives the alerts too, such as`,
  'an incoming webhook of Slack, Mattermost or Discord.',
].join('\n');

/** Asks for the address of a service that notices a dead gateway, and for a second address that also receives the alerts. */
const askWatchers: RunStep = async (ports, { file, values }) => {
  ports.terminal.explain('Who notices when everything is down?', WHY);
  const deadMan = await askAddress(ports, SWITCH, values[SWITCH]);
  const second = await askAddress(ports, SECOND, values[SECOND]);
  const answers = { [SWITCH]: deadMan, [SECOND]: second };
  // Write an empty answer only if the file has a value to remove.
  return { answers: Object.fromEntries(Object.entries(answers).filter(([name, value]) => value !== '' || file[name])) };
};

/** Asks for an address. Does not print the current one, since anybody who has it can silence the alarm or send false alerts. */
async function askAddress({ terminal }: SetupPorts, name: string, current = ''): Promise<string> {
  if (current !== '' && (await terminal.confirm(`${name} is set. Keep it?`))) return current;
  return terminal.ask({
    message: `${name} (Enter for none)`,
    faultOf: (value) => (value === '' ? undefined : faultOf(name, value)),
  });
}

const ZONE = 'TZ';

/** Asks for the time zone of the dates that the model sees. */
const askTimeZone: RunStep = async ({ terminal }, { file, values }) => {
  const zone = await terminal.ask({
    message: 'The time zone for the dates and times that the model sees',
    initial: values[ZONE] || new Intl.DateTimeFormat().resolvedOptions().timeZone,
    faultOf: (value) => faultOf(ZONE, value),
  });
  return zone === 'UTC' && file[ZONE] === undefined ? {} : { answers: { [ZONE]: zone } };
};

/** Whether a value must not appear in the terminal, which other people may see or record. */
const isHidden = (name: string): boolean => isSecretName(name) || name === SWITCH || name === SECOND;

/** Shows the changes to the settings file, and writes them after a confirmation. */
const saveAnswers: RunStep = async ({ terminal, save, file }, progress) => {
  const changes = changesOf(progress);
  const lines = [...changes].map(([name, value]) => {
    const before = progress.file[name];
    if (isHidden(name)) return `${name}  (not shown${before ? '; replaces what is there' : ''})`;
    return `${name}=${value}${before ? `  (instead of ${before})` : ''}`;
  });
  terminal.explain(file, lines.join('\n'));
  if (!(await terminal.confirm('Write these settings?'))) throw new CancelledError();
  await save(changes);
  terminal.good(`Written, readable only by you: ${file}`);
  return {};
};

/** Sends the bot's greeting to the bot's owner. If that fails, only warns. */
const greet: RunStep = async ({ terminal, connect }, { values, ownerId = 0, language }) => {
  const result = await connect(values).sendMessage({ chatId: ownerId }, GREETING[languageOf(language)]);
  if (result.ok) terminal.good('Your bot has sent you three things to try once it runs.');
  else
    terminal.warn(`Your bot could not send you its greeting: ${result.failure.description}. Write to it once it runs.`);
  return {};
};

const RUN: Readonly<Record<Step, RunStep>> = {
  bot: askBot,
  owner: askOwner,
  alerts: askAlertChat,
  pairing: askPairing,
  watchers: askWatchers,
  model: askModel,
  zone: askTimeZone,
  save: saveAnswers,
  greeting: greet,
};

/** Runs the remaining steps. `onStep` gets the progress after each step. Throws `CancelledError` if the person stops. */
export async function guide(ports: SetupPorts, start: Progress, onStep: (progress: Progress) => void): Promise<void> {
  let progress = start;
  for (let step = nextStep(progress); step !== undefined; step = nextStep(progress)) {
    progress = advance(progress, step, await RUN[step](ports, progress));
    onStep(progress);
  }
}
