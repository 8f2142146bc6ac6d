import type { Redis } from 'ioredis';
import { hasEnded, type ProcessMark } from '../../shared/base/machine.ts';

/** Who holds a lease, and by what others can tell that it is gone. It stands in the lease's key. */
export interface Holder extends ProcessMark {
  readonly owner: string;
  /** The connection that it asks by: its number, and the run of the server that counts it. Absent where Redis refuses to tell. */
  readonly connection?: { readonly run: string; readonly id: number };
}

/** By its access rules, or because it is too old. */
const REFUSED = /^(?:NOPERM|ERR) /;

/**
 * What a look at a holder came to. `ended`: its process is gone. `cut off`: its connection is gone, so it has ended its
 * term, or does as soon as it runs. `unknown`: it is there, or nobody can tell from here.
 */
export type Sight = 'ended' | 'cut off' | 'unknown';

/** Reads what stands in a lease's key; `undefined` for what an older version wrote. */
export function readHolder(text: string): Holder | undefined {
  try {
    const { owner, host, pid } = JSON.parse(text) as Partial<Holder>;
    const isHolder = typeof owner === 'string' && typeof host === 'string' && Number.isInteger(pid);
    return isHolder ? (JSON.parse(text) as Holder) : undefined;
  } catch {
    return undefined;
  }
}

/** Who we are on a connection. Where Redis refuses to tell, others must go by our process or by time. Rejects when Redis is away. */
export async function introduce(server: Redis, owner: string, mark: ProcessMark): Promise<Holder> {
  const [id, info] = await Promise.all([allowed(server.client('ID')), allowed(server.info('server'))]);
  const run = /^run_id:(\w+)/m.exec(info ?? '')?.[1];
  return { owner, ...mark, ...(id !== undefined && run !== undefined && { connection: { run, id } }) };
}

/**
 * Looks whether a holder is gone: by its process on the same machine, by its connection on any. One whose connection is
 * there is there, whatever the process table says: two clones of a machine take each other for one. `us` is who we are
 * on the connection that asks. Rejects when Redis is away.
 */
export async function lookFor(holder: Holder, us: Holder, server: Redis): Promise<Sight> {
  const isConnected = await isListed(holder, us, server);
  if (isConnected === true) return 'unknown';
  if (hasEnded(holder)) return 'ended';
  return isConnected === false ? 'cut off' : 'unknown';
}

/**
 * Whether the server lists the holder's connection. The number of a connection is never given twice in a run of a server,
 * so one that is not listed is gone for good; in another run it says nothing.
 */
async function isListed({ connection }: Holder, us: Holder, server: Redis): Promise<boolean | undefined> {
  if (connection === undefined || connection.run !== us.connection?.run) return undefined;
  const listed = await allowed(server.call('CLIENT', 'LIST', 'ID', connection.id));
  return listed === undefined ? undefined : String(listed).includes(`id=${connection.id} `);
}

/** What Redis refuses is not known. */
async function allowed<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (REFUSED.test((error as Error).message)) return undefined;
    throw error;
  }
}
