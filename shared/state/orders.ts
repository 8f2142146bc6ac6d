import { jsonFields } from '../base/fields.ts';
import type { RedisClient } from '../redis/connection.ts';

/** An operator's order about one chat or person, or about all chats (`*`), e.g. a pause. Holds until an operator ends it. */
export interface Order<Subject extends string = string> {
  chat: Subject;
  /** Ms since the epoch, by Redis' clock. */
  sinceMs: number;
  by: string;
  why: string;
}

/** The orders in a Redis hash, oldest first, including orders with unreadable details. Rejects when Redis cannot be reached. */
export async function readOrders<Subject extends string>(
  redis: Pick<RedisClient, 'hgetall'>,
  key: string,
): Promise<Order<Subject>[]> {
  const fields = Object.entries(await redis.hgetall(key));
  return fields
    .map(([chat, text]) => ({ ...readable(text), chat: chat as Subject }))
    .sort((one, other) => one.sinceMs - other.sinceMs);
}

/** Adds an order. Returns false, and changes nothing, if there is an order about the same chat or person already. */
export async function addOrder(redis: Pick<RedisClient, 'hsetnx'>, key: string, order: Order): Promise<boolean> {
  return (await redis.hsetnx(key, order.chat, JSON.stringify(order))) === 1;
}

/** Ends an order. Returns false if there is none. */
export async function endOrder(redis: Pick<RedisClient, 'hdel'>, key: string, chat: string): Promise<boolean> {
  return (await redis.hdel(key, chat)) > 0;
}

function readable(text: string): Omit<Order, 'chat'> {
  return { sinceMs: 0, by: 'unknown', why: '', ...jsonFields(text) };
}
