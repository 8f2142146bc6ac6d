/** For how long people can undo what the model changed, in reminders and in the memory of their chat. */
export const UNDO_MS = 7 * 24 * 3_600_000;
