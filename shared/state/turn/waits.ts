import type { Change } from '../change.ts';
import { Fields } from './fields.ts';

/** Time is kept as sums of durations, never as differences of clock times: a clock that is wrong would end a wait at once. */
export interface Waited {
  waitedMs: number;
  tries: number;
}

/** The fields that end when a call goes through. */
export const OUTAGE = ['outageWaitedMs', 'outageTries'] as const;
const TELEGRAM = ['telegramWaitedMs', 'telegramTries'] as const;

/** What a message waits for: the endpoint of the model, Telegram, the end of a storm. */
export class Waits extends Fields {
  /** How it waits for the endpoint of the model. */
  get outage(): Waited {
    return this.#waited(OUTAGE);
  }

  waitForModel({ waitedMs, tries }: Waited): Change {
    return this.set(OUTAGE[0], Math.round(waitedMs), OUTAGE[1], tries);
  }

  /** How its finished answer waits for Telegram; `tries` are the sends that ended without Telegram's word. */
  get telegram(): Waited {
    return this.#waited(TELEGRAM);
  }

  waitForTelegram({ waitedMs, tries }: Waited): Change {
    return this.set(TELEGRAM[0], Math.round(waitedMs), TELEGRAM[1], tries);
  }

  /** It waits for a storm of overflows to pass, or is its probe. */
  get isInStorm(): boolean {
    return this.fields.has('storm');
  }

  enterStorm(): Change {
    return this.set('storm', 1);
  }

  #waited([waited, tries]: readonly [string, string]): Waited {
    return { waitedMs: this.number(waited) ?? 0, tries: this.number(tries) ?? 0 };
  }
}
