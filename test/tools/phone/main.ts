import { findRedis, runTool, say } from '../tool.ts';
import { INCIDENTS, type Played, playIncident } from './incidents.ts';
import { phoneReport } from './report.ts';

const HELP = `Usage: npm run verify:phone [-- options]

Plays incidents with a real gateway, its own clocks and the strict stand-ins, and closes them through the operators' chat
alone: what is read there, and which buttons are pressed. Only loopback, about ten minutes.

  --only TEXT   only incidents whose name contains it

Exit codes: 0 all closed, 1 one was not.`;

const OPTIONS = { only: { type: 'string', default: '' } } as const;

await runTool(HELP, OPTIONS, async (values) => {
  await findRedis();
  const played: (Played | { name: string; failed: string })[] = [];
  for (const incident of INCIDENTS.filter(({ name }) => name.includes(values.only))) {
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
  say(`\n${phoneReport(done)}`);
  process.exitCode = done.length === played.length ? 0 : 1;
});
