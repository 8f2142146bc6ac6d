import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import setUpRedis from '../environment/redis-setup.ts';
import { INCIDENTS, type Played, playIncident } from './incidents.ts';
import { phoneReport } from './report.ts';

const HELP = `Usage: npm run verify:phone [-- options]

Plays incidents with a real gateway, its own clocks and the strict stand-ins, and closes them through the chat of alerts
alone: what is read there, and which buttons are pressed. Only loopback, about ten minutes.

  --only TEXT     only incidents whose name contains it
  --report FILE   writes the result as Markdown

Exit codes: 0 all closed, 1 one was not.`;

const { values } = parseArgs({
  options: { help: { type: 'boolean' }, only: { type: 'string', default: '' }, report: { type: 'string' } },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);

if (values.help) say(HELP);
else await verify(values.only);

async function verify(only: string): Promise<void> {
  await setUpRedis();
  const played: (Played | { name: string; failed: string })[] = [];
  for (const incident of INCIDENTS.filter(({ name }) => name.includes(only))) {
    const result = await playIncident(incident).catch((error: Error) => ({
      name: incident.name,
      failed: error.message,
    }));
    played.push(result);
    say(
      'failed' in result
        ? `FAILS   ${result.name}: ${result.failed}`
        : `closed  ${result.name}: ${result.presses.join(', ') || 'no press'}`,
    );
  }
  const done = played.filter((each) => !('failed' in each)) as Played[];
  const report = phoneReport(done, new Date());
  say(`\n${report}`);
  if (values.report !== undefined) await writeFile(values.report, report);
  process.exitCode = done.length === played.length ? 0 : 1;
}
