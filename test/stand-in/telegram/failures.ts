import type { Params } from './params.ts';

/** A failure that a test asks for. */
export type Failure =
  | { status: number; description: string; parameters?: object }
  /**
   * - `hang`: no answer, ever, and no effect. `cut`: the socket dies, no effect.
   * - `loseReply`: the effect is carried out, then the socket dies. `html502`: a proxy's page, no effect.
   * - `slow`: the method is carried out after `ms` (default 1000).
   */
  | { do: 'hang' | 'cut' | 'loseReply' | 'html502' | 'slow'; ms?: number };

interface Planned {
  readonly method: string;
  readonly failure: Failure;
  readonly match: ((params: Params) => boolean) | undefined;
  left: number;
}

/** The failures still to come, per method, in the order in which they were planned. */
export class Failures {
  readonly #planned: Planned[] = [];

  /** Plans a failure for the next `times` calls of a method (`*` is any) whose parameters match. */
  plan(method: string, failure: Failure, times: number, match?: (params: Params) => boolean): void {
    this.#planned.push({ method: method.toLowerCase(), failure, match, left: times });
  }

  /** Takes the failure that is due for a call, if there is one. */
  take(method: string, params: Params): Failure | undefined {
    const name = method.toLowerCase();
    const due = this.#planned.find(
      (planned) =>
        planned.left > 0 &&
        (planned.method === '*' || planned.method === name) &&
        (planned.match === undefined || planned.match(params)),
    );
    if (due !== undefined) due.left -= 1;
    return due?.failure;
  }

  /** Forgets what was planned. */
  clear(): void {
    this.#planned.length = 0;
  }
}
