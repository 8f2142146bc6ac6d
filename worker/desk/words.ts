import { counted, inSeconds } from '../../shared/base/text.ts';
import { PROVIDER_SAID, type ProviderTrouble } from '../model/errors/failure.ts';
import { CANCELLED, PAUSED, RETRIED } from '../operator/words.ts';

/** The replies to presses of buttons under alerts. A result has no full stop, since the alert shows it, too. */
export const DESK_WORDS = {
  unknown: 'This version does not know that button. Nothing was done.',
  nothingDone: 'Nothing was done.',
  over: 'That alert is over, so nothing was done. /incidents lists what is open.',
  overSince:
    'That alert is over. What you pressed may have been done before that: /incidents and /status show how it is now.',
  changed: 'That alert has changed since, so nothing was done. Press under the alert as it is now.',
  other: 'Another message has waited longest since, so nothing was done. Press under the alert as it is now.',
  tooLate: 'That question is more than ten minutes old, so nothing was done. Press under the alert again.',
  back: 'Back',
  you: 'You',
  began: (who: string, at: string) => `${who} began that at ${at}; it is under way.`,
  did: (who: string, at: string, result: string) => `${who} did that at ${at}: ${result}.`,
  late: (at: string, seconds: number) => ` You pressed at ${at}; it was done ${inSeconds(seconds * 1_000)} later.`,

  asksPauseAll: { text: 'Pause every chat? What runs ends as it would; all else waits.', yes: 'Yes, pause all' },
  asksReplayAll: { text: 'Replay every dead letter, however old?', yes: 'Yes, replay all' },
  asksReplay: {
    text: 'The endpoint may still refuse. What fails again is told to its user again.',
    yes: 'Yes, replay',
  },
  asksCancel: (chat: string) => ({
    text: `Cancel the message that chat ${chat} waits for? Its user is told.`,
    yes: 'Yes, cancel it',
  }),

  nothingWaits: 'Nothing waits',
  nothingToReplay: 'Nothing to replay',
  replayed: (done: number, of: number) => `Replayed ${done} of ${of}`,
  triedNow: (messages: number) => `${counted(messages, 'message')} tried now`,
  answers: (messages: number) => `It answers; ${counted(messages, 'message')} tried now`,
  stillFails: (trouble: ProviderTrouble) => `The endpoint still ${PROVIDER_SAID[trouble]}`,
  spared: 'Not asked now: the endpoint is spared for a moment',
  paused: (chat: string) => `Chat ${chat} ${PAUSED.paused}`,
  allPaused: `Every chat ${PAUSED.paused}`,
  resumed: (pauses: number) => (pauses === 0 ? 'Nothing was paused' : `Ended ${counted(pauses, 'pause')}`),
  retried: (chat: string, how: keyof typeof RETRIED) => `The message of chat ${chat} ${RETRIED[how]}`,
  cancelled: (chat: string, how: keyof typeof CANCELLED) => `The message of chat ${chat} ${CANCELLED[how]}`,
  closed: 'Closed',
};
