const MB = 1024 * 1024;

/*
 * The API refuses a body of 32 MB. What we allow grows from the history to the request, since each step adds what the
 * one before it does not weigh.
 */

/**
 * What a history should weigh at most after its largest parts were removed, so that the chat can continue for a while.
 */
export const TRIMMED_HISTORY_BYTES_MAX = 24 * MB;
/** What a history may weigh to be sent: system prompt and tools are added to it. */
export const HISTORY_BYTES_MAX = 28 * MB;
/** What a whole request may weigh, as the JSON that is sent. */
export const REQUEST_BYTES_MAX = 30 * MB;
