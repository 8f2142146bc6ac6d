import { commandIn, type InboundMessage } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { type Attempt, isOfGuest } from '../lane/attempt.ts';
import type { Lane } from '../lane/lane.ts';
import { userStep } from '../session/store.ts';

/** What looking at the messages behind works with. */
interface BusyPorts {
  lane: Pick<Lane, 'behind'>;
}

/**
 * The message behind this one that it is answered together with, where its chat wants that: the nearest one for the
 * model that is no piece of it. A chat that wants to be interrupted leaves a running turn as well; one that merges,
 * only a turn that has not begun to think. A recovery is never left: it decides about the conversation, not about one
 * message.
 */
export async function supersededBy({ lane }: BusyPorts, attempt: Attempt): Promise<EntryId | undefined> {
  if (attempt.message.ok && attempt.message.value.content.kind === 'reminder') return undefined;
  const way = attempt.choice('busy');
  const isBegun = attempt.turn.hasDone(userStep(attempt.session));
  const isOpen = way === 'interrupt' || (way === 'merge' && !isBegun);
  if (!isOpen || attempt.stage !== 'none' || attempt.trial !== undefined || attempt.isBlamed) return undefined;
  const behind = await lane.behind(attempt.lane);
  const next = behind.find(({ message, isTaken }) => isForModel(message) && !isTaken);
  // What a guest asks is never done with the tools of others, nor what others ask without them.
  return (next?.message.from.isGuest === true) === isOfGuest(attempt) ? next?.entry : undefined;
}

/** Whether the chat wants a new message to cut the running turn short. */
export function isInterruptible(attempt: Attempt): boolean {
  return attempt.choice('busy') === 'interrupt';
}

/** A reminder is answered by itself: nobody has written it, and what it says must not be lost in another answer. */
function isForModel(message: InboundMessage): boolean {
  const { kind } = message.content;
  return kind !== 'unsupported' && kind !== 'reminder' && commandIn(message) === undefined;
}
