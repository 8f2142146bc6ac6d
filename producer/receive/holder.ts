import type { Redis } from 'ioredis';
import { hasEnded, type ProcessMark } from '../../shared/base/machine.ts';

/** Who holds a lease, and how others can detect that the holder is gone. Stored in the lease's key. */
export interface Holder extends ProcessMark {
  readonly owner: string;
  /** The connection that it uses: its number, and the run id of its server. Absent where Redis refuses to report it. */
  readonly connection?: { readonly run: string; readonly id: number };
}

/** Refused by access rules, or because the server is too old. */
const REFUSED = /^(?:NOPERM|ERR) /;

/**
 * The result of a check on a holder. `ended`: its process is gone. `cut off`: its connection is gone, so it has ended
 * its term, or does so as soon as it runs. `unknown`: it is alive, or its state cannot be determined from here.
 */
export type Sight = 'ended' | 'cut off' | 'unknown';

/** Reads the value of a lease's key; `undefined` for one that an older version wrote. */
export function readHolder(text: string): Holder | undefined {
  try {
    const { owner, host, pid } = JSON.parse(text) as Partial<Holder>;
    const isHolder = typeof owner === 'string' && typeof host === 'string' && Number.isInteger(pid);
    return isHolder ? (JSON.parse(text) as Holder) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Our identity on a connection. Where Redis refuses to report it, others must judge by our process or by time. Rejects
 * when Redis is unreachable.
 */
export async function introduce(server: Redis, owner: string, mark: ProcessMark): Promise<Holder> {
  const [id, info] = await Promise.all([allowed(server.client('ID')), allowed(server.info('server'))]);
  const run = /^run_id:(\w+)/m.exec(info ?? '')?.[1];
  return { owner, ...mark, ...(id !== undefined && run !== undefined && { connection: { run, id } }) };
}

/**
 * Checks whether a holder is gone: by its process on the same machine, by its connection on any machine. A holder whose
 * connection exists is alive, whatever the process table says: two clones of a machine mistake each other for one
 * machine. `us` is our identity on the connection that asks. Rejects when Redis is unreachable.
 */
export async function lookFor(holder: Holder, us: Holder, server: Redis): Promise<Sight> {
  const isConnected = await isListed(holder, us, server);
  if (isConnected === true) return 'unknown';
  if (hasEnded(holder)) return 'ended';
  return isConnected === false ? 'cut off' : 'unknown';
}

/**
 * Whether the server lists the holder's connection. A server run never reuses a connection number, so a connection that
 * is not listed is gone for good; another run proves nothing.
 */
async function isListed({ connection }: Holder, us: Holder, server: Redis): Promise<boolean | undefined> {
  if (connection === undefined || connection.run !== us.connection?.run) return undefined;
  const listed = await allowed(server.call('CLIENT', 'LIST', 'ID', connection.id));
  return listed === undefined ? undefined : String(listed).includes(`id=${connection.id} `);
}

/** A query that Redis refuses leaves the answer unknown. */
async function allowed<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (REFUSED.test((error as Error).message)) return undefined;
    throw error;
  }
}
