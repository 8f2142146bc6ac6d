/** How long people can undo the model's changes to their chat's reminders and memory. */
export const UNDO_MS = 7 * 24 * 3_600_000;
