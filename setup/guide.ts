import { askAlertChat } from './alert-chat.ts';
import { askBot } from './bot.ts';
import { listen } from './listen.ts';
import { askModel } from './model.ts';
import type { RunStep, SetupPorts } from './progress.ts';
import { advance, changesOf, nextStep, type Progress, type Step } from './progress.ts';
import { CancelledError } from './terminal.ts';
import { offerUnit } from './unit.ts';
import { faultOf, firstPerson, withId } from './value.ts';

const ALLOWED = 'TELEGRAM_ALLOWED_IDS';

/** Finds out who may use the bot. */
const askOwner: RunStep = async (ports, { settings, bot }) => {
  const { terminal } = ports;
  const given = settings[ALLOWED] || undefined;
  const choice = given === undefined ? 'replace' : await chooseWhatHappens(given);
  if (choice === 'keep') return { answers: { [ALLOWED]: given }, ownerId: firstPerson(given) };
  const learnt = await listen(ports, ports.connect(settings), 'private', bot?.username ?? '');
  if (learnt !== undefined) terminal.good(`Your id is ${learnt}. The bot will answer you, and ignore everybody else.`);
  const ownerId = learnt ?? (await typeId());
  return { answers: { [ALLOWED]: withId(choice === 'add' ? given : undefined, ownerId) }, ownerId };

  function chooseWhatHappens(ids: string): Promise<'keep' | 'add' | 'replace'> {
    return terminal.choose(`${ALLOWED} is set: ${ids}`, [
      { value: 'keep', label: 'Keep it' },
      { value: 'add', label: 'Add somebody' },
      { value: 'replace', label: 'Replace it' },
    ]);
  }

  async function typeId(): Promise<number> {
    const id = await terminal.ask({
      message: 'Your numeric Telegram id',
      faultOf: (value) => (/^[1-9]\d{0,15}$/.test(value) ? faultOf(ALLOWED, value) : 'expected the number of a person'),
    });
    return Number(id);
  }
};

const SWITCH = 'DEADMAN_URL';
const SECOND = 'ALERT_WEBHOOK_URL';

const WHY = [
  'A gateway that is dead cannot tell you, and while Telegram is away no',
  'alert arrives there. Two addresses help; both may stay empty.',
  `${SWITCH}: is requested once a minute while all is well. A service`,
  'that waits for it, such as healthchecks.io, alarms when it stays away.',
  `${SECOND}: gets the alerts while Telegram does not take them,`,
  'as incoming webhooks of Slack or Mattermost do.',
].join('\n');

/** Asks for the two addresses by which somebody hears of a dead gateway, or of a Telegram that is away. */
const askWatchers: RunStep = async (ports, { file, settings }) => {
  ports.terminal.explain('Who hears of it when all is dead?', WHY);
  const answers = {
    [SWITCH]: await askAddress(ports, SWITCH, settings[SWITCH]),
    [SECOND]: await askAddress(ports, SECOND, settings[SECOND]),
  };
  // An empty answer is written only where it takes something away.
  return { answers: Object.fromEntries(Object.entries(answers).filter(([name, value]) => value !== '' || file[name])) };
};

/** An address is not shown that somebody has given: whoever has it can keep the alarm silent. */
async function askAddress({ terminal }: SetupPorts, name: string, given = ''): Promise<string> {
  if (given !== '' && (await terminal.confirm(`${name} is set. Keep it?`))) return given;
  return terminal.ask({
    message: `${name} (Enter for none)`,
    faultOf: (value) => (value === '' ? undefined : faultOf(name, value)),
  });
}

const ZONE = 'TZ';
const USUAL = 'UTC';

/** Asks for the time zone of the dates that the model sees. */
const askTimeZone: RunStep = async ({ terminal }, { file, settings }) => {
  const zone = await terminal.ask({
    message: 'The time zone of the dates and times that the model sees',
    initial: settings[ZONE] || new Intl.DateTimeFormat().resolvedOptions().timeZone,
    faultOf: (value) => faultOf(ZONE, value),
  });
  return zone === USUAL && file[ZONE] === undefined ? {} : { answers: { [ZONE]: zone } };
};

/** Writes the settings file, after it said which of its values change. */
const saveAnswers: RunStep = async ({ terminal, save, file }, progress) => {
  const changes = changesOf(progress);
  const names = [...changes.keys()].map((name) => `${name}${progress.file[name] ? '  (replaces what is there)' : ''}`);
  terminal.explain(file, names.join('\n'));
  if (!(await terminal.confirm('Write these settings?'))) throw new CancelledError();
  await save(changes);
  terminal.good(`Written, readable by you alone: ${file}`);
  return {};
};

const RUN: Readonly<Record<Step, RunStep>> = {
  bot: askBot,
  owner: askOwner,
  alerts: askAlertChat,
  watchers: askWatchers,
  model: askModel,
  zone: askTimeZone,
  save: saveAnswers,
  unit: offerUnit,
};

/** Goes through every step that is left. `onStep` gets the progress after each. Throws `CancelledError`. */
export async function guide(ports: SetupPorts, begun: Progress, onStep: (progress: Progress) => void): Promise<void> {
  let progress = begun;
  for (let step = nextStep(progress); step !== undefined; step = nextStep(progress)) {
    progress = advance(progress, step, await RUN[step](ports, progress));
    onStep(progress);
  }
}
