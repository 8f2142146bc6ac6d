import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';

/** Whether a call is one of a conversation in which a user said this. */
export function about({ body }: ClaudeCall, mark: string): boolean {
  return JSON.stringify(body.messages).includes(mark);
}
