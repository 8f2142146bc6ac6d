import type { Root } from '../shared/app/process.ts';
import type { AllowedIds } from '../shared/base/settings.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import type { Inbox } from '../shared/state/message/inbox.ts';
import type { Heartbeat } from '../shared/state/process/receiver.ts';
import type { Knock } from './accept/knock.ts';
import type { Lease } from './receive/lease.ts';

/** The services of a producer process, built once in `startProducer`. */
export interface ProducerEnv extends Root {
  /** A connection whose commands fail, rather than wait, while Redis does not answer. */
  redis: RedisClient;
  inbox: Inbox;
  /** The right to poll, or to look after the webhook. The lease is in Redis, so no poll begins while Redis is unreachable. */
  lease: Pick<Lease, 'begin'>;
  heartbeat: Heartbeat;
  /** The current allow list. Contract: rejects when Redis cannot be reached. */
  allowed(): Promise<AllowedIds>;
  knock: Knock;
  /** The bot's user name, as in `/stop@its_name`; `undefined` until Telegram has reported it. */
  botName(): string | undefined;
}
