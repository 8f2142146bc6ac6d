/** Risks of a Redis that an operator can accept. */
export const REDIS_RISKS = ['volatile', 'unlimited'] as const;
export type RedisRisk = (typeof REDIS_RISKS)[number];

/** A setting of Redis on which the promise rests. */
interface RedisSetting {
  name: string;
  /** The recommended value; `isMet` accepts equivalent ones. */
  value: string;
  isMet(value: string): boolean;
  /** For which servers: all of them, one that has replicas, or the nodes of a cluster. */
  of: 'all' | 'replicated' | 'cluster';
  /** The consequence of another value. */
  risk: string;
}

/**
 * The settings that we recommend: the compose file has them, the private Redis runs with them, `cli check` compares them,
 * and the table in the operations page lists them.
 */
export const REDIS_SETTINGS: readonly RedisSetting[] = [
  exactly('maxmemory-policy', 'noeviction', 'all', 'a full Redis throws messages and sessions away'),
  exactly('appendonly', 'yes', 'all', 'a Redis that ends loses all since its last snapshot'),
  exactly(
    'appendfsync',
    'always',
    'all',
    'a machine that crashes loses the last second, with messages that were accepted',
  ),
  {
    name: 'min-replicas-to-write',
    value: '1',
    isMet: (value) => Number(value) >= 1,
    of: 'replicated',
    risk: 'a master that lost its replicas accepts messages that a failover then loses',
  },
  {
    name: 'min-replicas-max-lag',
    value: '10',
    isMet: (value) => Number(value) >= 1 && Number(value) <= 10,
    of: 'replicated',
    risk: 'a replica that stands still counts as one for as long',
  },
  exactly('cluster-require-full-coverage', 'no', 'cluster', 'all nodes refuse while one is away'),
];

function exactly(name: string, value: string, of: RedisSetting['of'], risk: string): RedisSetting {
  return { name, value, isMet: (found) => found === value, of, risk };
}
