import { conflict, type RefusedError } from './refusal.ts';

/** An update as the bot gets it. */
export interface Update {
  update_id: number;
  [kind: string]: unknown;
}

/** These kinds reach a bot only when it asks for them by name. */
const OPT_IN = ['chat_member', 'message_reaction', 'message_reaction_count', 'stopped_message_generation'];

const LIMIT_MAX = 100;
const LONG_POLL_MAX_S = 50;

type PollRequest = Record<'offset' | 'limit' | 'timeout', number>;

/** The updates that the bot has not confirmed, with Telegram's own rules about offsets and concurrent polls. */
export class UpdateQueue {
  readonly #queued: Update[] = [];
  /** The ids of updates that are older than the bot's offset, and must still be shown once. */
  readonly #repeated = new Set<number>();
  readonly #all = new Map<number, Update>();
  #nextId: number;
  #confirmed = 0;
  /** Ends the open poll: with a refusal, or with what waits. */
  #endPoll: ((refusal?: RefusedError) => void) | undefined;
  #allowed: readonly string[] | undefined;
  /** Called when an update arrived: the webhook waits for it. */
  onArrival: () => void = () => {};

  constructor(firstId: number) {
    this.#nextId = firstId;
  }

  /** Adds an update and answers its id. An id of its own lets the sequence go on from there, as after a quiet week. */
  push(update: object): number {
    const { update_id: id = this.#nextId } = update as Partial<Update>;
    const full: Update = { update_id: id, ...update };
    this.#nextId = id + 1;
    this.#all.set(id, full);
    if (this.#isWanted(full)) this.#queued.push(full);
    if (id <= this.#confirmed) this.#repeated.add(id);
    this.#arrived();
    return id;
  }

  /** Puts an update back that was confirmed before: it comes once more, with the same id. */
  redeliver(id: number): void {
    const update = this.#all.get(id);
    if (update === undefined) throw new Error(`Update ${id} never existed, so it cannot come again.`);
    if (!this.#queued.includes(update)) {
      const later = this.#queued.findIndex((queued) => queued.update_id > id);
      this.#queued.splice(later < 0 ? this.#queued.length : later, 0, update);
      this.#repeated.add(id);
    }
    this.#arrived();
  }

  #isWanted(update: Update): boolean {
    const kind = Object.keys(update).find((key) => key !== 'update_id') ?? '';
    return this.#allowed === undefined ? !OPT_IN.includes(kind) : this.#allowed.includes(kind);
  }

  #arrived(): void {
    this.#endPoll?.();
    this.onArrival();
  }

  /** Sets the kinds that are kept from now on. An empty list means the usual ones; undefined changes nothing. */
  allow(kinds: readonly string[] | undefined): void {
    if (kinds !== undefined) this.#allowed = kinds.length === 0 ? undefined : kinds;
  }

  /**
   * One getUpdates call. It ends when an update is there, when its time is up, or when `gone` aborts; a newer call
   * ends it with 409. Calling it confirms every update below the offset.
   */
  async poll({ offset, limit, timeout }: PollRequest, gone: AbortSignal): Promise<Update[]> {
    this.interrupt('terminated by other getUpdates request; make sure that only one bot instance is running');
    this.#confirmBelow(offset);
    const waitMs = Math.min(Math.max(timeout, 0), LONG_POLL_MAX_S) * 1000;
    if (this.#queued.length === 0 && waitMs > 0) await this.#arrival(waitMs, gone);
    // Whoever has gone away gets nothing, so nothing counts as shown to it.
    if (gone.aborted) return [];
    const taken = this.#queued.slice(0, Math.min(limit, LIMIT_MAX));
    for (const { update_id } of taken) this.#repeated.delete(update_id);
    return taken;
  }

  #arrival(waitMs: number, gone: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (refusal?: RefusedError): void => {
        clearTimeout(timer);
        if (this.#endPoll === end) this.#endPoll = undefined;
        if (refusal === undefined) resolve();
        else reject(refusal);
      };
      const timer = setTimeout(end, waitMs);
      gone.addEventListener('abort', () => end(), { once: true });
      this.#endPoll = end;
    });
  }

  /** Ends the open poll with 409, as a newer poll and a webhook do. */
  interrupt(why: string): void {
    this.#endPoll?.(conflict(why));
  }

  /** Every update that is not confirmed, oldest first. */
  waiting(): Update[] {
    return [...this.#queued];
  }

  /** Confirms one update, whatever its place: how a webhook does it. */
  confirm(id: number): void {
    const at = this.#queued.findIndex((queued) => queued.update_id === id);
    if (at >= 0) this.#queued.splice(at, 1);
    this.#confirmed = Math.max(this.#confirmed, id);
  }

  #confirmBelow(offset: number): void {
    const ids = this.#queued.map((queued) => queued.update_id).filter((id) => !this.#repeated.has(id));
    const first = offset < 0 ? (ids.at(offset) ?? 0) : offset;
    for (const id of ids) if (id < first) this.confirm(id);
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
