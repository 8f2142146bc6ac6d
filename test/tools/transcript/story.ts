import type { ChatEvent, ShownMessage } from '../../stand-in/telegram/chats.ts';
import type { DraftState } from '../../stand-in/telegram/drafts.ts';

/** What stands in a chat from top to bottom: messages with all that became of them, drafts with all their states. */
export type Line = { readonly at: number } & (
  | {
      readonly kind: 'user';
      readonly message: Record<string, unknown>;
      readonly isHeard: boolean;
      readonly isDeleted: boolean;
    }
  | { readonly kind: 'bot'; readonly versions: readonly ShownMessage[]; readonly isDeleted: boolean }
  | { readonly kind: 'draft'; readonly states: readonly DraftState[] }
  | { readonly kind: 'press'; readonly label: string }
);

/** The lines of a chat, in the order in which they appeared. Pure. */
export function storyOf(events: readonly ChatEvent[], drafts: readonly DraftState[]): Line[] {
  const deleted = new Set(events.flatMap((event) => (event.kind === 'deleted' ? [event.messageId] : [])));
  const lines = events.flatMap((event): Line[] => {
    const { at } = event;
    if (event.kind === 'pressed') return [{ kind: 'press', at, label: event.label }];
    if (event.kind === 'said') {
      const { message, isHeard } = event;
      return [{ kind: 'user', at, message, isHeard, isDeleted: deleted.has(Number(message.message_id)) }];
    }
    if (event.kind !== 'sent') return [];
    const { messageId } = event.message;
    return [{ kind: 'bot', at, versions: versionsOf(events, messageId), isDeleted: deleted.has(messageId) }];
  });
  return [...lines, ...draftLines(drafts)].sort((one, other) => one.at - other.at);
}

function versionsOf(events: readonly ChatEvent[], messageId: number): ShownMessage[] {
  return events.flatMap((event) =>
    (event.kind === 'sent' || event.kind === 'edited') && event.message.messageId === messageId ? [event.message] : [],
  );
}

/** States of one draft that only a change parts belong together. */
function draftLines(drafts: readonly DraftState[]): Line[] {
  const runs: DraftState[][] = [];
  for (const state of drafts) {
    const last = runs.at(-1)?.at(-1);
    const goesOn = last?.draftId === state.draftId && last.topicId === state.topicId;
    if (goesOn) runs.at(-1)?.push(state);
    else runs.push([state]);
  }
  return runs.map((states) => ({ kind: 'draft', at: states[0]?.at ?? 0, states }));
}
