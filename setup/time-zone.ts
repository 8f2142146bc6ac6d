import type { RunStep } from './step.ts';
import { faultOf } from './value.ts';

const ZONE = 'TZ';
const USUAL = 'UTC';

/** Asks for the time zone of the dates that the model sees. */
export const askTimeZone: RunStep = async ({ terminal }, { file, settings }) => {
  const zone = await terminal.ask({
    message: 'The time zone of the dates and times that the model sees',
    initial: settings[ZONE] || new Intl.DateTimeFormat().resolvedOptions().timeZone,
    faultOf: (value) => faultOf(ZONE, value),
  });
  return zone === USUAL && file[ZONE] === undefined ? {} : { answers: { [ZONE]: zone } };
};
