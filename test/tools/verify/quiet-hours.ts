import { setTimeout as pause } from 'node:timers/promises';
import { call } from '../../fixture/content-blocks.ts';
import { callsTools, use } from '../../fixture/notebook.ts';
import { about, type Hour } from './hour.ts';

const CHAT = 1101;
const MARK = '[tools]';
const MORNING_MS = 15_000;
/** A model may make up a name out of what a user said; no label may hold it. */
const INVENTED = 'my_pin_is_491';

export const QUIET_HOURS: readonly Hour[] = [
  {
    name: 'an ordinary morning',
    fires: [],
    play: () => pause(MORNING_MS),
  },
  {
    name: 'the model uses tools; one fails, and one it has made up',
    fires: [],
    async play({ ground }) {
      const script = callsTools([use('t1', 'look'), use('t2', 'fail')], [call('t3', { name: INVENTED, input: {} })]);
      const asked = ground.react((each) => (about(each, MARK) ? script(each) : undefined));
      ground.telegram.say(CHAT, `${MARK} What did we say of the tide?`);
      await ground.untilOutcomes(CHAT, 1);
      asked.end();
    },
  },
];
