import type { Params } from './params.ts';

/** A failure that a test asks for. */
export type Failure =
  | { status: number; description: string; parameters?: Record<string, unknown> }
  /**
   * - `hang`: no answer, ever, and no effect. `cut`: the socket dies, no effect.
   * - `loseReply`: the effect is carried out, then the socket dies. `html502`: a proxy's page, no effect.
   * - `withholdReply`: the effect is carried out, and no answer ever comes.
   * - `slow`: the method is carried out after `ms` (default 1000).
   */
  | { do: 'hang' | 'cut' | 'loseReply' | 'withholdReply' | 'html502' | 'slow'; ms?: number };

/**
 * How Telegram as a whole is away, whatever is called, until it is back:
 * - `page`: a proxy answers in its place, with a page. `server error`: its own 500, in its own form.
 * - `refused`: nobody listens. `silent`: a call is taken and never answered, and has no effect.
 * - `unanswered`: a call is carried out, and its answer never comes.
 */
export type Outage = (typeof OUTAGES)[number];
export const OUTAGES = ['page', 'server error', 'refused', 'silent', 'unanswered'] as const;

/** What becomes of each call meanwhile; nothing is called that nobody listens to. */
export const OUTAGE_FAILURES: Readonly<Record<Exclude<Outage, 'refused'>, Failure>> = {
  page: { do: 'html502' },
  'server error': { status: 500, description: 'Internal Server Error' },
  silent: { do: 'hang' },
  unanswered: { do: 'withholdReply' },
};

type Planned = { method: string; failure: Failure; left: number; match: (params: Params) => boolean };

/** The failures still to come, in the order in which they were planned. */
export class Failures {
  #planned: Planned[] = [];
  /** What every call meets, before anything that was planned. */
  always: Failure | undefined;

  /** Plans a failure for the next `times` calls of a method (`*` is any) whose parameters match. */
  plan(method: string, failure: Failure, times: number, match: Planned['match'] = () => true): void {
    this.#planned.push({ method: method.toLowerCase(), failure, match, left: times });
  }

  /** Takes the failure that is due for a call, if there is one. */
  take(method: string, params: Params): Failure | undefined {
    if (this.always !== undefined) return this.always;
    const names = ['*', method.toLowerCase()];
    const due = this.#planned.find((each) => each.left > 0 && names.includes(each.method) && each.match(params));
    if (due !== undefined) due.left -= 1;
    return due?.failure;
  }

  /** Forgets what was planned. */
  clear(): void {
    this.#planned = [];
  }
}
