/** Incidents that are closed from a phone, with the clocks of production; `npm run verify:phone` plays all of them. */
import { expect, test } from '@jest/globals';
import { INCIDENTS, playIncident } from '../tools/phone/incidents.ts';

const PATIENCE_MS = 180_000;

test.each([
  ['a refused key', ['Try again now', 'Replay failed']],
  ['a stuck chat', ['Cancel message', 'Yes, cancel']],
])(
  '%s is closed with two presses',
  async (name, presses) => {
    const incident = INCIDENTS.find((each) => each.name === name);
    expect(incident && (await playIncident(incident)).presses).toEqual(presses);
  },
  PATIENCE_MS,
);
