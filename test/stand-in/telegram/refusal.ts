/** A Bot API error: what a method answers instead of a result. */
export interface Refusal {
  readonly status: number;
  readonly description: string;
  readonly parameters?: Record<string, unknown> | undefined;
}

/** Thrown by a method to answer with an error. It never leaves the stand-in. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(status: number, description: string, parameters?: Record<string, unknown>) {
    super(description);
    this.refusal = { status, description, parameters };
  }
}

/** The usual kind: 400, with the API's own prefix. */
export const badRequest = (why: string) => new RefusedError(400, `Bad Request: ${why}`);

/** 403: the bot may not write there, or not any more. */
export const forbidden = (why: string) => new RefusedError(403, `Forbidden: ${why}`);

/** 409: two receivers of one bot. */
export const conflict = (why: string) => new RefusedError(409, `Conflict: ${why}`);

/** 429, with the time to wait. */
export const tooManyRequests = (seconds: number) =>
  new RefusedError(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
