import type { RunStep, SetupPorts } from './step.ts';
import { faultOf } from './value.ts';

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
export const askWatchers: RunStep = async (ports, { file, settings }) => {
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
