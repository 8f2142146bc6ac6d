import { clip } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import { isAct } from '../alerts/causes/acts.ts';
import { ACTS } from './acts.ts';
import { attributionOf, claim, noteResult, type Press } from './claim.ts';
import type { DeskCall, DeskHandler } from './desk.ts';
import { DESK_WORDS } from './words.ts';

const PRESSED = /^([\w-]{10}) ([a-z-]{2,12}) (\d{1,5})(?: ([0-9a-f]{6}))?(?: (yes|back)-([0-9a-z]{1,9}))?$/;
const BY_CHARS_MAX = 40;
/** Whoever presses and is answered later is told when that was. */
const LATE_MS = 120_000;

/**
 * `/desk do <opening> <act> <n> …`: what a button under an alert sends. It is noted in the book of incidents before it is
 * done, with this message: who presses what was done since the button was drawn is told who did it, and this message goes
 * on after a crash where it was. Contract: as `DeskHandler`.
 */
export const act: DeskHandler = async (ports, call) => {
  const { ask } = call.chatPorts;
  const press = pressOf(call);
  if (press === undefined) return { text: DESK_WORDS.unknown };
  if (press.answer?.word === 'back') return { text: DESK_WORDS.nothingDone, isAnswered: true };
  const claimed = await claim(ports, press);
  if (!('noted' in claimed)) return { ...claimed, ...(press.answer && { isAnswered: true }) };
  const { reach } = ask.observability;
  reach('act claimed');
  const { incident, noted } = claimed;
  const attribution = attributionOf(press, incident);
  const errand = { incident, noted, attribution, model: ask.endpoint.model, signal: call.context.time.signal };
  const result = noted.result ?? (await ACTS[press.name].does(ports, errand));
  reach('act done');
  if (noted.result === undefined) await noteResult(ports, press, result);
  reach('act noted');
  return { text: `${result}.${lateness(press, noted.atMs)}`, ...(press.answer && { isAnswered: true }) };
};

function pressOf({ words, by, id, context: { attempt } }: DeskCall): Press | undefined {
  const { message, entry } = attempt;
  const [, opening = '', name = '', n, tag = '', word, asked = ''] = PRESSED.exec(words.join(' ')) ?? [];
  if (!isAct(name) || !message.ok) return undefined;
  const { sentAtMs } = message.value;
  const answer = word === undefined ? {} : { answer: { word, askedMs: Number.parseInt(asked, 36) * 1_000 } };
  return {
    opening,
    name,
    n: Number(n),
    tag,
    ...answer,
    atMs: sentAtMs,
    entry,
    isRepeated: attempt.attempts > 1,
    by: clip(by, BY_CHARS_MAX),
    id,
  };
}

/** Who pressed while no worker ran is told how long ago that was. */
function lateness({ atMs }: Press, doneMs: number): string {
  if (doneMs - atMs < LATE_MS) return '';
  return DESK_WORDS.late(utcTime(atMs), Math.round((doneMs - atMs) / 1_000));
}
