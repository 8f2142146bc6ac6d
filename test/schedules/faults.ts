import { randomInt } from '../fixture/random.ts';
import type { Waiting } from './effect.ts';
import type { Gateway } from './gateway.ts';
import type { QueuedJob } from './job-queue.ts';
import { applied, type Move } from './moves.ts';
import type { Fault, Plan } from './plan.ts';
import type { Process } from './process.ts';
import { nameOf } from './telegram.ts';

/** A fault that can be played now. */
export interface FaultMove extends Omit<Move, 'weight' | 'words'> {
  readonly words: string;
  readonly fault: Fault;
  /** Whether it may cost a message an attempt. */
  readonly isCostly: boolean;
}

type Of = { process: Process; waiting: Waiting };

const cheap = (fault: Fault, words: string, play: Move['play']): FaultMove => ({ fault, words, isCostly: false, play });
const costly = (fault: Fault, words: string, play: Move['play']): FaultMove => ({ fault, words, isCostly: true, play });

/** Draws a fault in place of a move; undefined when none is due, or left. */
export function drawFault(gateway: Gateway, move: Move, random: () => number): FaultMove | undefined {
  const { plan } = gateway;
  if (plan.costly + plan.cheap === 0 || random() >= plan.faultRate) return undefined;
  const possible = [...(move.of ? faultsAt(gateway, move.of) : []), ...faultsAround(gateway, random)].filter(
    ({ fault, isCostly }) => plan.faults.has(fault) && (isCostly ? plan.costly : plan.cheap) > 0,
  );
  const drawn = possible[randomInt(random, Math.max(1, possible.length))];
  if (drawn) spend(plan, drawn);
  return drawn;
}

function spend(plan: Plan, { isCostly }: FaultMove): void {
  if (isCostly) plan.costly -= 1;
  else plan.cheap -= 1;
}

/** What can go wrong with one effect. */
function faultsAt(gateway: Gateway, of: Of): FaultMove[] {
  const { process, waiting } = of;
  const what = `${process.name}: ${waiting.effect.words}`;
  const move = process.isPatient ? costly : cheap;
  const kill = (moment: string, before: () => Promise<unknown>): FaultMove =>
    move('kill', `${what}, and it is killed ${moment} that`, async () => {
      await before();
      gateway.kill(process);
    });
  return [
    kill('before', async () => {}),
    kill('after', () => applied(gateway, process, waiting)),
    ...(process.isPatient ? cutReplies(gateway, of, what) : lostAnswers(gateway, of, what)),
    ...lateCommands(gateway, of, what),
    ...unknownResults(gateway, of, what),
  ];
}

/** The connection is cut before the reply: the command is sent again. */
function cutReplies(gateway: Gateway, { process, waiting }: Of, what: string): FaultMove[] {
  if (waiting.effect.kind !== 'redis' && waiting.effect.kind !== 'queue') return [];
  const play = async () => {
    // What the server replied, an error too, is lost.
    await applied(gateway, process, waiting);
    waiting.wasCut = true;
  };
  return [cheap('cut reply', `${what}, and the reply is cut`, play)];
}

/** The connection is cut, and what was on its way arrives later than what is sent again, or than its process' end. */
function lateCommands(gateway: Gateway, of: Of, what: string): FaultMove[] {
  const { process, waiting } = of;
  // What a late admission reads is known to nobody: only the reconciler finds it.
  if (waiting.effect.kind !== 'redis' || waiting.effect.words === 'xread' || !gateway.plan.reconciles) return [];
  const again = process.isPatient;
  const move = again ? costly : cheap;
  return [
    move('late command', `${what}, which is cut, and a copy of it is on its way`, () => {
      gateway.late.push(of);
      if (again) waiting.wasCut = true;
      else failEffect(of);
    }),
    move('late command', `${what}, and it is killed while that is on its way`, () => {
      gateway.late.push(of);
      gateway.kill(process);
    }),
  ];
}

function failEffect({ process, waiting }: Of): void {
  process.waiting.splice(process.waiting.indexOf(waiting), 1);
  waiting.fail(new Error('Connection is closed.'));
}

