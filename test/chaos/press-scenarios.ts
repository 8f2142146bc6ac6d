/** Two operators press the same button under an alert, and the gateway is killed while it does what was pressed. */
import type { Failpoint } from '../../shared/base/failpoint.ts';
import { encodeMessage } from '../../shared/flow/message.ts';
import { queueAlert } from '../../shared/state/incident/book.ts';
import { createBookStore } from '../../worker/alerts/book-store.ts';
import { isUpToDate } from '../../worker/alerts/next-sending.ts';
import { findButton } from '../fixture/buttons.ts';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { inboundText } from '../fixture/inbound.ts';
import { awaitAgain } from './hearing.ts';
import { type Stage, until, untilIdle } from './scenario.ts';
import { ASIDE } from './traffic.ts';

const OTHER_OPERATOR = 77_002;
/** Somebody whose message has failed, in a chat that nothing else is said in. */
const LETTER_CHAT = 77_003;
export const PRESS_ENV = { TELEGRAM_OPERATOR_IDS: `${ALERT_CHAT},${OTHER_OPERATOR}` };
const BUTTON = 'Replay failed';
const DONE_MS_MAX = 20_000;

/**
 * Two gateways die at the step, of the same press, and a third ends it. The first press is done, once, and told; the second
 * one is told who did it; the message about the incident says so.
 */
export async function killAroundPress(stage: Stage, step: Failpoint): Promise<void> {
  const { world, traffic, faults, patienceMs } = stage;
  const settled = async (): Promise<unknown> => untilIdle(world, Date.now() + patienceMs);
  await layLetter(stage);
  const first = await world.fleet.start();
  await until('the button', () => buttonIn(stage) !== undefined);
  // If the process died before this record, the next one would send the message again.
  await until('the record of the message', async () => {
    const stored = await createBookStore(world.peek).read();
    return [...stored.book.values()].every((incident) => isUpToDate(incident, stored));
  });
  await world.fleet.kill(first);
  const { messageId = 0, data = '' } = buttonIn(stage) ?? {};
  for (const by of [ALERT_CHAT, OTHER_OPERATOR]) world.telegram.press(ALERT_CHAT, messageId, data, by);
  await faults.during(`killed at ${step}, twice`, ['send', 'overlap'], async () => {
    if (!(await world.fleet.startDoomed(step, settled()))) throw new Error(`Nobody died at "${step}".`);
    const isRepeated = await world.fleet.startDoomed(step, settled());
    if (!isRepeated) stage.waits.push({ what: `the same press at "${step}" again`, maxMs: patienceMs });
  });
  await world.fleet.start();
  await traffic.pour();
  // Each exactly once: that it is done, to the other one who did it, the alert that says so, and the answer.
  const isSo = () =>
    countIn(stage, /^Replayed 1 of 1\.$/) === 1 &&
    countIn(stage, /^Nothing to replay\. .+ did that at .*: Replayed 1 of 1\.$/) === 1 &&
    countIn(stage, /^🟡 Needs attention: (?:.|\n)*Replayed 1 of 1 · by /) === 1 &&
    answersIn(stage) === 1;
  await awaitAgain(stage, { what: 'one act of two presses, told to both', maxMs: DONE_MS_MAX }, isSo);
}

/** A message that has failed, and the alert about it. */
async function layLetter({ world: { peek, keys, telegram } }: Stage): Promise<void> {
  telegram.openChat(LETTER_CHAT);
  const content = { kind: 'text', text: `${ASIDE} letter?` } as const;
  const message = encodeMessage({ ...inboundText(1, LETTER_CHAT), content });
  const record = JSON.stringify({ chat: String(LETTER_CHAT), outcome: 'failed', reason: 'authentication' });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const fields = { entry: '1-1', record, chat: String(LETTER_CHAT), message, traceparent };
  await peek.xadd(keys.dead, '*', ...Object.entries(fields).flat());
  await queueAlert(peek, keys, { cause: 'failed', text: `A message failed. Chat ${LETTER_CHAT}.` });
}

function buttonIn({ world: { telegram } }: Stage) {
  return findButton(telegram.shown(ALERT_CHAT), ({ text }) => text === BUTTON);
}

function countIn({ world: { telegram } }: Stage, match: RegExp): number {
  return telegram.shown(ALERT_CHAT).filter(({ text }) => match.test(text)).length;
}

function answersIn({ world: { telegram } }: Stage): number {
  return telegram.shown(LETTER_CHAT).filter(({ text }) => text.includes('letter?')).length;
}
