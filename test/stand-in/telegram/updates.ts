import { RefusedError } from './refusal.ts';

/** An update as the bot gets it. */
export interface Update {
  update_id: number;
  [kind: string]: unknown;
}

/** These kinds reach a bot only when it asks for them by name. */
const OPT_IN = ['chat_member', 'message_reaction', 'message_reaction_count', 'stopped_message_generation'];

const LIMIT_MAX = 100;
const LONG_POLL_MAX_S = 50;

interface Queued {
  readonly update: Update;
  /** A repeated update is older than the bot's offset, and must still be shown once. */
  repeated: boolean;
}

interface Poll {
  finish(updates: Update[]): void;
  refuse(error: RefusedError): void;
}

/** What a getUpdates call asks for, as it was sent. */
export interface PollRequest {
  readonly offset: number;
  readonly limit: number;
  readonly timeoutS: number;
}

/** The updates that the bot has not confirmed, with Telegram's own rules about offsets and concurrent polls. */
export class UpdateQueue {
  readonly #queued: Queued[] = [];
  readonly #all = new Map<number, Update>();
  #nextId: number;
  #confirmed = 0;
  #poll: Poll | undefined;
  #allowed: readonly string[] | undefined;
  /** Called when an update arrived: the webhook waits for it. */
  onArrival: () => void = () => {};

  constructor(firstId: number) {
    this.#nextId = firstId;
  }

  /** Adds an update and answers its id. An id of its own lets the sequence go on from there, as after a quiet week. */
  push(update: object): number {
    const given = (update as { update_id?: unknown }).update_id;
    const id = typeof given === 'number' ? given : this.#nextId;
    const full: Update = { update_id: id, ...update };
    this.#nextId = id + 1;
    this.#all.set(id, full);
    if (this.#isWanted(full)) this.#queued.push({ update: full, repeated: id <= this.#confirmed });
    this.#arrived();
    return id;
  }

  /** Puts an update back that was confirmed before: it comes once more, with the same id. */
  redeliver(id: number): void {
    const update = this.#all.get(id);
    if (update === undefined) throw new Error(`Update ${id} never existed, so it cannot come again.`);
    if (!this.#queued.some((queued) => queued.update.update_id === id)) {
      const later = this.#queued.findIndex((queued) => queued.update.update_id > id);
      this.#queued.splice(later < 0 ? this.#queued.length : later, 0, { update, repeated: true });
    }
    this.#arrived();
  }

  #isWanted(update: Update): boolean {
    const kind = Object.keys(update).find((key) => key !== 'update_id') ?? '';
    return this.#allowed === undefined ? !OPT_IN.includes(kind) : this.#allowed.includes(kind);
  }

  #arrived(): void {
    const poll = this.#poll;
    if (poll !== undefined) {
      this.#poll = undefined;
      poll.finish([]);
    }
    this.onArrival();
  }

  /** Sets the kinds that are kept from now on. An empty list means the usual ones; undefined changes nothing. */
  allow(kinds: readonly string[] | undefined): void {
    if (kinds !== undefined) this.#allowed = kinds.length === 0 ? undefined : kinds;
  }

  get allowed(): readonly string[] | undefined {
    return this.#allowed;
  }

  /**
   * One getUpdates call. It ends when an update is there, when its time is up, or when `gone` aborts; a newer call
   * ends it with 409. Calling it confirms every update below the offset.
   */
  async poll({ offset, limit, timeoutS }: PollRequest, gone: AbortSignal): Promise<Update[]> {
    this.#poll?.refuse(
      conflict('terminated by other getUpdates request; make sure that only one bot instance is running'),
    );
    this.#poll = undefined;
    this.#confirmBelow(offset);
    const count = limit >= 1 && limit <= LIMIT_MAX ? limit : LIMIT_MAX;
    const waitMs = Math.min(Math.max(timeoutS, 0), LONG_POLL_MAX_S) * 1000;
    if (this.#queued.length === 0 && waitMs > 0) await this.#arrival(waitMs, gone);
    // Whoever has gone away gets nothing, so nothing counts as shown to it.
    return gone.aborted ? [] : this.take(count);
  }

  #arrival(waitMs: number, gone: AbortSignal): Promise<Update[]> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        gone.removeEventListener('abort', leave);
        if (this.#poll === poll) this.#poll = undefined;
        act();
      };
      const poll: Poll = {
        finish: (updates) => settle(() => resolve(updates)),
        refuse: (error) => settle(() => reject(error)),
      };
      const leave = (): void => poll.finish([]);
      const timer = setTimeout(leave, waitMs);
      gone.addEventListener('abort', leave, { once: true });
      this.#poll = poll;
    });
  }

  /** Ends the open poll, as setting a webhook does. */
  interrupt(why: string): void {
    this.#poll?.refuse(conflict(why));
  }

  /** The oldest updates, at most `count`. They stay until they are confirmed. */
  take(count: number): Update[] {
    const taken = this.#queued.slice(0, count);
    for (const queued of taken) queued.repeated = false;
    return taken.map(({ update }) => update);
  }

  /** Every update that is not confirmed, oldest first. */
  waiting(): Update[] {
    return this.#queued.map(({ update }) => update);
  }

  /** Confirms one update, whatever its place: how a webhook does it. */
  confirm(id: number): void {
    const at = this.#queued.findIndex(({ update }) => update.update_id === id);
    if (at >= 0) this.#queued.splice(at, 1);
    this.#confirmed = Math.max(this.#confirmed, id);
  }

  #confirmBelow(offset: number): void {
    const ids = this.#queued.filter(({ repeated }) => !repeated).map(({ update }) => update.update_id);
    const first = offset < 0 ? (ids.at(offset) ?? 0) : offset;
    for (const id of ids) if (id < first) this.confirm(id);
  }

  /** Forgets all, as `drop_pending_updates` does. */
  drop(): void {
    for (const { update } of [...this.#queued]) this.confirm(update.update_id);
  }

  /** The highest id that was confirmed, 0 when none was. */
  confirmedUpTo(): number {
    return this.#confirmed;
  }

  /** How many updates wait to be confirmed. */
  pending(): number {
    return this.#queued.length;
  }
}

/** The 409 of two receivers of one bot. */
export function conflict(why: string): RefusedError {
  return new RefusedError({ status: 409, description: `Conflict: ${why}` });
}