/** A connection of intake fails at once: whether the command was carried out, nobody knows. */
function lostAnswers(gateway: Gateway, of: Of, what: string): FaultMove[] {
  const { process, waiting } = of;
  if (waiting.effect.kind !== 'redis') return [];
  const fail = (): void => failEffect(of);
  const lost = async () => {
    await applied(gateway, process, waiting);
    fail();
  };
  return [
    cheap('lost answer', `${what}, and it fails after Redis did it`, lost),
    cheap('lost answer', `${what}, and it fails before Redis gets it`, fail),
  ];
}

/** The other side is busy, or nobody knows whether it did it. */
function unknownResults(gateway: Gateway, { process, waiting }: Of, what: string): FaultMove[] {
  const { unknown, refused } = waiting.effect;
  const reply = (value: unknown): void => {
    process.waiting.splice(process.waiting.indexOf(waiting), 1);
    waiting.reply(value);
  };
  return [
    ...(refused ? [costly('busy peer', `${what}, and it is busy`, () => reply(refused()))] : []),
    ...(unknown
      ? [true, false].map((isDone) => {
          const end = isDone ? 'which is done' : 'which never arrives';
          return costly('unknown send', `${what}, ${end}, and nobody knows`, async () => {
            if (isDone) await applied(gateway, process, waiting);
            reply(unknown());
          });
        })
      : []),
  ];
}

/** What can happen to the gateway at any time. */
function faultsAround(gateway: Gateway, random: () => number): FaultMove[] {
  return [
    ...expiredLocks(gateway, random),
    // Nobody but the reconciler finds a job that stands in no list.
    ...(gateway.plan.reconciles ? lostJobs(gateway) : []),
    ...orphanedJobs(gateway),
    ...redeliveries(gateway, random),
    ...gateway.producers
      .filter(({ process, isHolder }) => !process.isDead && isHolder)
      .map((producer) => cheap('lost lease', `${producer.process.name}: loses its lease`, () => producer.loseLease())),
    ...gateway
      .liveWorkers()
      .filter(({ process }) => !process.isEnding)
      .map((worker) => cheap('deploy', `${worker.process.name}: is asked to end`, () => worker.handBack())),
    ...gateway.liveWorkers().map((worker) => {
      const words = `${worker.process.name}: its reconciler begins a pass`;
      return cheap('late pass', words, () => void worker.reconcile());
    }),
  ];
}

/** A lock expires although its holder lives. It may be frozen for a while, and may or may not notice. */
function expiredLocks(gateway: Gateway, random: () => number): FaultMove[] {
  return gateway.ground.runs
    .filter(({ isOver, by, token, job }) => !isOver && !by.isDead && job.token === token)
    .map((run) =>
      costly('expired lock', `the lock of ${gateway.nameOf(run.job.entry)} expires, which ${run.by.name} holds`, () => {
        run.wasCut = true;
        gateway.ground.jobs.expire(run.job);
        run.by.isFrozen = random() < 0.7;
        if (random() < 0.3) run.lockLost.abort();
      }),
    );
}

function lostJobs({ ground: { jobs } }: Gateway): FaultMove[] {
  const lose = (job: QueuedJob): void => {
    job.isListed = false;
  };
  const [first] = jobs.waiting();
  return first ? [cheap('lost job', 'a job that waits is in no list any more', () => lose(first))] : [];
}

/** A worker asks for a job, and the reply is lost with the connection: its lock has to expire. */
function orphanedJobs({ ground: { jobs } }: Gateway): FaultMove[] {
  const [first] = jobs.waiting();
  return first ? [cheap('orphaned job', 'a job is taken, and nobody gets it', () => void jobs.take(first))] : [];
}

function redeliveries({ ground: { history }, plan }: Gateway, random: () => number): FaultMove[] {
  const confirmed = [...plan.written, ...history.presses].filter((each) => !history.unconfirmed.includes(each));
  const again = confirmed[randomInt(random, Math.max(1, confirmed.length))];
  if (again === undefined) return [];
  return [cheap('redelivery', `Telegram delivers ${nameOf(again)} once more`, () => history.redeliver(again))];
}
