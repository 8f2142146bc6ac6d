import { computed } from './computed.ts';
import type { Waiting } from './effect.ts';
import type { Gateway } from './gateway.ts';
import type { Process } from './process.ts';

/** Something that can happen next. */
export interface Move {
  words(): string;
  /** How likely it is, compared with the others. */
  readonly weight: number;
  /** The effect that it lets happen, and whose it is; absent for what time does. */
  readonly of?: { process: Process; waiting: Waiting };
  play(): void | Promise<void>;
}

/** Things that take long happen rarely, compared with steps of a program. */
const SELDOM = 0.15;
/** A delay is long enough for a pass of the reconciler. */
const DELAY = 0.04;

/** What can happen next without any fault; empty when all is at rest. */
export function naturalMoves(gateway: Gateway): Move[] {
  const moves = effects(gateway);
  moves.push(...takes(gateway), ...presses(gateway), ...looks(gateway), ...times(gateway), ...restarts(gateway));
  return moves;
}

/** Lets an effect happen, and replies. */
export async function letHappen(
  gateway: Gateway,
  { process, waiting }: { process: Process; waiting: Waiting },
): Promise<void> {
  const reply = await applied(gateway, process, waiting);
  // It may have been killed meanwhile: then there is nobody to reply to.
  const at = process.waiting.indexOf(waiting);
  if (at === -1) return;
  process.waiting.splice(at, 1);
  if (reply.ok) waiting.reply(reply.value);
  else waiting.fail(reply.error);
}

/** Applies an effect. An error of the server is a reply like any other. */
export async function applied(
  gateway: Gateway,
  process: Process,
  { effect, wasCut }: Waiting,
): Promise<{ ok: true; value: unknown } | { ok: false; error: Error }> {
  try {
    const value = await effect.apply();
    // Only producers write messages, and an admission takes all that are there, unless it is sent again.
    if (effect.kind === 'redis' && !process.isPatient) gateway.tellDispatchers(true);
    if (effect.words === 'admit' && !wasCut) gateway.tellDispatchers(false);
    if (effect.words === 'accept' && gateway.asks) await nextMs();
    return { ok: true, value };
  } catch (error) {
    return { ok: false, error: error as Error };
  }
}

/** What was written before the gateway asked something, and what came after that, is told apart by the clock. */
async function nextMs(): Promise<void> {
  const nowMs = Date.now();
  while (Date.now() === nowMs) await computed();
}

function effects(gateway: Gateway): Move[] {
  return gateway.ready().map((of) => ({
    words: () => `${of.process.name}: ${of.waiting.effect.words}${of.waiting.wasCut ? ', sent again' : ''}`,
    weight: of.process.speed,
    of,
    play: () => letHappen(gateway, of),
  }));
}

function takes(gateway: Gateway): Move[] {
  const [job] = gateway.ground.jobs.waiting();
  if (job === undefined) return [];
  return gateway
    .liveWorkers()
    .filter((worker) => worker.hasRoom())
    .map((worker) => ({
      words: () => `${worker.process.name}: takes the job of ${gateway.nameOf(job.entry)}`,
      weight: worker.process.speed,
      play: () => worker.take(job),
    }));
}

/** Somebody presses a button, which may be under a question that is decided already. */
function presses({ ground: { history }, plan }: Gateway): Move[] {
  if (plan.presses === 0) return [];
  const chosen = history.shown.filter(({ buttons }) => buttons.length > 0);
  return chosen.flatMap((shown) =>
    shown.buttons.map((data) => ({
      // Ids of sessions differ from run to run.
      words: () =>
        `somebody presses "${data.split(' ').at(-1)?.replace(/^s-.*/, 'continue')}" under message ${shown.id} of the chat`,
      weight: SELDOM,
      play() {
        plan.presses -= 1;
        history.press(shown, data, plan.written.length + history.presses.length + 1);
      },
    })),
  );
}

/** A running turn looks whether a later message ends it, which the product does by the clock. */
function looks(gateway: Gateway): Move[] {
  if (gateway.plan.written.length === 1) return [];
  const awake = gateway.liveWorkers().filter(({ process }) => !process.isFrozen);
  return awake.flatMap(({ process, watching }) =>
    [...watching]
      .filter(({ isLooking }) => !isLooking)
      .map((turn) => ({
        words: () => `${process.name}: the turn of ${gateway.nameOf(turn.entry)} looks whether a later message ends it`,
        weight: SELDOM,
        play() {
          turn.isLooking = true;
          turn.look();
        },
      })),
  );
}

/** What time does. */
function times(gateway: Gateway): Move[] {
  const { jobs } = gateway.ground;
  const delayed = jobs.all().filter(({ state, isListed }) => state === 'delayed' && isListed);
  const passing = gateway.plan.reconciles && delayed.length > 0 ? gateway.liveWorkers().slice(0, 1) : [];
  return [
    ...passing.map((worker) => ({
      words: () => `${worker.process.name}: its reconciler passes during a delay`,
      weight: DELAY,
      play: () => void worker.reconcile(),
    })),
    ...delayed.map((job) => ({
      words: () => `the delay of ${gateway.nameOf(job.entry)} is over`,
      weight: DELAY,
      play: () => jobs.wake(job),
    })),
    ...gateway.late.map((copy) => ({
      words: () => `${copy.process.name}: ${copy.waiting.effect.words}, on a line that is cut, arrives only now`,
      weight: SELDOM,
      async play() {
        gateway.late.splice(gateway.late.indexOf(copy), 1);
        await applied(gateway, copy.process, { ...copy.waiting, wasCut: true });
      },
    })),
    ...gateway.abandoned().map((job) => ({
      words: () => `the lock of ${gateway.nameOf(job.entry)}, which nobody holds any more, expires`,
      weight: SELDOM,
      play: () => jobs.expire(job),
    })),
  ];
}

function restarts(gateway: Gateway): Move[] {
  return [
    ...gateway
      .liveWorkers()
      .filter((worker) => worker.process.isEnding && worker.running().length === 0)
      .map(({ process }) => ({
        words: () => `${process.name}: has ended`,
        weight: 1,
        play: () => gateway.kill(process),
      })),
    ...(gateway.isWhole()
      ? []
      : [{ words: () => 'a process is started', weight: SELDOM, play: () => void gateway.startMissing() }]),
  ];
}
