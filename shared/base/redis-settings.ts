/** The risks that an operator can accept with `REDIS_ACCEPT`: data that is not on disk, and no limit on the memory. */
export const REDIS_RISKS = ['volatile', 'unlimited'] as const;
export type RedisRisk = (typeof REDIS_RISKS)[number];

/** A setting of Redis without which messages can be lost or refused. */
interface RedisSetting {
  name: string;
  /** The recommended value. `isMet` also accepts other values that serve the purpose. */
  value: string;
  isMet(value: string): boolean;
  /** The servers that need the setting: all, those with replicas, or the nodes of a cluster. */
  of: 'all' | 'replicated' | 'cluster';
  /** The consequence if the server has another value. */
  risk: string;
}

/**
 * The recommended settings of Redis. The compose file and the private Redis use them, `cli check` compares a server's settings
 * with them, and a table in the operations page lists them.
 */
export const REDIS_SETTINGS: readonly RedisSetting[] = [
  exactSetting('maxmemory-policy', 'noeviction', 'all', 'a full Redis throws messages and sessions away'),
  exactSetting('appendonly', 'yes', 'all', 'a Redis that ends loses all since its last snapshot'),
  exactSetting(
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
  exactSetting('cluster-require-full-coverage', 'no', 'cluster', 'all nodes refuse while one is away'),
];

function exactSetting(name: string, value: string, of: RedisSetting['of'], risk: string): RedisSetting {
  return { name, value, isMet: (actual) => actual === value, of, risk };
}
