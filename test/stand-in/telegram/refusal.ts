/** A Bot API error: what a method answers instead of a result. */
export interface Refusal {
  readonly status: number;
  readonly description: string;
  readonly parameters?: Record<string, unknown>;
}

/** Thrown by a method to answer with an error. It never leaves the stand-in. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.description);
    this.refusal = refusal;
  }
}

/** The usual kind: 400, with the API's own prefix. */
export function badRequest(why: string): RefusedError {
  return new RefusedError({ status: 400, description: `Bad Request: ${why}` });
}

/** 403: the bot may not write there, or not any more. */
export function forbidden(why: string): RefusedError {
  return new RefusedError({ status: 403, description: `Forbidden: ${why}` });
}
